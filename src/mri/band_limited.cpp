#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/mri/ellipsoids.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

/// x[.., n, ..] = sum_k y[.., k, ..] exp(sign 2 pi i (k - c) (n - c) / N) along one axis, c = floor(N / 2):
/// exact for any N, and at N^2 per line still far below the cost of simulating a scan.
void transform_axis(Array<cdouble>& image, std::size_t axis, int sign) {
  const Shape& shape = image.shape();
  const Index n = shape[axis], c = n / 2;
  Index inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<cdouble> unit(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i)
    unit[static_cast<std::size_t>(i)] = std::polar(1.0, sign * 2 * std::numbers::pi * double(i) / double(n));

  // Lines side by side in memory go through together: the inner loop is contiguous for every axis but the
  // last.
  constexpr Index width = 16;
  const Index bundles = (inner + width - 1) / width, outer = image.size() / (n * inner);
  parallel_blocks(outer * bundles, 1, [&](Index begin, Index end, int) {
    std::vector<cdouble> in(static_cast<std::size_t>(n * width)), sum(width);
    for (Index b = begin; b < end; ++b) {
      const Index first = b % bundles * width, lines = std::min(width, inner - first);
      cdouble* base = image.data() + b / bundles * n * inner + first;
      for (Index k = 0; k < n; ++k) std::copy_n(base + k * inner, lines, in.data() + k * width);
      for (Index i = 0; i < n; ++i) {
        std::fill(sum.begin(), sum.end(), cdouble(0));
        const Index step = (i - c + n) % n;
        Index turn = (n - c) % n * step % n;  // (k - c)(i - c) mod N, at k = 0
        for (Index k = 0; k < n; ++k) {
          const cdouble w = unit[static_cast<std::size_t>(turn)];
          const cdouble* line = in.data() + k * width;
          for (Index l = 0; l < lines; ++l) sum[static_cast<std::size_t>(l)] += w * line[l];
          turn += step;
          if (turn >= n) turn -= n;
        }
        std::copy_n(sum.data(), lines, base + i * inner);
      }
    }
  });
}

void require_image(const Shape& matrix) {
  const bool fits = (matrix.size() == 2 || matrix.size() == 3) &&
                    std::all_of(matrix.begin(), matrix.end(), [](Index n) { return n >= 1; });
  if (!fits)
    throw ShapeError(
        fmt::format("band-limited image: matrix {}, expected [y, x] or [z, y, x] with at least 1 voxel "
                    "per axis",
                    to_string(matrix)));
}

/// Grid position of flat index n, as k.
void grid_point(const Shape& matrix, Index n, double* k) {
  for (std::size_t d = matrix.size(); d-- > 0;) {
    k[d] = double(n % matrix[d] - matrix[d] / 2);
    n /= matrix[d];
  }
}

}  // namespace

bool inside(KSpaceSupport support, const Shape& matrix, const double* k) {
  const std::size_t first = support == KSpaceSupport::cylinder && matrix.size() == 3 ? 1 : 0;
  double square = 0;
  for (std::size_t d = 0; d < matrix.size(); ++d) {
    const double share = 2 * k[d] / double(matrix[d]);
    if (support == KSpaceSupport::box || d < first) {
      if (std::abs(share) > 1 + 1e-9) return false;
    } else {
      square += share * share;
    }
  }
  return square <= 1 + 1e-9;
}

Array<cdouble> band_limited_image(const Phantom& phantom, const Shape& matrix, KSpaceSupport support) {
  require_image(matrix);
  auto image = Array<cdouble>::zeros(matrix);
  const auto dims = matrix.size();
  // Plane by plane: positions and values of a whole grid would take three times the image's memory.
  const Index plane = image.size() / matrix[0];
  for (Index first = 0; first < image.size(); first += plane) {
    std::vector<Index> members;
    std::vector<double> k;
    for (Index n = first; n < first + plane; ++n) {
      double at[3];
      grid_point(matrix, n, at);
      if (!inside(support, matrix, at)) continue;
      members.push_back(n);
      k.insert(k.end(), at, at + dims);
    }
    Array<double> positions({static_cast<Index>(dims), static_cast<Index>(members.size())});
    for (std::size_t m = 0; m < members.size(); ++m)
      for (std::size_t d = 0; d < dims; ++d)
        positions[static_cast<Index>(d * members.size() + m)] = k[m * dims + d];
    const auto values = phantom_kspace(phantom, Trajectory(std::move(positions)), matrix);
    for (std::size_t m = 0; m < members.size(); ++m) image[members[m]] = values[static_cast<Index>(m)];
  }
  for (std::size_t d = 0; d < dims; ++d) transform_axis(image, d, +1);
  for (cdouble& v : image) v /= double(image.size());  // phantom_kspace() counts voxels
  return image;
}

Array<cdouble> band_limited_image(View<const cdouble> voxels, KSpaceSupport support) {
  require_image(voxels.shape);
  auto image = Array<cdouble>::copy_of(voxels);
  if (support == KSpaceSupport::box) return image;  // the whole grid: nothing is lost
  for (std::size_t d = 0; d < voxels.shape.size(); ++d) transform_axis(image, d, -1);
  for (Index n = 0; n < image.size(); ++n) {
    double at[3];
    grid_point(voxels.shape, n, at);
    image[n] = inside(support, voxels.shape, at) ? image[n] / double(image.size()) : 0.0;
  }
  for (std::size_t d = 0; d < voxels.shape.size(); ++d) transform_axis(image, d, +1);
  return image;
}

}  // namespace spinloom
