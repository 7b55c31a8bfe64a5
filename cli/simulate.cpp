#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "commands.hpp"
#include "common.hpp"
#include "simulate_scan.hpp"
#include "simulate_trajectory.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/mri/simulate.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/recon/field_map.hpp"
#include "spinloom/runtime/threads.hpp"

using namespace spinloom;

namespace {

struct Simulate : Common {
  std::string phantom, matrix, fov_mm, output, field_map;
  double dwell_us = 5;
  TrajectoryChoice trajectory;
  Index coils = 8;
  double noise = 0, snr_db = 0;
  bool has_snr = false;
  unsigned seed = 1;

  void run() const;
};

/// What is scanned: ellipsoids with a closed form, or voxels.
struct Object {
  std::optional<Phantom> phantom;
  std::optional<Array<cdouble>> voxels;
  Geometry geometry;
  bool is_real = true;
};

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

Object load_object(const std::string& name, int dims, const Log& log) {
  Object object;
  if (name == "shepp-logan") {
    object.phantom = shepp_logan(dims);
  } else if (ends_with(name, ".json")) {
    object.phantom = read_phantom(name);
  } else {
    const Image image = load_image(name, {.group = {}, .log = log});
    const auto values = with_context(name, [&] { return image.data.to<cdouble>(); });
    Shape shape = values.shape();
    while (static_cast<int>(shape.size()) > dims && shape.front() == 1) shape.erase(shape.begin());
    if (static_cast<int>(shape.size()) != dims)
      throw ShapeError(
          fmt::format("{}: holds an array of shape {}, expected an image of {} axes for this trajectory",
                      name, to_string(values.shape()), dims));
    if (!all_finite<cdouble>(values.view()))
      throw FormatError(fmt::format("{}: holds values that are not finite; replace them first", name));
    object.voxels = Array<cdouble>::copy_of(values.view().reshaped(shape));
    object.geometry = image.geometry;
    object.is_real = !is_complex(image.data.dtype);
  }
  if (object.phantom && object.phantom->dims != dims)
    throw ArgumentError(
        fmt::format("{}: a phantom of {} axes, but the trajectory has {}; choose another trajectory", name,
                    object.phantom->dims, dims));
  return object;
}

/// Centred at the scanner's centre, x towards the patient's left and y towards the back, as MRD's own axes are.
Geometry centred(const Shape& matrix, const std::vector<double>& fov_mm) {
  Geometry geometry;
  geometry.is_known = true;
  for (std::size_t row = 0; row < 3; ++row) {
    const bool exists = row < matrix.size();
    const std::size_t axis = exists ? matrix.size() - 1 - row : 0;
    const double step = (exists ? fov_mm[axis] / double(matrix[axis]) : 1.0) * (row < 2 ? -1 : 1);
    geometry.matrix[row] = {0, 0, 0, exists ? -step * double(matrix[axis] / 2) : 0.0};
    geometry.matrix[row][row] = step;
  }
  return geometry;
}

/// The field map, and each sample's time from its readout's start.
OffResonancePtr load_off_resonance(const std::string& path, const SimulatedScan& scan) {
  Array<double> times({scan.readouts.trajectory->samples()});
  for (Index m = 0; m < times.size(); ++m)
    times[m] = 1e-6 * scan.dwell_us * double(m % scan.readouts.samples_per_readout);
  return std::make_shared<OffResonance>(load_field_map(path, scan.matrix), std::move(times));
}

/// "240", or one number per axis in the order of --matrix.
std::vector<double> parse_fov(const std::string& text, const Shape& matrix, const Geometry& geometry) {
  std::vector<double> fov;
  const auto voxel = geometry.voxel_size();  // along x, y, z; 1 mm when not known
  for (std::size_t d = 0; d < matrix.size(); ++d)
    fov.push_back(double(matrix[d]) * voxel[matrix.size() - 1 - d]);
  if (text.empty()) return fov;
  std::vector<double> given;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    double value = 0;
    if (!CLI::detail::lexical_cast(word, value) || !(value > 0 && value < 1e6))
      throw CLI::ValidationError(
          "--fov-mm", fmt::format("'{}' is not a length, expected one or one per axis, in mm", text));
    given.push_back(value);
  }
  if (given.size() == 1) given.resize(matrix.size(), given[0]);
  if (given.size() != matrix.size())
    throw CLI::ValidationError("--fov-mm", fmt::format("'{}' has {} lengths for a matrix of {} axes", text,
                                                       given.size(), matrix.size()));
  return given;
}

