#include "spinloom/runtime/libraries.hpp"

#include <dlfcn.h>

namespace spinloom {
namespace {

struct Wanted {
  const char* name;
  std::vector<const char*> files;  ///< newest first
  const char* remedy;
};

const std::vector<Wanted> wanted = {
    {"CUDA driver", {"libcuda.so.1"}, "comes with the NVIDIA driver"},
    {"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, "comes with the package nvidia-cuda-nvrtc"},
    {"cuFFT", {"libcufft.so.12", "libcufft.so.11", "libcufft.so"}, "comes with the package nvidia-cufft"},
    {"NCCL", {"libnccl.so.2", "libnccl.so"}, "comes with the package nvidia-nccl"},
    {"MPI", {"libmpi.so.40", "libmpich.so.12", "libmpi.so"}, "comes with the package openmpi-bin or mpich"},
};

}  // namespace

std::vector<LibraryProbe> probe_libraries() {
  std::vector<LibraryProbe> probes;
  for (const Wanted& w : wanted) {
    LibraryProbe probe{w.name, "", std::string("not found; ") + w.remedy, false};
    for (const char* file : w.files) {
      void* handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
      if (handle == nullptr) continue;
      dlclose(handle);
      probe = {w.name, file, std::string("found as ") + file, true};
      break;
    }
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace spinloom
