#pragma once
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom {

/// One ellipsoid as the k-space kernel wants it: sum_p S(|to_unit k - shift_p|) weight_pc, times exp(-2 pi i
/// center.k). Arrays have `dims` leading places in image axis order.
struct EllipsoidTerm {
  double to_unit[3][3];  ///< diag(semi-axes) R^T: k to the k-space of the unit ball
  double center[3];
  std::vector<double> shifts;   ///< [terms, dims]
  std::vector<double> weights;  ///< [terms, coils, 2]: real, imaginary
};

/// Largest number of samples in one call, so that scratch memory is of fixed size.
constexpr Index kernel_samples = 256;

/// Adds all terms at `count` <= kernel_samples samples. S is the transform of the unit ball (dims 3), of the
/// unit disk (dims 2).
///
/// k       [dims][kernel_samples], padded with finite values
/// sums    [coils, 2, kernel_samples]: real and imaginary planes, overwritten
/// scratch [terms, 8]
void ellipsoid_kernel(int dims, const std::vector<EllipsoidTerm>& ellipsoids, Index terms, Index coils,
                      const double* k, Index count, double* sums, double* scratch);

}  // namespace spinloom
