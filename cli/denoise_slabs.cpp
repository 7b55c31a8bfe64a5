#include <fmt/format.h>

#include <algorithm>

#include "denoise_run.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/nlm/slabs.hpp"

using spinloom::Array;
using spinloom::count;
using spinloom::DType;
using spinloom::Image;
using spinloom::Index;
using spinloom::Shape;
using spinloom::Tensor;
using spinloom::to_string;
using spinloom::View;

namespace {

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

/// Parts of a file converted in pieces, so that they are never twice in memory.
constexpr Index piece = Index{1} << 20;

template <class Real>
class FilePlanes final : public spinloom::PlaneSource<Real> {
 public:
  FilePlanes(spinloom::ImageReader& reader, std::string path, Index plane, Index offset)
      : reader_(reader), path_(std::move(path)), plane_(plane), offset_(offset) {}
  void read(Index first, Index planes, Real* to) override {
    const Index end = offset_ + (first + planes) * plane_;
    for (Index at = offset_ + first * plane_; at < end; at += piece) {
      const Tensor part = reader_.read(at, std::min(piece, end - at));
      if constexpr (std::is_same_v<Real, std::uint8_t>) {
        to_mask(path_, part, to);
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
  std::string path_;
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

/// As many planes as the limit allows.
template <class Real>
Index choose_planes(const DenoiseOptions& o, std::uint64_t limit, const DenoisePlan& plan) {
  const Shape frame = plan.frame_shape();
  const auto bytes = [&](Index planes) {
    return denoise_base_memory + static_cast<std::uint64_t>(spinloom::nlm_slab_bytes(
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
double noise_of_part(const DenoiseOptions& o, std::uint64_t limit, spinloom::ImageReader& reader,
                     const DenoisePlan& plan) {
  Shape part = plan.frame_shape();
  const Index planes = part[0], plane = count(part) / planes;
  const auto most = static_cast<Index>(limit / 4 / sizeof(Real)) / plane;
  part[0] = std::clamp<Index>(most, std::min<Index>(4, planes), planes);
  const Index first = (planes - part[0]) / 2;
  Array<Real> values(part);
  FilePlanes<Real>(reader, o.input, plane / plan.channels, 0).read(first, part[0], values.data());
  if (part[0] < planes || plan.frames > 1)
    o.console().note(fmt::format("the noise is measured in planes {} to {} of {}", first, first + part[0] - 1,
                                 plan.frames > 1 ? "the first frame" : "the image"));
  return measured_noise<Real>(View<const Real>(values.view()), part);
}

}  // namespace

template <class Real>
DenoiseDone denoise_slabs(const DenoiseOptions& o, std::uint64_t limit, spinloom::ImageReader& reader,
                          DType type, DenoisePlan plan) {
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
                               denoise_save_options(o, reader.head()));
  FileResult<Real> sink(writer, plane * plan.channels, type);
  DenoiseDone done{plan, 0, 0};
  const DenoiseClock clock;
  for (Index f = 0; f < plan.frames; ++f) {
    spinloom::NlmOptions options = plan.options;
    options.progress = of_frame(o.console().progress(), f, plan.frames);
    FilePlanes<Real> source(reader, o.input, plane, f * plan.frame_voxels());
    std::optional<FilePlanes<std::uint8_t>> mask_planes;
    if (mask) mask_planes.emplace(*mask, o.mask, plane, 0);
    done.slabs += spinloom::nlm_slabs<Real>(frame, source, options, sink, planes,
                                            mask_planes ? &*mask_planes : nullptr);
  }
  done.seconds = clock.seconds();
  writer.commit();
  return done;
}

template DenoiseDone denoise_slabs<float>(const DenoiseOptions&, std::uint64_t, spinloom::ImageReader&, DType,
                                          DenoisePlan);
template DenoiseDone denoise_slabs<double>(const DenoiseOptions&, std::uint64_t, spinloom::ImageReader&,
                                           DType, DenoisePlan);
