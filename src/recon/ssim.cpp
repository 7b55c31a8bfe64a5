#include "recon/ssim.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index radius = 5;
constexpr double sigma = 1.5;

std::array<double, 2 * radius + 1> gaussian() {
  std::array<double, 2 * radius + 1> w{};
  double sum = 0;
  for (Index i = -radius; i <= radius; ++i)
    sum += w[std::size_t(i + radius)] = std::exp(-0.5 * double(i * i) / (sigma * sigma));
  for (double& v : w) v /= sum;
  return w;
}

/// Weighted mean over the window along the rows' direction: out[j] over rows j - 5 .. j + 5, `width` values
/// at a time.
void blur_columns(const double* in, double* out, Index height, Index width) {
  static const auto weight = gaussian();
  for (Index y = 0; y < height; ++y) {
    double* row = out + y * width;
    std::fill(row, row + width, 0.0);
    double sum = 0;
    for (Index o = std::max(-radius, -y); o <= std::min(radius, height - 1 - y); ++o) {
      const double w = weight[std::size_t(o + radius)];
      const double* from = in + (y + o) * width;
      sum += w;
      for (Index x = 0; x < width; ++x) row[x] += w * from[x];
    }
    if (y < radius || y >= height - radius)
      for (Index x = 0; x < width; ++x) row[x] /= sum;
  }
}

void blur_rows(const double* in, double* out, Index height, Index width) {
  static const auto weight = gaussian();
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < width; ++x) {
      const double* from = in + y * width + x;
      double value = 0, sum = 0;
      for (Index o = std::max(-radius, -x); o <= std::min(radius, width - 1 - x); ++o) {
        value += weight[std::size_t(o + radius)] * from[o];
        sum += weight[std::size_t(o + radius)];
      }
      out[y * width + x] = x < radius || x >= width - radius ? value / sum : value;
    }
}

struct Sums {
  double inside = 0, all = 0;
  Index inside_count = 0, all_count = 0;
};

Sums slice_ssim(const double* a, const double* b, const std::uint8_t* mask, Index height, Index width,
                double c1, double c2, std::vector<double>& scratch) {
  const auto size = static_cast<std::size_t>(height * width);
  scratch.resize(7 * size);
  double* const product = scratch.data();
  double* const half = product + size;
  double* const mean[5] = {half + size, half + 2 * size, half + 3 * size, half + 4 * size, half + 5 * size};
  for (int moment = 0; moment < 5; ++moment) {
    for (std::size_t i = 0; i < size; ++i)
      product[i] = moment == 0   ? a[i]
                   : moment == 1 ? b[i]
                   : moment == 2 ? a[i] * a[i]
                   : moment == 3 ? b[i] * b[i]
                                 : a[i] * b[i];
    blur_columns(product, half, height, width);
    blur_rows(half, mean[moment], height, width);
  }
  Sums sums;
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < width; ++x) {
      const Index i = y * width + x;
      if (mask != nullptr && mask[i] == 0) continue;
      const double ma = mean[0][i], mb = mean[1][i];
      const double va = mean[2][i] - ma * ma, vb = mean[3][i] - mb * mb, cov = mean[4][i] - ma * mb;
      const double s = (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
      sums.all += s;
      ++sums.all_count;
      if (y < radius || x < radius || y >= height - radius || x >= width - radius) continue;
      sums.inside += s;
      ++sums.inside_count;
    }
  return sums;
}

}  // namespace

double mean_ssim(View<const double> image, View<const double> reference, const std::uint8_t* mask,
                 double dynamic_range) {
  // Two images of zeros are equal; every quotient would be 0 / 0.
  if (dynamic_range == 0)
    return std::all_of(image.begin(), image.end(), [](double v) { return v == 0; }) ? 1 : 0;
  Shape shape = image.shape;
  while (shape.size() < 2) shape.insert(shape.begin(), 1);
  const Index width = shape.back(), height = shape[shape.size() - 2],
              slices = image.size() / (width * height);
  const double c1 = std::pow(0.01 * dynamic_range, 2), c2 = std::pow(0.03 * dynamic_range, 2);

  std::vector<Sums> parts(static_cast<std::size_t>(slices));
  std::vector<std::vector<double>> scratch(static_cast<std::size_t>(thread_count()));
  parallel_blocks(slices, 1, [&](Index slice, Index, int thread) {
    const Index at = slice * width * height;
    parts[std::size_t(slice)] =
        slice_ssim(image.data + at, reference.data + at, mask == nullptr ? nullptr : mask + at, height, width,
                   c1, c2, scratch[std::size_t(thread)]);
  });
  Sums total;
  for (const Sums& part : parts) {
    total.inside += part.inside, total.inside_count += part.inside_count;
    total.all += part.all, total.all_count += part.all_count;
  }
  return total.inside_count > 0 ? total.inside / double(total.inside_count)
                                : total.all / double(total.all_count);
}

}  // namespace spinloom
