#include "bind.hpp"
#include "calls.hpp"

NB_MODULE(_core, m) {
  using namespace spinloom::python;
  m.doc() = "The compiled part of spinloom. Use the package's own functions, which document what these do.";
  // An interpreter that ends may leave objects behind; that is no fault of the user's, who would see the report.
  nanobind::set_leak_warnings(false);
  translate_errors();
  bind_runtime(m);
  bind_operators(m);
  bind_solve(m);
  bind_stencil(m);
  bind_mri(m);
  bind_nlm(m);
  bind_simulate(m);
  bind_poisson(m);
  bind_quality(m);
  bind_io(m);
  bind_recon(m);
}
