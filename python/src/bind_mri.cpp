#include <nanobind/stl/string.h>

#include "bind.hpp"
#include "calls.hpp"
#include "operators.hpp"
#include "options.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/mri/coil_maps.hpp"
#include "spinloom/mri/density.hpp"
#include "support.hpp"

namespace spinloom::python {

std::string to_string(KSpaceSupport support) {
  return support == KSpaceSupport::box         ? "box"
         : support == KSpaceSupport::ellipsoid ? "ellipsoid"
                                               : "cylinder";
}

KSpaceSupport parse_support(const std::string& word) {
  for (const KSpaceSupport s : {KSpaceSupport::box, KSpaceSupport::ellipsoid, KSpaceSupport::cylinder})
    if (to_string(s) == word) return s;
  throw ArgumentError("support = '" + word + "' is unknown, expected box, ellipsoid or cylinder");
}

namespace {

/// [readouts, samples per readout, dims] with columns in the order of the image's axes, and the support's name.
nb::tuple columns(const Readouts& r) {
  const Trajectory& k = *r.trajectory;
  Array<double> list({r.readouts, r.samples_per_readout, k.dims()});
  for (int d = 0; d < k.dims(); ++d)
    for (Index m = 0; m < k.samples(); ++m) list[m * k.dims() + d] = k.axis(d)[m];
  return nb::make_tuple(to_numpy(std::move(list)), to_string(r.support));
}

nb::tuple make_trajectory(const std::string& kind, nb::handle matrix_, const nb::dict& o) {
  const Shape matrix = to_shape(matrix_, "matrix");
  const auto number = [&](const char* name) { return option<Index>(o, name, "a whole number"); };
  const auto real = [&](const char* name) { return option<double>(o, name, "a number"); };
  const auto flag = [&](const char* name) { return option<bool>(o, name, "True or False"); };
  const auto radial = [&] {
    return RadialOptions{.spokes = number("spokes"),
                         .readout = number("readout"),
                         .order = flag("golden") ? SpokeOrder::golden : SpokeOrder::uniform,
                         .span = flag("half_spokes") ? SpokeSpan::half : SpokeSpan::diameter,
                         .centre = flag("sample_centre") ? CentreSample::exact : CentreSample::between,
                         .tiny = static_cast<int>(number("tiny"))};
  };
  const auto spiral = [&] {
    return SpiralOptions{.interleaves = number("interleaves"),
                         .readout = number("readout"),
                         .alpha = real("alpha"),
                         .turns = real("turns"),
                         .oversampling = real("oversampling")};
  };
  const auto rotation = [&] {
    return flag("rotate_partitions") ? PartitionRotation::golden : PartitionRotation::none;
  };
  if (kind == "radial2d") return columns(radial2d(matrix, radial()));
  if (kind == "radial3d") return columns(radial3d(matrix, radial()));
  if (kind == "stack_of_stars") return columns(stack_of_stars(matrix, radial(), rotation()));
  if (kind == "spiral2d") return columns(spiral2d(matrix, spiral()));
  if (kind == "stack_of_spirals") return columns(stack_of_spirals(matrix, spiral(), rotation()));
  if (kind == "cones")
    return columns(cones(matrix, {.cones = number("cones"),
                                  .interleaves = number("interleaves"),
                                  .readout = number("readout"),
                                  .oversampling = real("oversampling")}));
  if (kind == "cartesian")
    return columns(cartesian(matrix, {.readout = number("readout"),
                                      .acceleration_y = number("acceleration_y"),
                                      .acceleration_z = number("acceleration_z"),
                                      .calibration = number("calibration")}));
  if (kind == "random")
    return columns(random_samples(matrix, {.readouts = number("readouts"),
                                           .readout = number("readout"),
                                           .power = real("power"),
                                           .seed = option<std::uint32_t>(o, "seed", "a whole number >= 0")}));
  throw ArgumentError("trajectory '" + kind + "' is unknown");
}

nb::object density(nb::handle trajectory, nb::handle matrix, const std::string& units, int iterations,
                   const std::string& support, double volume) {
  LongCall call;
  const GivenTrajectory given(trajectory, matrix, units);
  Array<double> weights = call.run([&] {
    const PlacedTrajectory t = given.place(call.log());
    const DensityProblem problem = density_problem(*t.trajectory, t.matrix);
    const auto transform =
        make_nufft<float>(problem.trajectory, problem.matrix, 1, {.tolerance = 1e-3, .log = call.log()});
    DensityOptions options{.iterations = iterations, .volume = volume};
    if (!support.empty()) options.support = parse_support(support);
    const auto flat = density_compensation<float>(*transform, options);
    Array<double> shaped(given.samples());
    std::copy(flat.begin(), flat.end(), shaped.begin());
    return shaped;
  });
  return to_numpy(std::move(weights));
}

/// `work` on complex images of either precision.
template <class Work>
nb::object on_images(nb::handle images, Work&& work) {
  Given given = take(images, "images");
  require_dtype(given, {DType::c64, DType::c128});
  if (given.shape.size() < 2)
    throw ShapeError("images has shape " + spinloom::to_string(given.shape) +
                     ", expected [coils, matrix...]");
  LongCall call;
  if (given.dtype == DType::c128) {
    Input<cdouble> input(std::move(given));
    return to_numpy(call.run([&] { return work(input.view()); }));
  }
  Input<cfloat> input(std::move(given));
  return to_numpy(call.run([&] { return work(input.view()); }));
}

}  // namespace

void bind_mri(nb::module_& m) {
  m.def("make_trajectory", &make_trajectory, nb::arg("kind"), nb::arg("matrix").none(), nb::arg("options"));
  m.def("density_compensation", &density, nb::arg("trajectory").none(), nb::arg("matrix").none(),
        nb::arg("units"), nb::arg("iterations"), nb::arg("support"), nb::arg("volume"));
  m.def(
      "estimate_coil_maps",
      [](nb::handle images, Index window, int iterations, double mask_threshold) {
        const CoilMapOptions options{
            .window = window, .iterations = iterations, .mask_threshold = mask_threshold};
        return on_images(images, [&]<class Complex>(View<const Complex> v) {
          return estimate_coil_maps<typename Complex::value_type>(v, options);
        });
      },
      nb::arg("images").none(), nb::arg("window"), nb::arg("iterations"), nb::arg("mask_threshold"));
  m.def(
      "root_sum_of_squares",
      [](nb::handle images) {
        return on_images(images, []<class Complex>(View<const Complex> v) {
          return root_sum_of_squares<typename Complex::value_type>(v);
        });
      },
      nb::arg("images").none());
}

}  // namespace spinloom::python
