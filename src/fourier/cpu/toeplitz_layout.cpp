#include <algorithm>
#include <cmath>
#include <numbers>

#include "fourier/cpu/toeplitz_kernels.hpp"

namespace spinloom::cpu {

template <class Real>
ToeplitzLayout<Real>::ToeplitzLayout(const std::array<Index, 3>& size)
    : image(size),
      n{next_smooth(size[0]), next_smooth(size[1]), next_smooth(size[2])},
      halves{size[0] > 1 ? 2 : 1, size[1] > 1 ? 2 : 1, size[2] > 1 ? 2 : 1},
      plans{LanePlan<Real>(n[0]), LanePlan<Real>(n[1]), LanePlan<Real>(n[2])},
      x_blocks((size[2] + lanes<Real> - 1) / lanes<Real>),
      y_groups((n[1] + lanes<Real> - 1) / lanes<Real>),
      plane_blocks(size[1] * x_blocks) {
  // Columns along z step from plane to plane: at a power of two all would share a few cache sets.
  if (plane_blocks % 8 == 0) plane_blocks += 3;
  for (std::size_t d = 0; d < 3; ++d)
    for (Index j = 0; j < n[d]; ++j) {
      const double angle = -std::numbers::pi * double(j) / double(n[d]);
      modulation[d].push_back(static_cast<Real>(std::cos(angle)));
      modulation[d].push_back(static_cast<Real>(std::sin(angle)));
    }
}

template <class Real>
Index ToeplitzLayout<Real>::scratch_reals() const {
  // z: three columns; plane: two sets of y columns, three x bundles and the scratch of a transform.
  const Index columns = x_blocks * y_groups * lanes<Real>;
  const Index bundle = std::max(n[2], x_blocks * lanes<Real>);
  const Index longest = *std::max_element(n.begin(), n.end());
  return (2 * columns + 3 * std::max(bundle, n[0]) + 2 * longest) * block_reals<Real>;
}

template <class Real>
Index ToeplitzLayout<Real>::spectrum_index(Index kz, Index ky, Index kx) const {
  const Index plane = kz % halves[0] * n[0] + kz / halves[0];
  const Index y = ky / halves[1], group = y / lanes<Real>, lane = y % lanes<Real>;
  return ((((plane * halves[1] + ky % halves[1]) * y_groups + group) * halves[2] + kx % halves[2]) * n[2] +
          kx / halves[2]) *
             lanes<Real> +
         lane;
}

template struct ToeplitzLayout<float>;
template struct ToeplitzLayout<double>;

}  // namespace spinloom::cpu
