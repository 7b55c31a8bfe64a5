#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "calls.hpp"
#include "images.hpp"
#include "operators.hpp"
#include "options.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/recon/join_images.hpp"
#include "spinloom/recon/load_scan.hpp"
#include "spinloom/recon/plan.hpp"
#include "spinloom/recon/verify.hpp"
#include "spinloom/recon/whiten_scan.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom::python {
namespace {

ReconstructionOptions parse(const nb::dict& o, LongCall& call) {
  ReconstructionOptions r;
  const auto number = [&](const char* name) { return option<double>(o, name, "a number"); };
  r.method = choice(o, "method", {Method::cg, Method::gridding});
  r.fourier = choice(o, "operator", {FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft});
  r.tolerance = number("tolerance");
  r.iterations = option<int>(o, "iterations", "a whole number");
  r.stop = number("stop");
  r.regularisation = choice(o, "regularisation",
                            {Regularisation::none, Regularisation::tikhonov, Regularisation::laplacian});
  r.lambda = number("lambda_");
  r.combination = choice(o, "combine", {Combination::sense, Combination::rss});
  r.calibration_radius = number("calibration_radius");
  r.map_window = option<Index>(o, "map_window", "a whole number");
  r.start = choice(o, "start", {StartingImage::zero, StartingImage::gridding});
  r.coil_batch = option<Index>(o, "coil_batch", "a whole number");
  r.log = call.log();
  r.progress = call.progress();
  const auto device = option<std::string>(o, "device", "a device's name");
  r.device = call.run([&] { return choose_device(device, r.log); });
  return r;
}

nb::dict describe(const Reconstruction& r) {
  nb::dict d;
  d["iterations"] = r.convergence.iterations;
  d["residual"] = r.convergence.residual;
  d["converged"] = r.convergence.converged;
  d["reason"] = r.convergence.reason;
  d["history"] = r.convergence.history;
  d["lambda_absolute"] = r.lambda_absolute;
  d["largest_eigenvalue"] = r.largest_eigenvalue;
  d["notes"] = r.notes;
  nb::dict seconds;
  seconds["maps"] = r.seconds.maps;
  seconds["plan"] = r.seconds.plan;
  seconds["upload"] = r.seconds.upload;
  seconds["rhs"] = r.seconds.rhs;
  seconds["solve"] = r.seconds.solve;
  seconds["download"] = r.seconds.download;
  d["seconds"] = seconds;
  return d;
}

nb::object describe(const std::optional<Verification>& v) {
  if (!v) return nb::none();
  nb::dict d;
  d["relative_error_forward"] = v->relative_error_forward;
  d["relative_error_adjoint"] = v->relative_error_adjoint;
  d["relative_error_normal"] = v->relative_error_normal;
  d["adjoint_gap"] = v->adjoint_gap;
  d["samples"] = v->samples;
  d["voxels"] = v->voxels;
  return d;
}

/// Where maps come from: None estimates them, "ones", a file's name (for files only), or an array [coils, matrix...].
struct GivenMaps {
  std::optional<Input<cfloat>> array;
  std::string word;

