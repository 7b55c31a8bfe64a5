#pragma once
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/nufft.hpp"

namespace spinloom {

/// What the main field's errors do to a scan: voxel n turns at map_hz[n] while sample m is taken at times_s[m], which adds
/// exp(-2 pi i map_hz[n] times_s[m]) to the pair's phase.
///
/// Shapes   map_hz [matrix...], times_s [samples]
/// Units    Hz and s; a time that all samples share (from excitation to the first sample) only turns the image's phase
class OffResonance {
 public:
  /// Throws ArgumentError naming the first voxel or sample whose value is not finite; ShapeError unless times_s has one
  /// axis.
  OffResonance(Array<double> map_hz, Array<double> times_s);

  View<const double> map_hz() const { return map_hz_.view(); }
  View<const double> times_s() const { return times_s_.view(); }
  double lowest_hz() const { return lowest_hz_; }
  double highest_hz() const { return highest_hz_; }
  double first_s() const { return first_s_; }
  double last_s() const { return last_s_; }

  /// Throws ShapeError, with both shapes, for a matrix or a number of samples that the arrays were not made for.
  void require_fits(const Shape& matrix, Index samples) const;

 private:
  Array<double> map_hz_, times_s_;
  double lowest_hz_ = 0, highest_hz_ = 0, first_s_ = 0, last_s_ = 0;
};

using OffResonancePtr = std::shared_ptr<const OffResonance>;

/// The exact DFT with off-resonance, summed directly:
///   forward  y[c, m] = sum_n x[c, n] exp(-2 pi i (k[m].r[n] + f[n] t[m]))
///   adjoint  x[c, n] = sum_m y[c, m] exp(+2 pi i (k[m].r[n] + f[n] t[m]))
///
/// Shapes, scaling, devices and errors as make_dft() without it. On a GPU options.tolerance from 2e-6 on lets tensor cores
/// make the sums: exact DFTs at some times of the readout, between which each sample interpolates. A null off_resonance is
/// the plain DFT.
template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                           OffResonancePtr off_resonance, Index coils = 1, Device device = {},
                           DftOptions options = {});

/// The exact DFTs that make_dft() puts on a GPU's tensor cores in single precision; none where it sums pair by pair.
struct TimeSnapshots {
  Index snapshots = 0, taps = 0;
  double error = 0;  ///< of the interpolation alone, as TimeSegments states it
};
TimeSnapshots time_snapshots(const OffResonance& off_resonance, Device device, DftOptions options = {});

/// How make_off_resonance() cuts a readout: exp(-2 pi i f t) = sum_l a_l(t) exp(-2 pi i f t_l), least squares in f, t_l even.
struct TimeSegments {
  Index segments = 1;
  double error = 0;  ///< largest |difference| over all f and t of the ranges, checked on a fine grid
};
TimeSegments time_segments(const OffResonance& off_resonance, double tolerance);

/// The same sums by time segments around an operator F without off-resonance, of any device:
///   y = sum_l a_l(t) F(exp(-2 pi i f t_l) x)
/// with as few segments as keep |sum_l ... - exp(-2 pi i f t)| <= tolerance for all f of the map and all t. What F leaves
/// out comes on top. The adjoint is the exact conjugate transpose where F's is.
///
/// plain    [coils, matrix...] -> [coils, samples]
/// Devices  that of `plain`; arrays may be on the host too, and are copied for the call
/// Cost     segments times F
/// Errors   ShapeError when plain does not fit; ArgumentError for a tolerance outside [1e-10, 1)
/// Source   Sutton, Noll & Fessler 2003, IEEE Trans. Med. Imaging 22(2):178
template <class Real>
OperatorPtr<Real> make_off_resonance(OperatorPtr<Real> plain, OffResonancePtr off_resonance,
                                     double tolerance);

/// F^H F with off-resonance as a sum of convolutions:
///   sum_l exp(+2 pi i f t_l) T_l exp(-2 pi i f t_l),   T_l = F^H diag(a_l(t)) F without off-resonance
/// The segments are those of differences between frequencies, twice the map's range.
///
/// Devices  CPU and GPU; arrays lie on `device`
/// Memory   a spectrum for each convolution, see normal_time_segments() and toeplitz_memory_bytes()
///
/// Source   Fessler, Lee, Olafsson, Shi & Noll 2005, IEEE Trans. Signal Process. 53(9):3393
template <class Real>
OperatorPtr<Real> make_off_resonance_normal(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                            OffResonancePtr off_resonance, Index coils = 1,
                                            const NufftOptions& options = {}, Device device = {});

/// Convolutions that make_off_resonance_normal() makes: each holds a spectrum of its own.
TimeSegments normal_time_segments(const OffResonance& off_resonance, double tolerance);

}  // namespace spinloom
