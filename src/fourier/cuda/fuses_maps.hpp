#pragma once
#include <complex>

#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// What a normal operator F^H W F of several coils on a GPU may be besides: one that takes coil maps in its stride,
///   out = scale sum_c conj(maps[c]) F^H W F (maps[c] x),
/// reading x and the maps as it reads its input, and adding the coils as it writes.
template <class Real>
class FusesMaps {
 public:
  using Complex = std::complex<Real>;
  virtual ~FusesMaps() = default;
  /// maps: [coils, matrix...] with the operator's own number of coils; x and out: [matrix...], apart. All on its GPU. Only
  /// issues work, which may be recorded.
  /// dots, unless null: dot_count() numbers whose sum, in their order, is the real part of <x, out>.
  virtual void apply_with_maps(const Complex* maps, const Complex* x, Real scale, Complex* out,
                               double* dots) const = 0;
  virtual Index dot_count() const = 0;  ///< 0: it gives none
};

}  // namespace spinloom::cuda
