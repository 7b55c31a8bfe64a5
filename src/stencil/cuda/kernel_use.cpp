#include "stencil/cuda/kernel_use.hpp"

#include <string_view>

#include "runtime/cuda/kernel.hpp"
#include "stencil/cuda/stencil_engine.hpp"

namespace spinloom::cuda {

using stencil::Half;

KernelUse kernel_use(const Context& context, FunctionHandle function, int threads,
                     std::size_t dynamic_shared) {
  const Current current(context);
  const auto attribute = [&](int which) {
    int value = 0;
    SPINLOOM_CUDA(FuncGetAttribute, &value, which, function);
    return value;
  };
  KernelUse use;
  use.threads = threads;
  use.registers = attribute(function_registers);
  use.local_bytes = static_cast<std::size_t>(attribute(function_local_bytes));
  use.shared_bytes = dynamic_shared + static_cast<std::size_t>(attribute(function_shared_bytes));
  SPINLOOM_CUDA(OccupancyMaxActiveBlocksPerMultiprocessor, &use.blocks_at_once, function, threads,
                dynamic_shared);
  return use;
}

template <class T>
KernelUse OverlappedPass<T>::use() const {
  return kernel_use(context_,
                    context_.modules().function(*instance_, is_2d_ ? "strips" : "overlapped", shared_bytes_),
                    32 * (is_2d_ ? 1 : shape_.warps), shared_bytes_);
}

template <class T>
std::vector<KernelUse> StencilEngine<T>::uses() const {
  if (const auto* pass = dynamic_cast<const OverlappedPass<T>*>(overlapped_.get())) return {pass->use()};
  std::vector<KernelUse> all;
  for (const StencilStage& stage : stages_) {
    const bool is_reduced = std::string_view(stage.kernel) == "gather_reduced";
    all.push_back(
        kernel_use(context_, context_.modules().function(*stage.instance, stage.kernel, stage.shared_bytes),
                   is_reduced ? 256 : stage.march.block_x * stage.march.block_y, stage.shared_bytes));
  }
  return all;
}

#define SPINLOOM_INSTANTIATE(T)                      \
  template KernelUse OverlappedPass<T>::use() const; \
  template std::vector<KernelUse> StencilEngine<T>::uses() const;
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::cuda
