#pragma once
#include <memory>

#include "fourier/time_interpolation.hpp"
#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom {

/// What time segments multiply with, on the device that their arrays are on. All views are there, and checked.
///   exp(-2 pi i f t) = sum_l sample(l) voxel(l),  voxel(l) = exp(-2 pi i (f - f_c) t_l),
///   sample(l) = exp(-2 pi i f_c t) a_l(t),  f_c the middle of the map's range
template <class Real>
class SegmentFactors {
 public:
  using Complex = std::complex<Real>;
  virtual ~SegmentFactors() = default;
  virtual void voxel(Index l, View<Complex> factors) const = 0;
  virtual void sample(Index l, View<Complex> factors) const = 0;

  enum class Way { as_it_is, conjugated };
  enum class Into { fresh, added };
  /// out[c, i] = or += factors[i] in[c, i]
  virtual void multiply(View<const Complex> factors, Way way, View<const Complex> in, View<Complex> out,
                        Into into) const = 0;
};

/// The times t_l [s], and a_l(t) per sample, row by row.
struct SegmentTables {
  TimeInterpolation interpolation;
  double middle_hz, middle_s, half_s;
  double time(Index l) const { return middle_s + half_s * interpolation.position(static_cast<int>(l)); }
  Array<double> sample_weights(const OffResonance& b0) const;  ///< [segments, samples]
};

/// Segments that serve frequencies up to `half_hz` on either side of the middle.
SegmentTables cut_readout(const OffResonance& b0, double half_hz, double tolerance);

enum class FactorsOf { voxels, voxels_and_samples };

template <class Real>
std::shared_ptr<const SegmentFactors<Real>> make_segment_factors(const OffResonance& b0,
                                                                 const SegmentTables& tables, FactorsOf what,
                                                                 Device device);

namespace cuda {
template <class Real>
std::shared_ptr<const SegmentFactors<Real>> make_segment_factors(const OffResonance& b0,
                                                                 const SegmentTables& tables, FactorsOf what,
                                                                 Device device);
}

}  // namespace spinloom
