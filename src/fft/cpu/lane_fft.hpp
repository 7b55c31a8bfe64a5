#pragma once
#include <complex>

#include "fft/cpu/lane_plan.hpp"

/// FFTs of many lines side by side: line l of `lanes` sits in lane l of every block, so that butterflies need
/// no shuffles and any length runs at full SIMD width. Moving data into and out of blocks is where
/// zero-padding, cropping and scaling happen. All of it is dispatched at run time to the widest instruction
/// set present.
namespace spinloom::cpu {

template <class Real>
struct LaneKernels {
  using Complex = std::complex<Real>;

  /// n blocks of data through a DFT of length n, unscaled, in place. scratch: 2 n blocks, 64-byte aligned
  /// like data.
  void (*transform)(const LanePlan<Real>& plan, bool inverse, Real* data, Real* scratch);

  /// blocks[i], lane l = from[i * stride + l] for i < count, l < used; 0 in the other lanes. And back.
  void (*load_columns)(const Complex* from, Index stride, Index used, Index count, Real* blocks);
  void (*store_columns)(const Real* blocks, Index count, Complex* to, Index stride, Index used);

  /// blocks[i], lane l = rows[l][i] for i < count, l < used; 0 in the other lanes. And back.
  void (*load_rows)(const Complex* const* rows, Index used, Index count, Real* blocks);
  void (*store_rows)(const Real* blocks, Index count, Complex* const* rows, Index used);

  /// blocks[i], lane l *= per_element[i] * per_lane[l]
  void (*scale)(Real* blocks, Index count, const Real* per_element, const Real* per_lane);
};

template <class Real>
const LaneKernels<Real>& lane_kernels();

}  // namespace spinloom::cpu
