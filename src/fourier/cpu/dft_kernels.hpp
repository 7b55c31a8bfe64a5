#pragma once
#include "spinloom/core/types.hpp"

namespace spinloom::cpu {

/// Samples that are worked on at once, and the most columns of a block: a tile's operands then fit the level
/// 1 cache (a) and the level 2 cache (b), and a float sum of this many terms loses 3e-7 before it is carried
/// on in double.
inline constexpr Index dft_chunk = 256;

/// The inner loops of the exact DFT, compiled for each instruction set and chosen at run time. Arrays are
/// aligned to 64 bytes, lengths are multiples of 32.
template <class Real>
struct DftKernels {
  Index tile_rows;     ///< even: a complex row is a real one and an imaginary one
  Index tile_columns;  ///< divides dft_chunk

  /// u[i] = exp(2 pi i k[i] position / extent): dft_chunk real parts, then as many imaginary ones. The phase
  /// is reduced in double, to an error of 1e-16 turns, before its sine is taken.
  void (*unit)(const double* k, double position, double extent, Index length, Real* u);

  /// c = a b of complex arrays laid out like u; c may be a or b itself.
  void (*multiply)(const Real* a, const Real* b, Index length, Real* c);

  /// c[i, j] = sum_k a[i, k] b[k, j] of one tile; rows of a lie dft_chunk apart, those of b and c
  /// tile_columns.
  void (*tile)(const Real* a, const Real* b, Index depth, Real* c);

  /// sum += c, in double
  void (*add)(const Real* c, Index length, double* sum);

  /// (sum_re, sum_im) += t conj(u), of tile_columns values
  void (*add_product_conj)(const Real* t_re, const Real* t_im, const Real* u_re, const Real* u_im,
                           double* sum_re, double* sum_im);
};

/// Those of the best instruction set of this machine.
template <class Real>
DftKernels<Real> dft_kernels();

}  // namespace spinloom::cpu