  explicit GivenMaps(nb::handle maps) {
    if (maps.is_none())
      word = "estimate";
    else if (!nb::try_cast<std::string>(maps, word))
      array.emplace(maps, "maps");
  }
  MapsSource source() const {
    if (array) return MapsSource::given;
    return word == "estimate" ? MapsSource::estimate : word == "ones" ? MapsSource::ones : MapsSource::given;
  }
  std::shared_ptr<const Array<cfloat>> load(const Measurement& m) {
    if (source() != MapsSource::given) return nullptr;
    if (!array) return load_coil_maps(word, m);
    const auto view = array->view();
    Shape shape = view.shape;
    if (m.matrix.size() == 2 && shape.size() == 4 && shape[1] == 1) shape.erase(shape.begin() + 1);
    require_coil_maps(shape, m.coils(), m.matrix);
    auto maps = std::make_shared<Array<cfloat>>(shape);
    std::copy(view.begin(), view.end(), maps->begin());
    return maps;
  }
};

/// Checks and notes that come before the work, as on the command line.
void plan(const Measurement& m, ReconstructionOptions& options, bool may_move) {
  const Plan made = may_move ? plan_on_gpu_or_cpu(m, options) : plan_reconstruction(m, options);
  for (const std::string& line : made.lines) note(options.log, line);
}

bool is_auto(const nb::dict& options) {
  return option<std::string>(options, "device", "a device's name") == "auto";
}

/// [coils, samples...] or, of one coil, [samples...]
void require_kspace(const Shape& got, const Shape& samples) {
  const Shape rest = got.empty() ? got : Shape(got.begin() + 1, got.end());
  if (got != samples && rest != samples)
    throw ShapeError(
        fmt::format("kspace has shape {}, expected [coils, samples...] with samples {} as in the trajectory",
                    spinloom::to_string(got), spinloom::to_string(samples)));
}

nb::tuple recon(nb::handle kspace, nb::handle trajectory, nb::handle matrix, nb::handle maps,
                nb::handle noise, const std::string& units, const std::vector<double>& voxel_size,
                bool verifies, const nb::dict& options, nb::handle progress) {
  LongCall call(progress);
  ReconstructionOptions o = parse(options, call);
  const GivenTrajectory given(trajectory, matrix, units);
  Input<cfloat> samples(kspace, "kspace");
  require_kspace(samples.shape(), given.samples());
  std::optional<Input<cfloat>> noise_samples;
  if (!noise.is_none()) noise_samples.emplace(noise, "noise");
  GivenMaps sensitivities(maps);
  std::optional<Verification> verified;
  const bool may_move = is_auto(options);
  Reconstruction r = call.run([&] {
    const Array<double> values = to_double(given.k);
    Assembled scan = assemble_arrays({.values = values.view(),
                                      .unit = given.unit,
                                      .layout = PlainTrajectory::Layout::columns_last,
                                      .order = PlainTrajectory::Order::zyx},
                                     samples.view(), given.matrix, call.log());
    Measurement& m = scan.measurements.front();
    for (std::size_t d = 0; d < m.fov_mm.size() && voxel_size.size() >= m.fov_mm.size(); ++d)
      m.fov_mm[d] = voxel_size[voxel_size.size() - m.fov_mm.size() + d] * double(m.matrix[d]);
    if (noise_samples) scan.noise = Array<cfloat>::copy_of(noise_samples->view());
    o.maps = sensitivities.source();
    o.given_maps = sensitivities.load(m);
    o.given_maps = whiten_scan(scan, o.given_maps, call.log());
    plan(m, o, may_move);
    Reconstructor reconstructor(o);
    Reconstruction result = reconstructor.run(m);
    if (verifies) verified = verify(m, result);
    return result;
  });
  const View<const cfloat> image = std::as_const(r.image).view();
  return nb::make_tuple(to_numpy(Array<cfloat>::copy_of(image.reshaped(given.matrix))),
                        to_numpy(r.maps->clone()), describe(r), describe(verified));
}

struct FileResult {
  Image image;
  std::vector<Reconstruction> results;
  std::optional<Verification> verified;
  std::vector<std::string> report;
};

/// The steps of the command `recon`, from the scan's file to the image.
FileResult reconstruct_file(const std::string& path, const LoadScanOptions& load, ReconstructionOptions o,
                            bool may_move, GivenMaps& maps, bool whitens, bool verifies) {
  FileResult out;
  Assembled scan = load_scan(path, load);
  if (scan.measurements.empty())
    throw FormatError(path + ": holds no line of an image, so there is nothing to reconstruct");
  out.report = scan.report.text();
  o.maps = maps.source();
  o.given_maps = maps.load(scan.measurements.front());
  if (whitens) o.given_maps = whiten_scan(scan, o.given_maps, o.log);
  plan(scan.measurements.front(), o, may_move);
  Reconstructor reconstructor(o);
  std::vector<Array<cfloat>> images;
  for (const Measurement& m : scan.measurements) {
    out.results.push_back(reconstructor.run(m));
    Reconstruction& r = out.results.back();
    if (verifies && !out.verified) out.verified = verify(m, r);
    images.push_back(crop_image(r.image, m.recon_matrix));
    r.image = {};
    r.encoding.reset();
    r.normal.reset();
    if (out.results.size() > 1) r.maps.reset();
  }
  check_interrupt();
  out.image = join_images(scan.measurements, std::move(images));
  return out;
}

nb::tuple recon_file(const std::string& path, const std::string& output, nb::handle maps,
                     const nb::dict& load, bool whitens, bool magnitude, bool verifies, bool overwrite,
                     const nb::dict& options, nb::handle progress) {
  LongCall call(progress);
  const ReconstructionOptions o = parse(options, call);
  LoadScanOptions l{.trajectory = option<std::string>(load, "trajectory", "a file's name"),
                    .group = option<std::string>(load, "group", "a group's name"),
                    .encoding = option<std::optional<int>>(load, "encoding", "a whole number or None"),
                    .merge_repetitions = option<bool>(load, "merge_repetitions", "True or False"),
                    .log = call.log()};
  const auto units = option<std::string>(load, "units", "a unit's name");
  if (!units.empty()) l.unit = parse_trajectory_unit(units);
  if (const nb::object matrix = load["matrix"]; !matrix.is_none()) l.matrix = to_shape(matrix, "matrix");
  GivenMaps sensitivities(maps);
  const auto existing = overwrite ? OutputFile::Existing::replace : OutputFile::Existing::refuse;
  const bool may_move = is_auto(options);
  FileResult r = call.run([&] {
    if (!output.empty()) {
      if (!can_save_image(output))
        throw ArgumentError(fmt::format("'{}' has no known ending, expected {}", output, image_endings()));
      OutputFile probe(output, existing);  // before the work, not after it
    }
    FileResult made = reconstruct_file(path, l, o, may_move, sensitivities, whitens, verifies);
    if (magnitude) made.image.data = made.image.data.cast(DType::f32, ComplexPart::magnitude);
    if (!output.empty()) save_image(output, made.image, existing, {.log = call.log()});
    return made;
  });
  nb::list images;
  for (const Reconstruction& one : r.results) images.append(describe(one));
  const nb::object affine = to_affine(r.image.geometry);
  return nb::make_tuple(to_numpy(std::move(r.image.data)), to_numpy(r.results.front().maps->clone()), images,
                        describe(r.verified), affine, r.report);
}

}  // namespace

void bind_recon(nb::module_& m) {
  m.def("recon", &recon, nb::arg("kspace").none(), nb::arg("trajectory").none(), nb::arg("matrix").none(),
        nb::arg("maps").none(), nb::arg("noise").none(), nb::arg("units"), nb::arg("voxel_size"),
        nb::arg("verify"), nb::arg("options"), nb::arg("progress").none());
  m.def("recon_file", &recon_file, nb::arg("path"), nb::arg("output"), nb::arg("maps").none(),
        nb::arg("load"), nb::arg("whitening"), nb::arg("magnitude"), nb::arg("verify"), nb::arg("overwrite"),
        nb::arg("options"), nb::arg("progress").none());
}

}  // namespace spinloom::python
