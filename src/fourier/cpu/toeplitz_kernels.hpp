#pragma once
#include <array>
#include <complex>
#include <vector>

#include "fft/cpu/lane_plan.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cpu {

/// A convolution with a centred kernel on a circulant grid of 2 n cells per axis, n >= the image size,
/// without ever holding that grid. Of a line of n values padded to 2 n, the even frequencies are its DFT of
/// length n and the odd ones the DFT of the line times w, w[j] = exp(-pi i j / n): no butterfly touches a
/// zero. `halves` is 2, or 1 on an axis of one voxel, which needs no padding.
///
/// The grid is worked on plane by plane. After the z pass, plane (half h, frequency k) holds image rows in
/// blocks of lanes along x; it goes through y and x, the product with the spectrum, and back, inside a level
/// 2 cache.
template <class Real>
struct ToeplitzLayout {
  explicit ToeplitzLayout(const std::array<Index, 3>& image);

  std::array<Index, 3> image;   ///< z, y, x
  std::array<Index, 3> n;       ///< FFT lengths
  std::array<Index, 3> halves;  ///< 1 or 2
  std::array<LanePlan<Real>, 3> plans;
  /// [n] (re, im) of w per axis, for the second half
  std::array<std::vector<Real>, 3> modulation;

  Index x_blocks;      ///< blocks of lanes that hold a row of the image
  Index y_groups;      ///< groups of lanes that hold the y frequencies of one half
  Index plane_blocks;  ///< blocks from one plane to the next

  Index planes() const { return halves[0] * n[0]; }
  Index work_reals() const { return planes() * plane_blocks * block_reals<Real>; }
  Index scratch_reals() const;  ///< per thread
  /// The spectrum in the order it is read: [plane, y half, y group, x half, x frequency, lane]
  Index spectrum_reals() const { return planes() * plane_spectrum(); }
  Index plane_spectrum() const { return halves[1] * y_groups * halves[2] * n[2] * lanes<Real>; }
  /// Where frequency (kz, ky, kx) of the circulant grid stands in it.
  Index spectrum_index(Index kz, Index ky, Index kx) const;
};

template <class Real>
struct ToeplitzKernels {
  using Complex = std::complex<Real>;
  /// Image row y of all planes, through z, into work.
  void (*z_forward)(const ToeplitzLayout<Real>&, Index y, const Complex* image, Real* work, Real* scratch);
  /// One plane of work through y, x, spectrum and back. `spectrum` is that plane's part.
  void (*plane)(const ToeplitzLayout<Real>&, const Real* spectrum, Real* plane, Real* scratch);
  /// Image row y of all planes from work, times scale.
  void (*z_inverse)(const ToeplitzLayout<Real>&, Index y, Real scale, const Real* work, Complex* image,
                    Real* scratch);
};

template <class Real>
const ToeplitzKernels<Real>& toeplitz_kernels();

}  // namespace spinloom::cpu