void Simulate::run() const {
  set_thread_count(threads);
  const auto begun = std::chrono::steady_clock::now();
  const Console talk = console();
  const bool noisy = noise > 0 || has_snr;
  OutputSet files(existing());
  const ScanWriter writer(output, noisy, files);

  const std::size_t asked_axes = static_cast<std::size_t>(std::count(matrix.begin(), matrix.end(), ',')) + 1;
  const int dims = trajectory.dims(matrix.empty() ? 3 : asked_axes);
  const Object object = load_object(phantom, dims, talk.log());
  SimulatedScan scan;
  scan.matrix = matrix.empty() && object.voxels ? object.voxels->shape() : parse_matrix("--matrix", matrix);
  if (static_cast<int>(scan.matrix.size()) != dims)
    throw CLI::ValidationError("--matrix", fmt::format("{} does not fit {}, expected {}", matrix,
                                                       trajectory.name, dims == 2 ? "Y,X" : "Z,Y,X"));
  if (object.voxels && object.voxels->shape() != scan.matrix)
    throw ShapeError(fmt::format(
        "{}: the image is {}, the matrix asked for {}; leave --matrix out to scan the image as it is",
        phantom, to_string(object.voxels->shape()), to_string(scan.matrix)));
  const bool placed = object.geometry.is_known && fov_mm.empty();
  scan.fov_mm = parse_fov(fov_mm, scan.matrix, placed ? object.geometry : Geometry{});
  scan.geometry = placed ? object.geometry : centred(scan.matrix, scan.fov_mm);
  scan.kind = trajectory.mrd_kind();
  try {
    scan.readouts = as_stored(trajectory.make(scan.matrix, seed), scan.matrix, scan_format(output));
  } catch (const ArgumentError& e) {
    throw CLI::ValidationError("--trajectory", e.what());
  }
  const Index samples = scan.readouts.trajectory->samples();
  talk.note(fmt::format("simulate: {}, matrix {}, {} readouts of {} samples, {} coil{}", trajectory.name,
                        to_string(scan.matrix), scan.readouts.readouts, scan.readouts.samples_per_readout,
                        coils, coils == 1 ? "" : "s"));

  const Device where = start(Gpu::accepted);
  SimulationOptions options{
      .coils = coils, .sigma = noise, .seed = seed, .device = where, .progress = talk.progress()};
  if (has_snr) options.snr_db = snr_db;
  scan.dwell_us = dwell_us;
  if (!field_map.empty()) options.off_resonance = load_off_resonance(field_map, scan);
  Simulation made = object.phantom
                        ? simulate_scan(*object.phantom, scan.readouts, scan.matrix, options)
                        : simulate_scan(object.voxels->view(), scan.readouts, scan.matrix, options);
  if (!all_finite<cfloat>(made.kspace.view()))
    throw ArgumentError(
        fmt::format("{}: samples or noise are too large for single precision; scale the phantom or the "
                    "noise down",
                    phantom));
  scan.kspace = std::move(made.kspace);
  scan.noise = std::move(made.noise);
  scan.maps = std::move(made.maps);
  scan.truth = std::move(made.truth);
  scan.truth_is_real = object.is_real;
  try {
    writer.write(scan);
  } catch (const FileError& e) {
    throw FileError(files.by_final_names(e.what()));
  }
  files.commit();

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  Json facts = {{"files", files.paths()},
                {"trajectory", trajectory.name},
                {"matrix", scan.matrix},
                {"coils", coils},
                {"readouts", scan.readouts.readouts},
                {"samples_per_readout", scan.readouts.samples_per_readout},
                {"samples", samples},
                {"noise_sigma", made.sigma},
                {"coil_fit_residual", made.coil_fit_residual},
                {"device", to_string(where)},
                {"seconds", seconds}};
  if (!field_map.empty()) {
    facts["field_map"] = field_map;
    facts["dwell_us"] = dwell_us;
  }
  facts["snr_db"] = made.sigma > 0 ? Json(made.snr_db) : Json(nullptr);
  talk.result(facts, fmt::format("{} samples per coil written to {} ({:.1f} s)", samples,
                                 files.paths().front(), seconds));
}

}  // namespace

