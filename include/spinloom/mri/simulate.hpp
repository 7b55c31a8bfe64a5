#pragma once
#include <optional>

#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/mri/coils.hpp"

namespace spinloom {

struct SimulationOptions {
  Index coils = 8;               ///< loops on rings around the object; 1 is a uniform coil
  double sigma = 0;              ///< standard deviation of the complex noise in each coil [units of k-space]
  std::optional<double> snr_db;  ///< takes the place of sigma, see sigma_for_snr()
  unsigned seed = 1;             ///< of the noise and of its correlation
  Device device;  ///< where the samples are computed
  OffResonancePtr off_resonance;  ///< of voxels, on their matrix; null: none
  Progress progress;
};

/// What a scanner would have measured, and what it measured it of.
struct Simulation {
  Array<cfloat> kspace;  ///< [coils, samples], noise included
  Array<cfloat>
      noise;  ///< [coils, n] of a noise scan, enough for a covariance within a few percent; empty without
  Array<cfloat> maps;    ///< [coils, matrix...]
  Array<cdouble> truth;  ///< [matrix...], the best image that the scan can give; see band_limited_image()
  double sigma = 0, snr_db = 0;  ///< of the noise; snr_db means nothing when sigma is 0
  double coil_fit_residual = 0;  ///< see CoilSums
};

/// Scans a phantom of known Fourier transform, or an image of voxels [matrix...] by the exact DFT in double:
///   y[c, m] = sum_n s[c, n] rho[n] exp(-2 pi i k[m].r[n]) + noise,  unscaled, so that y(0) is the sum of the voxels
/// With off-resonance the exponent has f[n] t[m] added; a phantom's Fourier transform is no longer known then.
///
/// Errors   ArgumentError for options out of range, or off-resonance of a phantom; ShapeError for voxels or off-resonance
///          on another matrix
Simulation simulate_scan(const Phantom& phantom, const Readouts& readouts, const Shape& matrix,
                         const SimulationOptions& options = {});
Simulation simulate_scan(View<const cdouble> voxels, const Readouts& readouts, const Shape& matrix,
                         const SimulationOptions& options = {});

}  // namespace spinloom
