#pragma once
#include <nanobind/nanobind.h>

/// One function per subject, each in its own bind_<subject>.cpp. What they define is private to the package: the
/// public signatures, defaults and documentation are those of python/spinloom/*.py.
namespace spinloom::python {

void bind_io(nanobind::module_& m);
void bind_mri(nanobind::module_& m);
void bind_nlm(nanobind::module_& m);
void bind_operators(nanobind::module_& m);
void bind_poisson(nanobind::module_& m);
void bind_quality(nanobind::module_& m);
void bind_recon(nanobind::module_& m);
void bind_runtime(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);
void bind_solve(nanobind::module_& m);
void bind_stencil(nanobind::module_& m);

}  // namespace spinloom::python
