#pragma once
#include "fourier/cuda/toeplitz_convolution.hpp"
#include "runtime/cuda/cufft.hpp"

namespace spinloom::cuda {

/// The convolution in the usual way: padded with zeros, through cuFFT, times the spectrum, back, cropped.
template <class Real>
class PaddedToeplitz final : public ToeplitzConvolution<Real> {
 public:
  using Complex = std::complex<Real>;
  PaddedToeplitz(const Shape& matrix, Index coils, Array<Real> spectrum, Device device);
  void apply(const Complex* x, Complex* y, std::byte* work) const override;
  void apply(const ToeplitzSense<Real>& sense, std::byte* work) const override;
  Index dot_count() const override;
  std::size_t work_bytes() const override;

  static std::array<Index, 3> cells(const std::array<Index, 3>& image);
  static Index coils_at_once(const std::array<Index, 3>& image, Index coils);

 private:
  void convolve(Complex* grid, Index coils) const;

  Context& context_;
  std::array<Index, 3> image_, cells_;
  Index coils_;
  Array<Real> spectrum_;
  std::unique_ptr<Cufft<Real>> all_, rest_;  ///< of coils_at_once(), and of what is left in the end
};

std::vector<KernelInstance> padded_toeplitz_instances();

}  // namespace spinloom::cuda
