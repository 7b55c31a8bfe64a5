#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "common.hpp"
#include "recon_output.hpp"
#include "spinloom/core/devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/recon/field_map.hpp"
#include "spinloom/recon/join_images.hpp"
#include "spinloom/recon/load_scan.hpp"
#include "spinloom/recon/plan.hpp"
#include "spinloom/recon/verify.hpp"
#include "spinloom/recon/whiten_scan.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom_version.hpp"

using namespace spinloom;

namespace {

struct Options : Common {
  std::string scan, output, maps = "estimate", matrix, units, report, output_type = "auto", field_map, b0_sign = "+";
  double dwell_us = 0;
  LoadScanOptions load;
  ReconstructionOptions recon;
  bool verify = false, keep_noise = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_outputs(const Options& o) {
  if (!can_save_image(o.output))
    throw CLI::ValidationError(
        "-o", fmt::format("'{}' has no known ending, expected {}", o.output, image_endings()));
  // A long run must not end at a file that cannot be written: find out before it starts.
  OutputFile probe(o.output, o.existing());
  OutputFile sidecar(without_ending(o.output) + ".json", o.existing());
}

/// Null without one.
Json gpu_name(Device device) {
  if (device.kind != DeviceKind::cuda) return nullptr;
  return cuda_status().gpus.at(static_cast<std::size_t>(device.index)).name;
}

/// What each of the devices has of the work.
Json describe(const std::vector<DeviceShare>& devices) {
  Json list = Json::array();
  for (const DeviceShare& d : devices)
    list.push_back({{"device", to_string(d.device)},
                    {"gpu", gpu_name(d.device)},
                    {"first_coil", d.share.first},
                    {"coils", d.share.coils},
                    {"coil_batch", d.coil_batch},
                    {"device_memory_bytes", d.device_bytes}});
  return list;
}

/// What the run was made of and what came of it: the sidecar, --json, and the report's tables.
Json facts_of(const Options& o, const std::vector<Reconstruction>& results, const Plan& plan,
              double read_seconds) {
  int iterations = 0;
  double residual = 0;
  ReconstructionTimes seconds;
  bool converged = true;
  const Reconstruction* worst = &results.front();  // the run's reason is that of the image furthest from done
  Json images = Json::array();
  for (const Reconstruction& r : results) {
    const auto rank = [](const Reconstruction& x) {
      return std::pair(!x.convergence.converged, x.convergence.residual);
    };
    if (rank(r) > rank(*worst)) worst = &r;
    iterations = std::max(iterations, r.convergence.iterations);
    residual = std::max(residual, r.convergence.residual);
    converged = converged && r.convergence.converged;
    seconds += r.seconds;
    images.push_back({{"iterations", r.convergence.iterations},
                      {"residual", r.convergence.residual},
                      {"converged", r.convergence.converged},
                      {"reason", r.convergence.reason},
                      {"history", r.convergence.history}});
  }
  const ReconstructionOptions& c = o.recon;
  return {{"scan", o.scan},
          {"image", o.output},
          {"method", to_string(c.method)},
          {"operator", to_string(c.fourier)},
          {"tolerance", c.tolerance},
          {"iterations", iterations},
          {"residual", residual},
          {"converged", converged},
          {"reason", worst->convergence.reason},
          {"regularisation", to_string(c.regularisation)},
          {"lambda", c.lambda},
          {"lambda_absolute", results.front().lambda_absolute},
          {"largest_eigenvalue", results.front().largest_eigenvalue},
          {"combine", to_string(c.combination)},
          {"maps", c.combination == Combination::rss ? "none" : to_string(c.maps)},
          {"start", to_string(c.start)},
          {"stop", c.stop},
          {"iteration_limit", c.iterations},
          {"scaling", "unitary: y = F s rho / sqrt(voxels)"},
          {"device", c.devices.size() > 1 ? to_string(c.devices) : to_string(c.device)},
          {"devices", describe(plan.devices)},
          {"memory_bytes", plan.memory_bytes},
          {"device_memory_bytes", plan.device_bytes},
          {"coil_batch", plan.coil_batch},
          {"seconds",
           {{"read", read_seconds},
            {"maps", seconds.maps},
            {"plan", seconds.plan},
            {"upload", seconds.upload},
            {"rhs", seconds.rhs},
            {"solve", seconds.solve},
            {"download", seconds.download},
            {"write", 0.0}}},
          {"version", SPINLOOM_VERSION},
          {"compiler", SPINLOOM_COMPILER},
          {"cpu", detect_hardware().cpu_name},
          {"gpu", gpu_name(c.device)},
          {"images", images}};
}

Json off_resonance_facts(const Options& o, const Measurement& m, const Plan& plan) {
  const OffResonancePtr b0 = off_resonance_of(m);
  Json facts = {{"field_map", o.field_map},
                {"sign", o.b0_sign},
                {"lowest_hz", b0->lowest_hz()},
                {"highest_hz", b0->highest_hz()},
                {"readout_seconds", b0->last_s() - b0->first_s()}};
  if (plan.snapshots.snapshots > 0)
    facts.update({{"snapshots", plan.snapshots.snapshots},
                  {"taps", plan.snapshots.taps},
                  {"largest_error", plan.snapshots.error}});
  if (plan.segments.segments > 0)
    facts.update({{"time_segments", plan.segments.segments}, {"largest_error", plan.segments.error}});
  if (plan.normal_segments.segments > 0)
    facts.update({{"normal_convolutions", plan.normal_segments.segments},
                  {"normal_largest_error", plan.normal_segments.error}});
  return facts;
}

void run(Options& o) {
  o.recon.devices = o.start_several();
  o.recon.device = o.recon.devices.front();
  require_communicators(o.recon.devices);  // are they there? before a long reading
  const Console console = o.console();
  std::vector<std::string> warnings;
  const Log log = [&](Severity severity, const std::string& text) {
    if (severity == Severity::warning) warnings.push_back(text);
    console.log()(severity, text);
  };
  check_outputs(o);
  std::optional<ReconReport> report_files;
  if (!o.report.empty()) report_files.emplace(o.report, o.existing());

  auto clock = std::chrono::steady_clock::now();
  o.load.log = o.recon.log = log;
  if (!o.matrix.empty()) {
    o.load.matrix = parse_matrix("--matrix", o.matrix);
    if (o.load.matrix.size() < 2)
      throw CLI::ValidationError("--matrix",
                                 fmt::format("'{}' has one axis, expected Y,X or Z,Y,X", o.matrix));
  }
  if (!o.units.empty()) o.load.unit = parse_trajectory_unit(o.units);
  o.load.dwell_s = 1e-6 * o.dwell_us;
  Assembled scan = load_scan(o.scan, o.load);
  for (const std::string& line : scan.report.text()) console.note(line);
  if (scan.measurements.empty())
    throw FormatError(o.scan + ": holds no line of an image, so there is nothing to reconstruct");
  std::shared_ptr<const Array<cfloat>> given;
  if (o.maps == "ones")
    o.recon.maps = MapsSource::ones;
  else if (o.maps == "estimate")
    o.recon.maps = MapsSource::estimate;
  else {
    o.recon.maps = MapsSource::given;
    given = load_coil_maps(o.maps, scan.measurements.front());
  }
  if (!o.keep_noise) given = whiten_scan(scan, given, log);
  o.recon.given_maps = given;
  if (!o.field_map.empty()) attach_field_map(o.field_map, o.b0_sign == "-" ? -1 : 1, scan.measurements);
  const double read_seconds = seconds_since(clock);

  const Measurement& first = scan.measurements.front();
  const Plan plan =
      o.device == "auto" ? plan_on_gpu_or_cpu(first, o.recon) : plan_reconstruction(first, o.recon);
  if (scan.measurements.size() > 1) console.note(fmt::format("{} images", scan.measurements.size()));
  for (const std::string& line : plan.lines) console.note(line);

  o.recon.progress = console.progress();
  Reconstructor reconstructor(o.recon);
  std::vector<Reconstruction> results;
  std::vector<Array<cfloat>> images;
  std::vector<std::vector<double>> histories;
  Json verified;
  for (const Measurement& m : scan.measurements) {
    results.push_back(reconstructor.run(m));
    Reconstruction& r = results.back();
    if (results.size() == 1) {
      for (const std::string& line : r.notes) console.note(line);
      if (o.verify) {
        const Verification v = verify(m, r);
        verified = {{"relative_error_forward", v.relative_error_forward},
                    {"relative_error_adjoint", v.relative_error_adjoint},
                    {"relative_error_normal", v.relative_error_normal},
                    {"adjoint_gap", v.adjoint_gap},
                    {"samples", v.samples},
                    {"voxels", v.voxels}};
      }
    }
    images.push_back(crop_image(r.image, m.recon_matrix));
    histories.push_back(r.convergence.history);
    if (!r.convergence.converged && o.recon.method == Method::cg)
      console.note("not converged: " + r.convergence.reason);
    // Only the first one's operators serve again; the rest is memory that the next image needs.
    r.image = {};
    r.maps.reset();
    r.encoding.reset();
    r.normal.reset();
  }

  clock = std::chrono::steady_clock::now();
  Image image = join_images(scan.measurements, std::move(images));
  const bool magnitude =
      o.output_type == "magnitude" ||
      (o.output_type == "auto" && !o.output.ends_with(".npy") && !o.output.ends_with(".cfl"));
  Json facts = facts_of(o, results, plan, read_seconds);
  facts["output_type"] = magnitude ? "magnitude" : "complex";
  if (o.verify) facts["verify"] = verified;
  if (!o.field_map.empty()) facts["off_resonance"] = off_resonance_facts(o, scan.measurements.front(), plan);
  facts["warnings"] = warnings;
  check_interrupt();
  std::string report;
  if (report_files) report = report_files->write(image, facts, histories, warnings);
  if (magnitude) image.data = image.data.cast(DType::f32, ComplexPart::magnitude);
  save_image(o.output, image, o.existing(), {.log = log});
  facts["seconds"]["write"] = seconds_since(clock);
  OutputFile sidecar(without_ending(o.output) + ".json", o.existing());
  sidecar.write(facts.dump(2) + "\n");
  sidecar.commit();

  std::string text =
      fmt::format("{}: {} {}", o.output, to_string(image.data.dtype), to_string(image.data.shape));
  const auto& s = facts["seconds"];
  if (o.recon.method == Method::cg)
    text += fmt::format("\n{} iterations, residual {:.2e} ({})", facts["iterations"].get<int>(),
                        facts["residual"].get<double>(), facts["reason"].get<std::string>());
  if (o.recon.lambda > 0)
    text += fmt::format("\nlambda {:g} of the largest eigenvalue {:.4g}, absolute {:.4g}", o.recon.lambda,
                        facts["largest_eigenvalue"].get<double>(), facts["lambda_absolute"].get<double>());
  if (o.verify)
    text += fmt::format(
        "\nagainst the exact DFT in double on {} samples and {} voxels: forward {:.1e}, adjoint {:.1e}, "
        "normal {:.1e}; "
        "adjoint gap {:.1e}",
        verified["samples"].get<Index>(), verified["voxels"].get<Index>(),
        verified["relative_error_forward"].get<double>(), verified["relative_error_adjoint"].get<double>(),
        verified["relative_error_normal"].get<double>(), verified["adjoint_gap"].get<double>());
  std::string parts;
  for (const auto& [name, value] : s.items())
    parts += fmt::format("{}{} {:.2f}", parts.empty() ? "" : ", ", name, value.get<double>());
  text += "\nseconds: " + parts;
  if (!report.empty()) text += "\nreport: " + report;
  console.result(facts, text);
}

}  // namespace

Command add_recon(CLI::App& program) {
  auto* app = program.add_subcommand("recon", "Reconstruct an image from a scan");
  auto o = std::make_shared<Options>();
  app->add_option("scan", o->scan, "raw data: MRD (.h5, .mrd), BART cfl or npy k-space")->required();
  app->add_option("-o,--output", o->output,
                  "image to write: .nii.gz, .nii, .npy, .cfl or .png; NAME.json goes beside it")
      ->required();
  const auto choice = [&](const std::string& name, auto& target, auto words, const char* text) {
    app->add_option_function<std::string>(
        name,
        [name, &target, words](const std::string& word) {
          const auto found = words.find(word);
          if (found != words.end()) {
            target = found->second;
            return;
          }
          std::string known;
          for (const auto& [w, value] : words) known += (known.empty() ? "" : ", ") + w;
          throw CLI::ValidationError(name, "'" + word + "' is unknown, expected one of " + known);
        },
        text);
  };
  choice("--method", o->recon.method,
         std::map<std::string, Method>{{"cg", Method::cg}, {"gridding", Method::gridding}},
         "cg (iterative SENSE, default) or gridding (density-compensated adjoint)");
  choice("--operator", o->recon.fourier,
         std::map<std::string, FourierKind>{
             {"toeplitz", FourierKind::toeplitz}, {"nufft", FourierKind::nufft}, {"dft", FourierKind::dft}},
         "toeplitz (default), nufft or dft (exact)");
  app->add_option("--tolerance", o->recon.tolerance, "relative error of the Fourier operator")
      ->check(above(0))
      ->capture_default_str();
  app->add_option("--iterations", o->recon.iterations, "limit of CG iterations")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app->add_option("--stop", o->recon.stop, "relative residual of the normal equations to stop at")
      ->check(within(0, 0.999))
      ->capture_default_str();
  auto* lambda =
      app->add_option(
             "--lambda", o->recon.lambda,
             "weight of the regularisation, relative to the largest eigenvalue of the normal operator")
          ->check(from(0));
  choice("--reg", o->recon.regularisation,
         std::map<std::string, Regularisation>{{"none", Regularisation::none},
                                               {"tikhonov", Regularisation::tikhonov},
                                               {"laplacian", Regularisation::laplacian}},
         "none (default), tikhonov |rho|^2 or laplacian |D rho|^2");
  auto* reg = app->get_option("--reg");
  choice("--combine", o->recon.combination,
         std::map<std::string, Combination>{{"sense", Combination::sense}, {"rss", Combination::rss}},
         "sense (default), or rss: every coil alone, then the root sum of squares");
  auto* maps =
      app->add_option("--maps", o->maps, "sensitivity maps: a file [coils, z, y, x], estimate, or ones")
          ->capture_default_str();
  app->add_option("--calibration-radius", o->recon.calibration_radius,
                  "k-space centre that maps are estimated from [cycles per field of view]; 0: twice the "
                  "radius that is well sampled")
      ->check(from(0));
  app->add_option("--map-window", o->recon.map_window, "box of the adaptive combination, odd [voxels]")
      ->check([](const std::string& word) {
        Index n = 0;
        return CLI::detail::lexical_cast(word, n) && n > 0 && n % 2 == 1
                   ? std::string()
                   : "'" + word + "' is not an odd number from 1 on";
      })
      ->capture_default_str();
  choice("--start", o->recon.start,
         std::map<std::string, StartingImage>{{"zero", StartingImage::zero},
                                              {"gridding", StartingImage::gridding}},
         "starting image: zero (default) or gridding");
  app->add_option("--matrix", o->matrix, "matrix size Z,Y,X or Y,X instead of the header's");
  app->add_option("--traj", o->load.trajectory, "trajectory file, npy or cfl, instead of the stored one");
  app->add_option("--traj-units", o->units, "cycles-per-fov, cycles-per-pixel or radians")
      ->check(CLI::IsMember({"cycles-per-fov", "cycles-per-pixel", "radians"}));
  app->add_option("--group", o->load.group, "HDF5 group of the scan, when there are several");
  app->add_option("--encoding", o->load.encoding, "encoding of the header to reconstruct")->check(from(0));
  app->add_flag("--merge-repetitions", o->load.merge_repetitions, "repetitions are samples of one image");
  app->add_flag("--no-whitening", o->keep_noise,
                "leave the channels as they are, even when the scan has noise lines");
  app->add_option("--coil-batch", o->recon.coil_batch, "coils transformed at a time; 0: what memory allows")
      ->check(from(0));
  app->add_option("--output-type", o->output_type, "magnitude, complex, or auto (complex in npy and cfl)")
      ->check(CLI::IsMember({"auto", "magnitude", "complex"}))
      ->capture_default_str();
  auto* field_map =
      app->add_option("--field-map", o->field_map, "off-resonance of each voxel [Hz], an image on the scan's matrix");
  app->add_option("--b0-sign", o->b0_sign, "sign of the field map: + where a voxel turns as exp(-2 pi i f t)")
      ->check(CLI::IsMember({"+", "-"}))
      ->needs(field_map)
      ->capture_default_str();
  app->add_option("--dwell", o->dwell_us, "time between two samples [us], for a scan that does not say it")
      ->check(above(0))
      ->needs(field_map);
  app->add_option("--report", o->report, "folder for an HTML report with slices and the convergence curve");
  app->add_flag("--verify", o->verify,
                "compare the operator with the exact DFT in double on a random subset");
  declare_common(*app, *o, with_several_devices | with_threads | with_force);
  app->footer(
      "Example: spinloom recon scan.mrd -o image.nii.gz --report report --verify\n"
      "References: Pruessmann et al. 2001, Magn. Reson. Med. 46:638; Fessler et al. 2005, IEEE TSP 53:3393");
  return {app, [=] {
            if (o->recon.regularisation == Regularisation::none && o->recon.lambda > 0) {
              if (reg->count() > 0) throw CLI::ValidationError("--lambda", "has no meaning with --reg none");
              o->recon.regularisation = Regularisation::tikhonov;
              o->console().note("--lambda without --reg: Tikhonov regularisation");
            }
            if (o->recon.regularisation != Regularisation::none && o->recon.lambda == 0) {
              if (lambda->count() > 0)
                o->recon.regularisation = Regularisation::none;  // a weight of 0 is no regularisation
              else
                o->recon.lambda = 1e-3;
            }
            if (o->recon.combination == Combination::rss && maps->count() > 0)
              throw CLI::ValidationError("--maps", "has no meaning with --combine rss");
            if (o->recon.combination == Combination::rss && o->device.find(',') != std::string::npos)
              throw CLI::ValidationError("--device", "--combine rss goes coil by coil on one; name one");
            if (o->recon.method == Method::gridding && o->recon.regularisation != Regularisation::none)
              throw CLI::ValidationError("--reg", "gridding does not regularise; use --method cg");
            run(*o);
          }};
}
