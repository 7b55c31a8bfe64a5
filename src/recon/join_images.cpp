#include "spinloom/recon/join_images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "spinloom/core/error.hpp"

namespace spinloom {

Array<cfloat> crop_image(const Array<cfloat>& image, const Shape& to) {
  const Shape& from = image.shape();
  if (from == to) return image.clone();
  Array<cfloat> out(to);
  for (Index i = 0; i < out.size(); ++i) {
    Index rest = i, source = 0, step = 1;
    for (std::size_t d = to.size(); d-- > 0;) {
      source += (crop_start(from[d], to[d]) + rest % to[d]) * step;
      rest /= to[d];
      step *= from[d];
    }
    out[i] = image[source];
  }
  return out;
}

Image join_images(const std::vector<Measurement>& measurements, std::vector<Array<cfloat>> images) {
  const Shape& size = images.front().shape();
  std::set<int> slices;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].shape() != size)
      throw ShapeError(
          fmt::format("image {} of the scan has shape {}, the first {}; give --matrix to make them alike", i,
                      to_string(images[i].shape()), to_string(size)));
    slices.insert(measurements[i].label.slice);
  }
  // Labels are sorted by frame first and slice last, so a complete set of slices lies in order already.
  const Index total = static_cast<Index>(images.size());
  const Index planes = size.size() == 2 ? static_cast<Index>(slices.size()) : 1;
  if (total % planes != 0)
    throw FormatError(
        fmt::format("{} images do not divide over {} slices: some frame lacks a slice", total, planes));
  Shape shape = size.size() == 2 ? Shape{total / planes, planes, size[0], size[1]}
                                 : Shape{total, size[0], size[1], size[2]};
  if (shape[0] == 1) shape.erase(shape.begin());
  Array<cfloat> all(shape);
  for (std::size_t i = 0; i < images.size(); ++i)
    std::copy(images[i].begin(), images[i].end(), all.begin() + static_cast<Index>(i) * images[i].size());
  Image image;
  image.data = Tensor::copy_of(all);
  image.geometry = measurements.front().geometry;
  return image;
}

}  // namespace spinloom
