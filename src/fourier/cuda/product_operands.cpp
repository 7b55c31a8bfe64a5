#include "fourier/cuda/product_operands.hpp"

namespace spinloom::cuda {

extern const KernelSource dft_operands_source;

const KernelInstance& operands_instance(bool is_split) {
  static const KernelInstance plain{&dft_operands_source, {"SPLIT=0"}, 80},
      split{&dft_operands_source, {"SPLIT=1"}, 80};
  return is_split ? split : plain;
}

}  // namespace spinloom::cuda
