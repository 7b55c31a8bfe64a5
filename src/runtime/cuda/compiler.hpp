#pragma once
#include <string>
#include <vector>

namespace spinloom::cuda {

/// The text of one .cu file, embedded in the library by embed_kernels() of cmake/embed_kernels.cmake.
struct KernelSource {
  const char* name;  ///< "src/ops/cuda/vector_ops.cu"
  const char* text;
};

/// A source with its specialisation constants. Every instance that a backend may ask for stands in a list of
/// its folder (kernel_instances()), and a test compiles each of them without a GPU.
struct KernelInstance {
  const KernelSource* source;
  std::vector<std::string> defines;       ///< "REAL=float"
  int minimum_architecture = 75;          ///< compute capability times ten
  bool needs_exact_architecture = false;  ///< uses instructions of sm_90a alone

  std::string describe() const;  ///< "src/ops/cuda/vector_ops.cu [REAL=float]"
};

/// Empty when kernels can be compiled, else why not, in words.
std::string compiler_problem();
std::string compiler_version();  ///< "13.0", empty without NVRTC
std::string compiler_file();     ///< what was opened, empty when nothing was

/// The name to compile for, of a card of the given compute capability (90 is 9.0): "sm_90", or "sm_90a" for
/// an instance that needs it. A card newer than NVRTC gets "compute_NN", text that its driver compiles.
std::string architecture_for(int capability, const KernelInstance& instance);

/// Machine code (or driver text) of an instance for an architecture. Taken from the disk cache when it is
/// there. Throws BackendUnavailable without NVRTC, and DeviceError with the compiler's log and the source's
/// name when the source is refused.
std::vector<char> compile(const KernelInstance& instance, const std::string& architecture);
/// The same, without a look at the cache.
std::vector<char> compile_anew(const KernelInstance& instance, const std::string& architecture);

}  // namespace spinloom::cuda
