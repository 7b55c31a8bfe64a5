#pragma once
#include "fourier/cuda/toeplitz_convolution.hpp"
#include "fourier/cuda/toeplitz_passes.hpp"

namespace spinloom::cuda {

class FusedToeplitz final : public ToeplitzConvolution<float> {
 public:
  FusedToeplitz(const ToeplitzPasses& passes, Index coils, const Array<float>& spectrum, Device device);
  void apply(const cfloat* x, cfloat* y, std::byte* work) const override;
  void apply(const ToeplitzSense<float>& sense, std::byte* work) const override;
  Index dot_count() const override;  ///< one per block of the pass along z
  std::size_t work_bytes() const override { return work_bytes(passes_, coils_); }

  static std::size_t work_bytes(const ToeplitzPasses& passes, Index coils);

 private:
  void convolve_planes(Index coils, cfloat* work) const;

  Context& context_;
  ToeplitzPasses passes_;
  Index coils_;
  Array<float> spectrum_;  ///< in the order of the passes
  std::array<Array<cfloat>, 3> tables_;
};

}  // namespace spinloom::cuda
