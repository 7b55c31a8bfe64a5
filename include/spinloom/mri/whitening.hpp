#pragma once
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// How the noise of the images follows from that of a noise scan.
struct WhiteningOptions {
  /// Time between samples of the image and of the noise scan [s]. Noise power goes with the bandwidth, 1 /
  /// dwell time. 0 for either means unknown: both scans are then taken to be sampled alike, and a note says
  /// so.
  double image_dwell_time = 0;
  double noise_dwell_time = 0;
  /// Effective over nominal noise bandwidth of the receiver in the noise scan (a header's
  /// relativeReceiverNoiseBandwidth).
  double relative_noise_bandwidth = 1;
  Log log;
};

/// The map that makes the noise of all coils white: y' = M y with
///   M = sqrt(image_dwell_time / noise_dwell_time * relative_noise_bandwidth) L^-1,   L L^H = C.
/// Noise in the image scan then has E |n|^2 = 1 per coil (1/2 in the real and in the imaginary part) and no
/// correlation.
struct Whitening {
  Index channels = 0;         ///< that it was made for
  std::vector<Index> kept;    ///< channels that are not dead, in order
  Array<cdouble> covariance;  ///< C of the noise scan [channels, channels]
  Array<cdouble> matrix;      ///< M, lower triangular [kept, kept]
  bool regularised = false;   ///< C was nearly singular, so a small diagonal was added
};

/// C = N N^H / n from n noise samples of every channel: no mean is removed, and none expected.
///
/// noise    [channels, n]
/// kspace   the data to be whitened [channels, samples], or an empty view: a channel without any signal there
/// is dead too Dead     channels of zero noise variance (below 1e-12 of the median) or zero data are dropped;
/// a warning names them Singular when a channel's noise follows from the others' (fewer samples than
/// channels, copied channels) to 1e-6 in
///          power, 1e-4 of every channel's own variance is added to C's diagonal; a warning says so
/// Errors   ArgumentError naming channel and sample of a value that is not finite; for no noise samples, no
/// channel alive,
///          or options that are negative or not finite; ShapeError when both scans differ in channels
Whitening make_whitening(View<const cfloat> noise, View<const cfloat> kspace,
                         const WhiteningOptions& options = {});

/// M y: [channels, samples] -> [kept, samples]. ShapeError, naming both, for another number of channels.
template <class Real>
Array<std::complex<Real>> whiten(const Whitening& whitening, View<const std::complex<Real>> kspace);

}  // namespace spinloom
