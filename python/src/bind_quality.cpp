#include <nanobind/stl/complex.h>
#include <optional>

#include "arrays.hpp"
#include "bind.hpp"
#include "calls.hpp"
#include "spinloom/recon/quality.hpp"

namespace spinloom::python {
namespace {

nb::dict compare(nb::handle image, nb::handle reference, nb::handle mask, bool fit_scale) {
  const Given a = take(image, "image"), b = take(reference, "reference");
  std::optional<Given> m;
  if (!mask.is_none()) m = take(mask, "mask");
  LongCall call;
  const Quality q = call.run([&] {
    const Tensor values = to_tensor(a), truth = to_tensor(b);
    std::optional<Tensor> where;
    if (m) where = to_tensor(*m);
    return compare_images(values, truth, {.fit_scale = fit_scale, .mask = where ? &*where : nullptr});
  });
  nb::dict d;
  d["nrmse"] = q.nrmse;
  d["psnr_db"] = q.psnr_db;
  d["ssim"] = q.ssim;
  d["max_abs_difference"] = q.max_abs_difference;
  d["correlation"] = q.correlation;
  d["scale"] = nb::cast(q.scale);
  d["elements"] = q.elements;
  d["compared"] = q.is_magnitude ? "magnitude" : q.is_complex ? "complex" : "real";
  return d;
}

}  // namespace

void bind_quality(nb::module_& m) {
  m.def("compare", &compare, nb::arg("image").none(), nb::arg("reference").none(), nb::arg("mask").none(),
        nb::arg("fit_scale"));
}

}  // namespace spinloom::python
