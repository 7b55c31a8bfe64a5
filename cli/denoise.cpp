#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <numeric>

#include "commands.hpp"
#include "common.hpp"
#include "denoise_plan.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_part.hpp"
#include "spinloom/nlm/estimate_sigma.hpp"
#include "spinloom/nlm/slabs.hpp"
#include "spinloom/runtime/hardware.hpp"

namespace {

using spinloom::Array;
using spinloom::count;
using spinloom::DType;
using spinloom::Image;
using spinloom::Index;
using spinloom::Shape;
using spinloom::Tensor;
using spinloom::to_string;
using spinloom::View;

struct Options : Common, DenoiseRequest {
  std::string input, output, mask, group;
  std::uint64_t memory_limit = 0;
};

/// What a run did, for its report.
struct Done {
  DenoisePlan plan;
  double seconds = 0;
  Index slabs = 1;
};

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The elements as Real, where they lie if they are Real already; complex ones as pairs.
template <class Real>
View<const Real> values_of(const Tensor& data, Array<Real>& storage) {
  constexpr DType own = Tensor::dtype_of<Real>(), complex = Tensor::dtype_of<std::complex<Real>>();
  if (data.dtype == own || data.dtype == complex)
    return {reinterpret_cast<const Real*>(data.bytes.data()), {data.bytes.size() / Index{sizeof(Real)}}};
  storage = data.to<Real>();
  return storage.view();
}

/// Filtered values in the image's own type; integers are rounded.
template <class Real>
Tensor tensor_of(View<const Real> values, DType type) {
  if (is_complex(type)) {
    Tensor result(type, {values.size() / 2});
    std::copy(values.begin(), values.end(), reinterpret_cast<Real*>(result.bytes.data()));
    return result;
  }
  Tensor result = Tensor::copy_of(values);
  return result.dtype == type ? std::move(result) : result.cast(type);
}

/// 0 where there is none but rounding.
template <class Real>
double measured_noise(View<const Real> values, const Shape& frame) {
  Real largest = 0;
  for (const Real v : values) largest = std::max(largest, std::abs(v));
  const double rounding = 1e-9 * static_cast<double>(largest);
  double sum = 0;
  Index found = 0;
  for (Index f = 0; f < values.size() / count(frame); ++f)
    for (const double sigma : spinloom::estimate_sigma<Real>({values.data + f * count(frame), frame}))
      if (sigma > rounding) sum += sigma, ++found;
  return found == 0 ? 0 : sum / static_cast<double>(found);
}

void require_mask_shape(const std::string& path, const Shape& mask, const DenoisePlan& plan,
                        const Shape& image) {
  const Shape space(image.end() - static_cast<std::ptrdiff_t>(std::min(image.size(), mask.size())),
                    image.end());
  if (count(mask) != plan.frame_voxels() ||
      spinloom::without_leading_ones(mask) != spinloom::without_leading_ones(space))
    throw spinloom::ShapeError(
        fmt::format("{}: the mask has shape {}, expected the spatial axes of the image {}", path,
                    to_string(mask), to_string(image)));
}

void to_mask(const Tensor& values, std::uint8_t* to) {
  for (const double v : values.to<double>()) *to++ = v != 0;
}

/// Progress of one frame as progress of all.
spinloom::Progress of_frame(const spinloom::Progress& progress, Index frame, Index frames) {
  if (!progress) return {};
  return [=](const std::string& stage, double share, const std::string&) {
    progress(stage, (static_cast<double>(frame) + share) / static_cast<double>(frames),
             frames > 1 ? fmt::format("frame {} of {}", frame + 1, frames) : "");
  };
}

template <class Real>
Tensor filter_whole(const Options& o, spinloom::Device device, const Image& image, Done& done) {
  DenoisePlan& plan = done.plan;
  const Shape frame = plan.frame_shape();
  Array<Real> storage;
  const View<const Real> values = values_of<Real>(image.data, storage);
  set_strength(o.input, o, o.sigma ? 0 : measured_noise(values, frame), plan);
  spinloom::NlmMaps<Real> maps;
  Array<std::uint8_t> mask;
  if (!o.mask.empty()) {
    const Image loaded = spinloom::load_image(o.mask, {.log = o.console().log()});
    require_mask_shape(o.mask, loaded.data.shape, plan, image.data.shape);
    mask = Array<std::uint8_t>(plan.spatial);
    to_mask(loaded.data, mask.data());
    maps.mask = mask.view();
  }
  // Filtered where it stays, as often as the type allows: a large image has no room for a third copy.
  const DType type = image.data.dtype;
  const bool stays = is_complex(type) || type == Tensor::dtype_of<Real>();
  Tensor result(stays ? type : Tensor::dtype_of<Real>(), image.data.shape);
  auto* to = reinterpret_cast<Real*>(result.bytes.data());
  const Clock clock;
  for (Index f = 0; f < plan.frames; ++f) {
    spinloom::NlmOptions options = plan.options;
    options.progress = of_frame(o.console().progress(), f, plan.frames);
    const Index at = f * count(frame);
    options.device = device;
    spinloom::nlm<Real>({values.data + at, frame}, options, {to + at, frame}, maps);
  }
  done.seconds = clock.seconds();
  return stays ? std::move(result) : result.cast(type);
}

/// The type of the file is kept where both ends are NIfTI: scaling and all.
spinloom::SaveOptions save_options(const Options& o, const Image& head) {
  spinloom::SaveOptions save;
  save.log = o.console().log();
  if (head.nifti) save.nifti.type = spinloom::NiftiOptions::Type::stored;
  return save;
}

Done run_whole(const Options& o, spinloom::Device device) {
  Image image = spinloom::load_image(o.input, {.group = o.group, .log = o.console().log()});
  Done done;
  done.plan = plan_denoise(o.input, image.data.shape, image.data.dtype, image.geometry, o);
  image.data = done.plan.in_double ? filter_whole<double>(o, device, image, done)
                                   : filter_whole<float>(o, device, image, done);
  save_image(o.output, image, o.existing(), save_options(o, image));
  return done;
}

/// Parts of a file converted in pieces, so that they are never twice in memory.
constexpr Index piece = Index{1} << 20;

template <class Real>
class FilePlanes final : public spinloom::PlaneSource<Real> {
 public:
  FilePlanes(spinloom::ImageReader& reader, Index plane, Index offset)
      : reader_(reader), plane_(plane), offset_(offset) {}
  void read(Index first, Index planes, Real* to) override {
    const Index end = offset_ + (first + planes) * plane_;
    for (Index at = offset_ + first * plane_; at < end; at += piece) {
      const Tensor part = reader_.read(at, std::min(piece, end - at));
      if constexpr (std::is_same_v<Real, std::uint8_t>) {
        to_mask(part, to);
        to += part.size();
      } else {
        Array<Real> storage;
        const View<const Real> values = values_of<Real>(part, storage);
        to = std::copy(values.begin(), values.end(), to);
      }
    }
  }

