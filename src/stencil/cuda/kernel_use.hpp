#pragma once
#include <cstddef>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/driver.hpp"

namespace spinloom::cuda {

/// What a kernel takes of a multiprocessor, as the driver knows it.
struct KernelUse {
  int threads = 0, registers = 0;  ///< of a block; of a thread
  std::size_t local_bytes = 0;     ///< of a thread: what its registers did not hold
  std::size_t shared_bytes = 0;    ///< of a block
  int blocks_at_once = 0;          ///< on a multiprocessor
};
KernelUse kernel_use(const Context& context, FunctionHandle function, int threads,
                     std::size_t dynamic_shared);

}  // namespace spinloom::cuda
