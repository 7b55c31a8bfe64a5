#include <fmt/format.h>

#include <charconv>

#include "commands.hpp"
#include "denoise_run.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/process.hpp"

namespace {

using spinloom::count;
using spinloom::Index;
using spinloom::Tensor;

/// In slabs where the whole would not fit; the files must allow it then.
DenoiseDone denoise(const DenoiseOptions& o, spinloom::Device device) {
  const auto reader = spinloom::ImageReader::open(o.input);
  if (!reader) {
    if (o.memory_limit > 0)
      throw spinloom::ArgumentError(o.input +
                                    ": a memory limit needs a file that can be read in parts: npy in C order "
                                    "or NIfTI that is not packed");
    return denoise_whole(o, device);
  }
  const std::uint64_t limit =
      o.memory_limit > 0
          ? o.memory_limit
          : static_cast<std::uint64_t>(spinloom::detect_hardware().memory_available_bytes) / 10 * 9;
  const Tensor sample = reader->read(0, count(reader->shape()) > 0 ? 1 : 0);
  DenoisePlan plan = plan_denoise(o.input, reader->shape(), sample.dtype, reader->head().geometry, o);
  const Index item = item_size(sample.dtype), working = plan.channels * (plan.in_double ? 8 : 4);
  const auto whole =
      denoise_base_memory + static_cast<std::uint64_t>(count(reader->shape())) *
                                static_cast<std::uint64_t>(item + working * (item == working ? 1 : 2));
  if (whole <= limit) return denoise_whole(o, device);
  if (device.kind == spinloom::DeviceKind::reference)
    throw spinloom::ArgumentError(
        o.input + ": slabs are filtered on the CPU or a GPU; choose --device cpu, or raise --memory-limit");
  plan.options.device = device;
  return plan.in_double ? denoise_slabs<double>(o, limit, *reader, sample.dtype, plan)
                        : denoise_slabs<float>(o, limit, *reader, sample.dtype, plan);
}

void run(const DenoiseOptions& o) {
  const spinloom::Device device = o.start(Common::Gpu::accepted);
  const DenoiseDone done = denoise(o, device);
  const auto& n = done.plan.options;
  const double voxels = static_cast<double>(done.plan.frames * done.plan.frame_voxels());
  const Json json = {{"input", o.input},
                     {"output", o.output},
                     {"mode", o.classic ? "classic" : "fast"},
                     {"patch_size", n.patch_size},
                     {"patch_distance", n.patch_distance},
                     {"h", n.h},
                     {"sigma", n.sigma},
                     {"frames", done.plan.frames},
                     {"size", done.plan.spatial},
                     {"slabs", done.slabs},
                     {"seconds", done.seconds},
                     {"voxels_per_second", voxels / done.seconds},
                     {"memory_bytes", spinloom::peak_memory_bytes()}};
  o.console().result(
      json, fmt::format("{}: sigma {:.4g}, h {:.4g}, {:.3g} s, {:.3g} million voxels per second", o.output,
                        n.sigma, n.h, done.seconds, 1e-6 * voxels / done.seconds));
}

/// A number, or "auto" for none.
CLI::Option* add_number_or_auto(CLI::App& app, const std::string& name, std::optional<double>& to,
                                const std::string& text) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &to](const std::string& word) {
            double v = 0;
            const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), v);
            if (word == "auto")
              to.reset();
            else if (status == std::errc() && end == word.data() + word.size() && std::isfinite(v) && v >= 0)
              to = v;
            else
              throw CLI::ValidationError(name, "'" + word + "' is neither a number of 0 or more nor auto");
          },
          text)
      ->type_name("NUMBER|auto");
}

void add_sizes(CLI::App& app, const std::string& name, std::vector<std::int64_t>& to,
               const std::string& text) {
  app.add_option(name, to, text)
      ->delimiter(',')
      ->expected(1, 4)
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000}))
      ->type_name("N|Z,Y,X")
      ->capture_default_str();
}

}  // namespace

Command add_denoise(CLI::App& program) {
  auto* app = program.add_subcommand("denoise", "Remove noise from an image by non-local means");
  auto o = std::make_shared<DenoiseOptions>();
  app->add_option("IN", o->input, "image to clean (NIfTI, npy, cfl, MRD images)")->required();
  app->add_option("-o,--output", o->output,
                  "same shape, type and header as IN; the format by its ending: " + spinloom::image_endings())
      ->required()
      ->check([](const std::string& name) {
        return spinloom::can_save_image(name)
                   ? std::string()
                   : "'" + name + "' names no image format, expected " + spinloom::image_endings();
      });
  add_sizes(*app, "--patch-size", o->patch_size, "voxels along an edge of the compared patches");
  add_sizes(*app, "--patch-distance", o->patch_distance, "farthest shift of a patch [voxels]");
  add_number_or_auto(*app, "--h", o->h,
                     "cut-off distance [grey values]; auto: 0.6 times the noise, with --classic 1.2 times");
  add_number_or_auto(*app, "--sigma", o->sigma,
                     "standard deviation of the noise [grey values]; auto measures it");
  app->add_flag("--classic", o->classic, "Gaussian patches and a window that ends at the border");
  app->add_flag("--rician", o->rician, "magnitude MRI: take off the bias of its noise");
  app->add_option("--mask", o->mask, "image: where it is 0, voxels are copied");
  app->add_flag("--per-axis", o->per_axis, "scale both sizes by the voxel size, from the finest axis");
  app->add_option("--dims", o->dims,
                  "spatial axes, the last ones; axes before them are frames, cleaned one by one")
      ->check(CLI::Range(2, 4));
  app->add_option(
         "--memory-limit", o->memory_limit,
         "work in slabs within so many bytes, as 500M or 4G; without it slabs are taken when memory is short")
      ->transform(CLI::AsSizeValue(false));
  app->add_option("--group", o->group, "image series of an MRD file, when there are several");
  declare_common(*app, *o, with_device | with_threads | with_force);
  app->footer(
      "Each voxel becomes a weighted mean of voxels with similar surroundings. Use it before any "
      "interpolation: "
      "resampled noise is no longer independent between voxels.\n"
      "Example: spinloom denoise recon.nii.gz -o clean.nii.gz --rician");
  return {app, [o] { run(*o); }};
}