 private:
  spinloom::ImageReader& reader_;
  Index plane_, offset_;
};

template <class Real>
class FileResult final : public spinloom::PlaneSink<Real> {
 public:
  FileResult(spinloom::ImageWriter& writer, Index plane, DType type)
      : writer_(writer), plane_(plane), type_(type) {}
  void write(Index planes, const Real* values) override {
    const Index end = planes * plane_;
    for (Index at = 0; at < end; at += piece)
      writer_.write(tensor_of<Real>(View<const Real>(values + at, {std::min(piece, end - at)}), type_));
  }

 private:
  spinloom::ImageWriter& writer_;
  Index plane_;
  DType type_;
};

constexpr std::uint64_t base_memory = std::uint64_t{64} << 20;  // of the program itself and its threads

/// As many planes as the limit allows.
template <class Real>
Index choose_planes(const Options& o, std::uint64_t limit, const DenoisePlan& plan) {
  const Shape frame = plan.frame_shape();
  const auto bytes = [&](Index planes) {
    return base_memory + static_cast<std::uint64_t>(spinloom::nlm_slab_bytes(
                             frame, plan.options, sizeof(Real), !o.mask.empty(), planes));
  };
  if (bytes(1) > limit)
    throw spinloom::ArgumentError(fmt::format(
        "{}: one plane of {} with its neighbours takes {} bytes, and the memory limit is {}; raise it, or "
        "lower --patch-distance",
        o.input, to_string(plan.spatial), bytes(1), limit));
  Index low = 1, high = frame[0] + 1;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (bytes(middle) <= limit ? low : high) = middle;
  }
  return low;
}

