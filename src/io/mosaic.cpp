#include "spinloom/io/mosaic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "spinloom/core/error.hpp"
#include "spinloom/io/image.hpp"

namespace spinloom {
namespace {

constexpr Index most_slices = 36;

/// The image as [z, y, x]; of more axes the first volume.
Tensor first_volume(const Tensor& image, const Log& log) {
  Shape shape = without_leading_ones(image.shape);
  const std::size_t extra = shape.size() > 3 ? shape.size() - 3 : 0;
  const Shape outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(extra));
  Shape volume(shape.begin() + static_cast<std::ptrdiff_t>(extra), shape.end());
  while (volume.size() < 3) volume.insert(volume.begin(), 1);
  Tensor first(image.dtype, volume);
  if (first.size() == 0 || image.size() == 0)
    throw ShapeError(fmt::format("the image has shape {}: there is nothing to draw", to_string(image.shape)));
  std::copy_n(image.bytes.begin(), first.bytes.size(), first.bytes.begin());
  if (extra > 0)
    note(log, fmt::format("the image has shape {}: the first of {} volumes is drawn", to_string(image.shape),
                          count(outer)));
  return first;
}

std::vector<Index> choose_slices(Index total, const MosaicOptions& options, const Log& log) {
  if (options.slice >= total)
    throw ArgumentError(
        fmt::format("slice {} was asked for, but the image has slices 0 to {} along this axis", options.slice,
                    total - 1));
  if (options.slice >= 0) return {options.slice};
  const Index drawn = std::min(total, most_slices);
  std::vector<Index> slices(static_cast<std::size_t>(drawn));
  for (Index i = 0; i < drawn; ++i) slices[std::size_t(i)] = (2 * i + 1) * total / (2 * drawn);
  if (drawn < total) note(log, fmt::format("{} of {} slices are drawn", drawn, total));
  return slices;
}

/// Where slices and their rows and columns lie in [z, y, x].
struct Cut {
  Index height, width, slice_stride, row_stride, column_stride;
};
Cut cut_across(int axis, const Shape& shape) {
  const Index plane = shape[1] * shape[2], row = shape[2];
  if (axis == 0) return {shape[1], shape[2], plane, row, 1};
  if (axis == 1) return {shape[0], shape[2], row, plane, 1};
  if (axis == 2) return {shape[0], shape[1], 1, plane, row};
  throw ArgumentError(fmt::format("axis {} was asked for, expected 0 (z), 1 (y) or 2 (x)", axis));
}

/// Calls body(pixel index in the mosaic, element index in the volume).
template <class Body>
void for_each_pixel(const Cut& cut, const std::vector<Index>& slices, Index columns, const Body& body) {
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const Index top = static_cast<Index>(s) / columns * cut.height,
                left = static_cast<Index>(s) % columns * cut.width;
    for (Index y = 0; y < cut.height; ++y)
      for (Index x = 0; x < cut.width; ++x)
        body((top + y) * columns * cut.width + left + x,
             slices[s] * cut.slice_stride + y * cut.row_stride + x * cut.column_stride);
  }
}

Window percentile_window(std::vector<float> values) {
  if (values.empty()) return {0, 1};
  const auto at = [&](double share) {
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * double(values.size() - 1));
    std::nth_element(values.begin(), place, values.end());
    return double(*place);
  };
  Window w{at(0.01), at(0.995)};
  if (!(w.low < w.high))
    w = {*std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end())};
  // A constant image is drawn white, or black when it is zero.
  if (!(w.low < w.high)) w = w.high > 0 ? Window{0, w.high} : Window{w.high, w.high + 1};
  return w;
}

}  // namespace

Mosaic make_mosaic(const Tensor& image, const MosaicOptions& options, const Log& log) {
  if (options.phase && !is_complex(image.dtype))
    throw ArgumentError(fmt::format("the image holds {}, so that it has no phase", to_string(image.dtype)));
  const Tensor volume = first_volume(image, log);
  const Cut cut = cut_across(options.axis, volume.shape);
  Mosaic mosaic;
  mosaic.slices = choose_slices(volume.shape[std::size_t(options.axis)], options, log);
  const auto total = static_cast<Index>(mosaic.slices.size());
  const Index columns =
      std::min(total, options.columns > 0 ? options.columns : Index(std::ceil(std::sqrt(double(total)))));
  const Shape size{(total + columns - 1) / columns * cut.height, columns * cut.width};

  if (is_colour(volume.dtype)) {
    mosaic.pixels = Tensor(DType::rgb24, size);
    std::fill(mosaic.pixels.bytes.begin(), mosaic.pixels.bytes.end(), std::byte{0});
    const Index step = item_size(volume.dtype);
    for_each_pixel(cut, mosaic.slices, columns, [&](Index to, Index from) {
      std::copy_n(volume.bytes.begin() + step * from, 3, mosaic.pixels.bytes.begin() + 3 * to);
    });
    mosaic.window = {0, 255};
    return mosaic;
  }

  const auto values = volume.to<float>(options.phase ? ComplexPart::phase : ComplexPart::magnitude);
  std::vector<float> drawn;
  Index broken = 0;
  for_each_pixel(cut, mosaic.slices, columns, [&](Index, Index from) {
    if (std::isfinite(values[from]))
      drawn.push_back(values[from]);
    else
      ++broken;
  });
  if (broken > 0) warn(log, fmt::format("{} of the values drawn are not finite; they are black", broken));
  mosaic.window = options.window  ? *options.window
                  : options.phase ? Window{-std::numbers::pi, std::numbers::pi}
                                  : percentile_window(std::move(drawn));
  mosaic.pixels = Tensor(DType::u8, size);
  std::fill(mosaic.pixels.bytes.begin(), mosaic.pixels.bytes.end(), std::byte{0});
  const double gain = 255 / (mosaic.window.high - mosaic.window.low);
  for_each_pixel(cut, mosaic.slices, columns, [&](Index to, Index from) {
    const double grey = std::clamp((double(values[from]) - mosaic.window.low) * gain, 0.0, 255.0);
    if (std::isfinite(values[from])) mosaic.pixels.bytes[to] = std::byte(std::lround(grey));
  });
  return mosaic;
}

}  // namespace spinloom
