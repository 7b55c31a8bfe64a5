#include <fmt/format.h>

#include <algorithm>

#include "denoise_run.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/nlm/estimate_sigma.hpp"

using spinloom::Array;
using spinloom::count;
using spinloom::DType;
using spinloom::Image;
using spinloom::Index;
using spinloom::Shape;
using spinloom::Tensor;
using spinloom::to_string;
using spinloom::View;

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

template double measured_noise(View<const float>, const Shape&);
template double measured_noise(View<const double>, const Shape&);

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

spinloom::Progress of_frame(const spinloom::Progress& progress, Index frame, Index frames) {
  if (!progress) return {};
  return [=](const std::string& stage, double share, const std::string&) {
    progress(stage, (static_cast<double>(frame) + share) / static_cast<double>(frames),
             frames > 1 ? fmt::format("frame {} of {}", frame + 1, frames) : "");
  };
}

spinloom::SaveOptions denoise_save_options(const DenoiseOptions& o, const Image& head) {
  spinloom::SaveOptions save;
  save.log = o.console().log();
  if (head.nifti) save.nifti.type = spinloom::NiftiOptions::Type::stored;
  return save;
}

namespace {

template <class Real>
Tensor filter_whole(const DenoiseOptions& o, spinloom::Device device, const Image& image, DenoiseDone& done) {
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
    to_mask(o.mask, loaded.data, mask.data());
    maps.mask = mask.view();
  }
  // Filtered where it stays, as often as the type allows: a large image has no room for a third copy.
  const DType type = image.data.dtype;
  const bool stays = is_complex(type) || type == Tensor::dtype_of<Real>();
  Tensor result(stays ? type : Tensor::dtype_of<Real>(), image.data.shape);
  auto* to = reinterpret_cast<Real*>(result.bytes.data());
  const DenoiseClock clock;
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

}  // namespace

DenoiseDone denoise_whole(const DenoiseOptions& o, spinloom::Device device) {
  Image image = spinloom::load_image(o.input, {.group = o.group, .log = o.console().log()});
  DenoiseDone done;
  done.plan = plan_denoise(o.input, image.data.shape, image.data.dtype, image.geometry, o);
  image.data = done.plan.in_double ? filter_whole<double>(o, device, image, done)
                                   : filter_whole<float>(o, device, image, done);
  save_image(o.output, image, o.existing(), denoise_save_options(o, image));
  return done;
}
