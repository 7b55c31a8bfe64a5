#include "runtime/cuda/kernel.hpp"

#include <fmt/format.h>

#include <future>

#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

ModuleHandle Modules::module(const KernelInstance& instance) {
  ModuleHandle& slot = modules_[instance.describe()];
  if (slot == nullptr) load(instance, code_of(instance), slot);
  return slot;
}

std::vector<char> Modules::code_of(const KernelInstance& instance) const {
  return compile(instance, architecture_for(context_.facts().capability, instance));
}

void Modules::load(const KernelInstance& instance, const std::vector<char>& code, ModuleHandle& slot) {
  Current current(context_);
  const Result result = driver().ModuleLoadData(&slot, code.data());
  if (result != 0)
    throw DeviceError(explain(result, fmt::format("cuModuleLoadData of {}", instance.describe()).c_str()));
}

void Modules::prepare(const std::vector<const KernelInstance*>& instances) {
  std::lock_guard lock(guard_);
  std::vector<std::pair<const KernelInstance*, std::future<std::vector<char>>>> coming;
  for (const KernelInstance* instance : instances)
    if (modules_.find(instance->describe()) == modules_.end())
      coming.emplace_back(instance,
                          std::async(std::launch::async, [this, instance] { return code_of(*instance); }));
  for (auto& [instance, code] : coming) load(*instance, code.get(), modules_[instance->describe()]);
}

FunctionHandle Modules::function(const KernelInstance& instance, const char* name,
                                 std::size_t dynamic_shared_bytes) {
  std::lock_guard lock(guard_);
  // Without asking, a block gets 48 KiB; the permission belongs to the function, so each amount asked for is
  // its own entry.
  constexpr std::size_t granted = 48 << 10;
  const bool must_ask = dynamic_shared_bytes > granted;
  FunctionHandle& slot = functions_[{&instance, name, must_ask ? dynamic_shared_bytes : 0}];
  if (slot != nullptr) return slot;
  FunctionHandle found = nullptr;
  const ModuleHandle owner = module(instance);
  Current current(context_);
  const Result result = driver().ModuleGetFunction(&found, owner, name);
  if (result != 0)
    throw DeviceError(
        explain(result, fmt::format("cuModuleGetFunction of {} in {}", name, instance.describe()).c_str()));
  if (must_ask)
    SPINLOOM_CUDA(FuncSetAttribute, found, function_max_dynamic_shared_memory,
                  static_cast<int>(dynamic_shared_bytes));
  return slot = found;
}

DevicePointer Modules::variable(const KernelInstance& instance, const char* name) {
  std::lock_guard lock(guard_);
  const ModuleHandle owner = module(instance);
  Current current(context_);
  DevicePointer address = 0;
  std::size_t bytes = 0;
  SPINLOOM_CUDA(ModuleGetGlobal, &address, &bytes, owner, name);
  return address;
}

void launch_raw(const Context& context, FunctionHandle function, const char* name, Grid grid, Grid block,
                std::size_t shared_bytes, void** arguments) {
  Current current(context);
  const Result result =
      driver().LaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                            static_cast<unsigned>(shared_bytes), context.stream(), arguments, nullptr);
  if (result != 0) throw DeviceError(explain(result, fmt::format("launch of {}", name).c_str()));
}

}  // namespace spinloom::cuda
