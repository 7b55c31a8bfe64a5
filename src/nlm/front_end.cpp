#include "spinloom/nlm/front_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

std::size_t resolved(std::optional<Index> channel_axis, std::size_t axes) {
  const auto n = static_cast<Index>(axes);
  const Index axis = *channel_axis < 0 ? *channel_axis + n : *channel_axis;
  if (axis < 0 || axis >= n)
    throw ArgumentError(fmt::format("nlm: channel_axis is {}, expected {} to {} for an image of {} axes",
                                    *channel_axis, -n, n - 1, n));
  return static_cast<std::size_t>(axis);
}

/// An array seen as [before, channels, after]: the channel axis with what lies before and behind it.
struct Split {
  Index before, channels, after;
};

Split split_at(const Shape& image, std::optional<Index> channel_axis) {
  if (!channel_axis) return {count(image), 1, 1};
  const auto axis = static_cast<std::ptrdiff_t>(resolved(channel_axis, image.size()));
  return {count(Shape(image.begin(), image.begin() + axis)), image[static_cast<std::size_t>(axis)],
          count(Shape(image.begin() + axis + 1, image.end()))};
}

/// body(index with the channels at their axis, index with them last) for all elements.
template <class Body>
void for_each_pair(const Split& s, const Body& body) {
  const Index pixels = s.before * s.after;
  parallel_blocks(pixels, 1 << 16, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      const Index before = i / s.after, after = i % s.after;
      for (Index c = 0; c < s.channels; ++c)
        body((before * s.channels + c) * s.after + after, i * s.channels + c);
    }
  });
}

template <class From>
double scaled(From value) {
  if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool>) {
    const double v =
        static_cast<double>(value) * (1.0 / static_cast<double>(std::numeric_limits<From>::max()));
    return std::is_signed_v<From> ? std::max(v, -1.0) : v;
  } else {
    return static_cast<double>(value);
  }
}

}  // namespace

Shape nlm_working_shape(const Shape& image, std::optional<Index> channel_axis) {
  Shape shape = image;
  Index channels = 1;
  if (channel_axis) {
    const auto axis = static_cast<std::ptrdiff_t>(resolved(channel_axis, image.size()));
    channels = image[static_cast<std::size_t>(axis)];
    shape.erase(shape.begin() + axis);
  }
  if (shape.size() < 2 || shape.size() > 4)
    throw ShapeError(fmt::format("nlm: image has shape {}{}, expected 2 to 4 spatial axes{}",
                                 to_string(image),
                                 channel_axis ? fmt::format(" with channel axis {}", *channel_axis) : "",
                                 channel_axis ? "" : "; name the channel axis where there is one"));
  shape.push_back(channels);
  return shape;
}

template <class From, class Real>
void nlm_import(View<const From> image, std::optional<Index> channel_axis, NlmRange range,
                View<Real> values) {
  require_shape("nlm_import", "values", values.shape, nlm_working_shape(image.shape, channel_axis));
  for_each_pair(split_at(image.shape, channel_axis), [&](Index here, Index last) {
    values[last] =
        range == NlmRange::scale ? static_cast<Real>(scaled(image[here])) : static_cast<Real>(image[here]);
  });
}

template <class Real>
void nlm_export(View<const Real> filtered, std::optional<Index> channel_axis, View<Real> image) {
  require_shape("nlm_export", "filtered", filtered.shape, nlm_working_shape(image.shape, channel_axis));
  for_each_pair(split_at(image.shape, channel_axis),
                [&](Index here, Index last) { image[here] = filtered[last]; });
}

template <class Real>
Array<Real> nlm_export_squeezed(View<const Real> filtered, std::optional<Index> channel_axis, NlmMode mode) {
  Shape shape = filtered.shape;
  const std::size_t axes = shape.size();
  if (mode == NlmMode::fast || axes == 3)
    shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  else
    shape.pop_back();
  const std::size_t axis = channel_axis ? resolved(channel_axis, axes) : axes - 1;
  if (axis == axes - 1 || filtered.size() == 1) {
    if (axis != axes - 1) throw ShapeError("nlm: scikit-image cannot move an axis of a result that has none");
    return Array<Real>::copy_of(filtered.reshaped(shape));
  }
  if (axis >= shape.size())
    throw ShapeError(
        fmt::format("nlm: scikit-image squeezes the result to {}, which has no axis {} for the channels",
                    to_string(shape), axis));
  // The last axis, whatever it is by now, goes to where the channels were.
  Shape moved(shape.begin(), shape.end() - 1);
  moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(axis), shape.back());
  Array<Real> result(moved);
  for_each_pair(split_at(moved, static_cast<Index>(axis)),
                [&](Index here, Index last) { result[here] = filtered[last]; });
  return result;
}

#define SPINLOOM_IMPORT(From)                                                              \
  template void nlm_import(View<const From>, std::optional<Index>, NlmRange, View<float>); \
  template void nlm_import(View<const From>, std::optional<Index>, NlmRange, View<double>);
SPINLOOM_IMPORT(bool)
SPINLOOM_IMPORT(std::int8_t)
SPINLOOM_IMPORT(std::uint8_t)
SPINLOOM_IMPORT(std::int16_t)
SPINLOOM_IMPORT(std::uint16_t)
SPINLOOM_IMPORT(std::int32_t)
SPINLOOM_IMPORT(std::uint32_t)
SPINLOOM_IMPORT(std::int64_t)
SPINLOOM_IMPORT(std::uint64_t)
SPINLOOM_IMPORT(float)
SPINLOOM_IMPORT(double)
#undef SPINLOOM_IMPORT
template void nlm_export(View<const float>, std::optional<Index>, View<float>);
template void nlm_export(View<const double>, std::optional<Index>, View<double>);
template Array<float> nlm_export_squeezed(View<const float>, std::optional<Index>, NlmMode);
template Array<double> nlm_export_squeezed(View<const double>, std::optional<Index>, NlmMode);

}  // namespace spinloom
