#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bind.hpp"
#include "calls.hpp"
#include "operators.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/mri/simulate.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "support.hpp"

namespace spinloom::python {
namespace {

/// The smallest support that holds all samples.
KSpaceSupport support_of(const Trajectory& k, const Shape& matrix) {
  for (const KSpaceSupport support : {KSpaceSupport::ellipsoid, KSpaceSupport::cylinder}) {
    bool holds = true;
    for (Index m = 0; holds && m < k.samples(); ++m) {
      double position[3] = {0, 0, 0};
      for (int d = 0; d < k.dims(); ++d) position[d] = k.axis(d)[m];
      holds = inside(support, matrix, position);
    }
    if (holds) return support;
  }
  return KSpaceSupport::box;
}

/// An image of any real or complex type but integers, as the simulation takes it.
Array<cdouble> to_voxels(const Given& image, const Shape& matrix) {
  const Tensor tensor = to_tensor(image);
  const auto values = tensor.to<cdouble>();
  Array<cdouble> voxels(matrix);
  std::copy(values.begin(), values.end(), voxels.begin());
  if (!all_finite<cdouble>(voxels.view()))
    throw ArgumentError("image holds values that are not finite; replace them first");
  return voxels;
}

Phantom find_phantom(const std::string& name, int dims) {
  const Phantom phantom = name == "shepp-logan" ? shepp_logan(dims) : read_phantom(name);
  if (phantom.dims != dims)
    throw ArgumentError(name + ": a phantom of " + std::to_string(phantom.dims) +
                        " axes, but the trajectory has " + std::to_string(dims));
  return phantom;
}

nb::tuple simulate(nb::handle object, nb::handle trajectory, nb::handle matrix, const std::string& support,
                   const std::string& units, Index coils, double sigma, std::optional<double> snr_db,
                   unsigned seed, const std::string& device, nb::handle progress) {
  LongCall call(progress);
  const GivenTrajectory given(trajectory, matrix, units);
  std::string name;
  std::optional<Given> image;
  if (!nb::try_cast<std::string>(object, name)) {
    image = take(object, "image");
    require_dtype(*image, {DType::f64, DType::f32, DType::c64, DType::c128});
    require_shape("simulate", "image", image->shape, given.matrix);
  }
  Simulation s = call.run([&] {
    Readouts readouts;
    const PlacedTrajectory t = given.place(call.log());
    readouts.trajectory = t.trajectory;
    readouts.readouts = 1;
    readouts.samples_per_readout = t.trajectory->samples();
    readouts.support = support.empty() ? support_of(*t.trajectory, t.matrix) : parse_support(support);
    const SimulationOptions options{.coils = coils,
                                    .sigma = sigma,
                                    .snr_db = snr_db,
                                    .seed = seed,
                                    .device = choose_device(device, call.log()),
                                    .progress = call.progress()};
    if (image) return simulate_scan(to_voxels(*image, t.matrix).view(), readouts, t.matrix, options);
    return simulate_scan(find_phantom(name, t.trajectory->dims()), readouts, t.matrix, options);
  });
  const auto shaped = [](auto array, const Shape& shape) {
    const auto view = std::as_const(array).view();
    return to_numpy(std::decay_t<decltype(array)>::copy_of(view.reshaped(shape)));
  };
  return nb::make_tuple(shaped(std::move(s.kspace), prepend(coils, given.samples())),
                        shaped(std::move(s.maps), prepend(coils, given.matrix)),
                        shaped(std::move(s.truth), given.matrix),
                        s.noise.empty() ? nb::none() : to_numpy(std::move(s.noise)), s.sigma,
                        s.sigma > 0 ? nb::cast(s.snr_db) : nb::none(), s.coil_fit_residual);
}

}  // namespace

void bind_simulate(nb::module_& m) {
  m.def("simulate", &simulate, nb::arg("object").none(), nb::arg("trajectory").none(),
        nb::arg("matrix").none(), nb::arg("support"), nb::arg("units"), nb::arg("coils"), nb::arg("sigma"),
        nb::arg("snr_db").none(), nb::arg("seed"), nb::arg("device"), nb::arg("progress").none());
}

}  // namespace spinloom::python
