#include <cmath>
#include <numbers>

#include "recon/operators.hpp"
#include "spinloom/fft/fft.hpp"

namespace spinloom {
namespace {

/// exp(-2 pi i k c / N) over the axes, c = floor(N / 2): moves the image's centre from voxel 0 to voxel c.
cfloat centre_phase(const Trajectory& k, const Shape& matrix, Index m) {
  double turns = 0;
  for (int d = 0; d < k.dims(); ++d) {
    const Index n = matrix[static_cast<std::size_t>(d)];
    turns -= std::rint(k.axis(d)[m]) * double(n / 2) / double(n);
  }
  return cfloat(std::polar(1.0, 2 * std::numbers::pi * (turns - std::rint(turns))));
}

}  // namespace

Array<cfloat> inverse_fft_images(const Measurement& m, View<const double> weights) {
  const Index samples = m.samples(), voxels = count(m.matrix);
  auto images = Array<cfloat>::zeros(prepend(m.coils(), m.matrix));
  std::vector<Index> cell;
  std::vector<cfloat> factor;
  for (Index i = 0; i < samples; ++i) {
    cell.push_back(nearest_cell(*m.trajectory, m.matrix, i));
    factor.push_back(centre_phase(*m.trajectory, m.matrix, i) *
                     static_cast<float>(weights[i] / std::sqrt(double(voxels))));
  }
  const Fft<float> fft(m.matrix);
  for (Index c = 0; c < m.coils(); ++c) {
    const View<cfloat> grid = images.view().slice(c);
    for (Index i = 0; i < samples; ++i)
      grid[cell[static_cast<std::size_t>(i)]] += factor[static_cast<std::size_t>(i)] * m.kspace[c * samples + i];
    fft.inverse(grid);
  }
  return images;
}

}  // namespace spinloom