/// From the planes in the middle, as many as a quarter of the limit holds.
template <class Real>
double noise_of_part(const Options& o, std::uint64_t limit, spinloom::ImageReader& reader,
                     const DenoisePlan& plan) {
  Shape part = plan.frame_shape();
  const Index planes = part[0], plane = count(part) / planes;
  const auto most = static_cast<Index>(limit / 4 / sizeof(Real)) / plane;
  part[0] = std::clamp<Index>(most, std::min<Index>(4, planes), planes);
  const Index first = (planes - part[0]) / 2;
  Array<Real> values(part);
  FilePlanes<Real>(reader, plane / plan.channels, 0).read(first, part[0], values.data());
  if (part[0] < planes || plan.frames > 1)
    o.console().note(fmt::format("the noise is measured in planes {} to {} of {}", first, first + part[0] - 1,
                                 plan.frames > 1 ? "the first frame" : "the image"));
  return measured_noise<Real>(View<const Real>(values.view()), part);
}

template <class Real>
Done run_slabs(const Options& o, std::uint64_t limit, spinloom::ImageReader& reader, DType type,
               DenoisePlan plan) {
  set_strength(o.input, o, o.sigma ? 0 : noise_of_part<Real>(o, limit, reader, plan), plan);
  std::unique_ptr<spinloom::ImageReader> mask;
  if (!o.mask.empty()) {
    mask = spinloom::ImageReader::open(o.mask, o.console().log());
    if (!mask)
      throw spinloom::ArgumentError(
          o.mask + ": has to be npy in C order or NIfTI that is not packed, to be read in parts");
    require_mask_shape(o.mask, mask->shape(), plan, reader.shape());
  }
  const Index planes = choose_planes<Real>(o, limit, plan);
  const Shape frame = plan.frame_shape();
  const Index plane = plan.frame_voxels() / frame[0];
  spinloom::ImageWriter writer(o.output, reader.head(), reader.shape(), type, o.existing(),
                               save_options(o, reader.head()));
  FileResult<Real> sink(writer, plane * plan.channels, type);
  const Clock clock;
  for (Index f = 0; f < plan.frames; ++f) {
    spinloom::NlmOptions options = plan.options;
    options.progress = of_frame(o.console().progress(), f, plan.frames);
    FilePlanes<Real> source(reader, plane, f * plan.frame_voxels());
    std::optional<FilePlanes<std::uint8_t>> mask_planes;
    if (mask) mask_planes.emplace(*mask, plane, 0);
    spinloom::nlm_slabs<Real>(frame, source, options, sink, planes, mask_planes ? &*mask_planes : nullptr);
  }
  Done done{plan, clock.seconds(), plan.frames * ((frame[0] + planes - 1) / planes)};
  writer.commit();
  return done;
}

/// In slabs where the whole would not fit; the files must allow it then.
Done denoise(const Options& o, spinloom::Device device) {
  const auto reader = spinloom::ImageReader::open(o.input);
  if (!reader) {
    if (o.memory_limit > 0)
      throw spinloom::ArgumentError(o.input +
                                    ": a memory limit needs a file that can be read in parts: npy in C order "
                                    "or NIfTI that is not packed");
    return run_whole(o, device);
  }
  const std::uint64_t limit =
      o.memory_limit > 0
          ? o.memory_limit
          : static_cast<std::uint64_t>(spinloom::detect_hardware().memory_available_bytes) / 10 * 9;
  const Tensor sample = reader->read(0, count(reader->shape()) > 0 ? 1 : 0);
  DenoisePlan plan = plan_denoise(o.input, reader->shape(), sample.dtype, reader->head().geometry, o);
  const Index item = item_size(sample.dtype), working = plan.channels * (plan.in_double ? 8 : 4);
  const auto whole = base_memory + static_cast<std::uint64_t>(count(reader->shape())) *
                                       static_cast<std::uint64_t>(item + working * (item == working ? 1 : 2));
  if (whole <= limit) return run_whole(o, device);
  if (device.kind == spinloom::DeviceKind::reference)
    throw spinloom::ArgumentError(
        o.input + ": slabs are filtered on the CPU or a GPU; choose --device cpu, or raise --memory-limit");
  plan.options.device = device;
  return plan.in_double ? run_slabs<double>(o, limit, *reader, sample.dtype, plan)
                        : run_slabs<float>(o, limit, *reader, sample.dtype, plan);
}

std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

void run(const Options& o) {
  const spinloom::Device device = o.start(Common::Gpu::accepted);
  const Done done = denoise(o, device);
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
                     {"memory_bytes", peak_memory()}};
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
  auto o = std::make_shared<Options>();
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
