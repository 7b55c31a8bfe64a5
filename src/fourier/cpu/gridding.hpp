#pragma once
#include <array>
#include <complex>

#include "fourier/cpu/points.hpp"
#include "fourier/kernel.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cpu {

/// The kernel polynomial in the layouts that the loops read.
template <class Real>
struct KernelTable {
  explicit KernelTable(const KernelPolynomial& polynomial);

  int width, degree;
  Array<Real> taps;  ///< [degree + 1, width]
  /// [degree + 1, 32]: every tap twice, for real and imaginary part of a row of the grid; zeros behind the
  /// last tap
  Array<Real> row_taps;
};

/// values[i] = sum of kernel x grid around sorted samples begin to end; begin is a multiple of point_batch.
template <class Real>
void interpolate(const GhostGrid& grid, const KernelTable<Real>& kernel, const Points<Real>& points,
                 Index begin, Index end, const std::complex<Real>* cells, std::complex<Real>* values);

/// cells += kernel x scale x values[i] around sorted samples begin to end, in their order. Whole vectors are
/// read and written, so cells up to 16 behind a row's first tap must belong to the caller.
template <class Real>
void spread(const GhostGrid& grid, const KernelTable<Real>& kernel, const Points<Real>& points, Index begin,
            Index end, Real scale, const std::complex<Real>* values, std::complex<Real>* cells);

/// Copies cells to the ghost cells that stand for them, or adds the ghost cells to the cells they stand for.
template <class Real>
void fill_ghosts(const GhostGrid& grid, std::complex<Real>* cells);
template <class Real>
void fold_ghosts(const GhostGrid& grid, std::complex<Real>* cells);

}  // namespace spinloom::cpu
