#pragma once
#include <array>
#include <vector>

#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// A smooth field of coil vectors to take the phase of coil maps from: the dominant eigenvectors of the coil
/// covariance of coarse blocks, each turned to agree with its neighbours, and linear between the block
/// centres.
class ReferenceField {
 public:
  /// images [coils, z, y, x]; `scale` times their values is of order 1
  template <class Real>
  ReferenceField(View<const std::complex<Real>> images, double scale);

  /// The field along part of the row (z, y): out[c * length + i] at x = begin + i.
  void row(Index z, Index y, Index begin, Index length, std::vector<cdouble>& out) const;

 private:
  void align();

  Index coils_;
  std::array<Index, 3> matrix_, blocks_;
  std::vector<std::vector<cdouble>> covariance_;  ///< per block, of trace 1; empty where nothing was measured
  std::vector<double> energy_;                    ///< per block, mean |v|^2
  std::vector<std::vector<cdouble>> g_;           ///< per block
};

}  // namespace spinloom
