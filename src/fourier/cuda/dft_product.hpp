#pragma once
#include <memory>

#include "fourier/cuda/dft.hpp"
#include "fourier/cuda/dft_layout.hpp"
#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// The exact DFT in single precision as one real matrix product on tensor cores; see dft_operands.cu for how
/// the phases separate. All arrays are on the context's GPU; k holds fixed-point turns [3, samples], see
/// fixed_turns.cuh. Every element of the outputs is written.
class DftMatrixProduct {
 public:
  DftMatrixProduct(Context& context, Shape matrix, DftMethod method, DftProduct product);
  void adjoint(const std::uint64_t* k, Index samples, Index coils, const cfloat* kspace, cfloat* image) const;
  void forward(const std::uint64_t* k, Index samples, Index coils, const cfloat* image, cfloat* kspace) const;

 private:
  void adjoint_batch(const std::uint64_t* k, Index samples, Index coils, const cfloat* kspace,
                     cfloat* image) const;
  void forward_batch(const std::uint64_t* k, Index samples, Index coils, const cfloat* image,
                     cfloat* kspace) const;
  template <class Batch>
  void in_batches(Index coils, const Batch& batch) const;

  Context& context_;
  Shape matrix_;
  bool is_split_, has_warpgroups_;
};

std::vector<KernelInstance> dft_product_instances();

}  // namespace spinloom::cuda
