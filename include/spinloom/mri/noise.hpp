#pragma once
#include "spinloom/core/types.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Noise of coils that see each other: n = sigma L z with Psi = L L^H, z independent complex normal with
/// E|z|^2 = 1. So E|n_c|^2 = sigma^2 in every coil (sigma^2 / 2 in the real and in the imaginary part), and
/// E[n n^H] = sigma^2 Psi.

/// A covariance for simulations: Psi_ii = 1, |Psi_ij| falling from `near` between neighbours in the list
/// (which is a ring) towards `far`, with phases by seed. Positive definite for 0 <= far <= near < 1;
/// ArgumentError otherwise. Shapes   [coils, coils]
Array<cdouble> noise_covariance(Index coils, double near = 0.4, double far = 0.1, unsigned seed = 1);

/// Lower triangular L with Psi = L L^H. ShapeError unless square, ArgumentError unless Hermitian positive
/// definite, naming the coil at which it fails.
Array<cdouble> cholesky(View<const cdouble> covariance);

/// [coils, samples] of noise for the factor L. The same seed gives the same noise everywhere.
Array<cdouble> correlated_noise(View<const cdouble> factor, Index samples, double sigma, unsigned seed = 1);

/// The sigma that gives k-space y [coils, samples] a signal-to-noise ratio of
///   snr_db = 10 log10(|y|^2 / (samples coils sigma^2)).
/// 0 without samples.
double sigma_for_snr(View<const cdouble> kspace, double snr_db);
/// The ratio for a sigma > 0.
double snr_of(View<const cdouble> kspace, double sigma);

}  // namespace spinloom