Command add_simulate(CLI::App& program) {
  auto* app =
      program.add_subcommand("simulate", "Compute the raw data that a scan of a known object would give");
  auto s = std::make_shared<Simulate>();
  app->add_option("--phantom", s->phantom,
                  "shepp-logan, a .json list of ellipsoids, or an image file to scan as it is")
      ->required();
  s->trajectory.declare(*app);
  app->add_option("--matrix", s->matrix, "voxels, as Z,Y,X or Y,X; an image brings its own");
  app->add_option("--fov-mm", s->fov_mm,
                  "field of view [mm], one length or one per axis; default 1 mm voxels");
  app->add_option("--coils", s->coils, "loops around the object; 1 is a uniform coil")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  auto* noise = app->add_option("--noise", s->noise,
                                "standard deviation of the complex noise in each coil [units of "
                                "k-space, whose value at k = 0 is the sum of the voxels]")
                    ->check(from(0));
  app->add_option("--snr-db", s->snr_db,
                  "noise by signal-to-noise ratio instead: mean |k-space|^2 over its variance [dB]")
      ->check(within(-200, 200))
      ->excludes(noise);
  app->add_option("--field-map", s->field_map,
                  "off-resonance of each voxel of an image [Hz], on its matrix: phase exp(-2 pi i f t)");
  app->add_option("--dwell", s->dwell_us, "time between two samples [us]")->check(above(0))->capture_default_str();
  app->add_option("--seed", s->seed, "for noise and random trajectories")->capture_default_str();
  app->add_option("-o,--output", s->output,
                  "scan.mrd or .h5 (ISMRMRD), scan.cfl (BART: NAME, NAME_traj), scan.npy (NAME_ksp, "
                  "NAME_traj); beside "
                  "it NAME_maps and NAME_truth.nii.gz, the best image that the scan can give")
      ->required();
  declare_common(*app, *s, with_device | with_threads | with_force);
  app->footer(
      "Example: spinloom simulate --phantom shepp-logan --trajectory radial2d --matrix 128,128 --snr-db 40 "
      "-o scan.mrd");
  return {app, [app, s] {
            s->trajectory.check(*app);
            s->has_snr = app->count("--snr-db") > 0;
            if (s->matrix.empty() && (s->phantom == "shepp-logan" || ends_with(s->phantom, ".json")))
              throw CLI::RequiredError("--matrix");
            const bool is_analytic = s->phantom == "shepp-logan" || ends_with(s->phantom, ".json");
            if (!s->field_map.empty() && is_analytic)
              throw CLI::ValidationError("--field-map",
                                         "needs an image to scan; " + s->phantom + " has no voxels to turn");
            if (app->count("--dwell") > 0 && s->field_map.empty() && scan_format(s->output) != ScanFormat::mrd)
              throw CLI::ValidationError(
                  "--dwell", "has no place in '" + s->output + "' and no meaning without --field-map");
            scan_format(s->output);
            s->run();
          }};
}
