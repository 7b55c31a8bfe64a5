#pragma once
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// The kernels of one GPU, compiled and loaded at first use.
class Modules {
 public:
  explicit Modules(const Context& context) : context_(context) {}
  /// The kernel `name` (a literal) of an instance, allowed to use `dynamic_shared_bytes` of shared memory.
  FunctionHandle function(const KernelInstance& instance, const char* name,
                          std::size_t dynamic_shared_bytes = 0);
  /// Compiles what of them is not there yet, all at once, so that a first call waits for the slowest alone.
  void prepare(const std::vector<const KernelInstance*>& instances);
  /// Address of a __constant__ or __device__ variable of an instance.
  DevicePointer variable(const KernelInstance& instance, const char* name);

 private:
  ModuleHandle module(const KernelInstance& instance);
  std::vector<char> code_of(const KernelInstance& instance) const;
  void load(const KernelInstance& instance, const std::vector<char>& code, ModuleHandle& slot);

  const Context& context_;
  std::recursive_mutex guard_;
  std::map<std::string, ModuleHandle> modules_;
  // By address: a launch looks here each time, and instances and names live as long as the process.
  std::map<std::tuple<const KernelInstance*, const char*, std::size_t>, FunctionHandle> functions_;
};

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

void launch_raw(const Context& context, FunctionHandle function, const char* name, Grid grid, Grid block,
                std::size_t shared_bytes, void** arguments);

/// Starts a kernel in the context's stream. The arguments' types must be those of the kernel's parameters to
/// the byte.
template <class... Arguments>
void launch(const Context& context, const KernelInstance& instance, const char* name, Grid grid, Grid block,
            std::size_t shared_bytes, const Arguments&... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...));
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  launch_raw(context, context.modules().function(instance, name, shared_bytes), name, grid, block,
             shared_bytes, pointers);
}

}  // namespace spinloom::cuda
