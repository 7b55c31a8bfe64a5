#include "spinloom/runtime/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/cufft.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nccl.hpp"
#include "runtime/dynamic_library.hpp"

namespace spinloom {
namespace {

struct Wanted {
  const char* name;
  std::vector<std::string> files;  ///< newest first
  const char* remedy;
};

const std::vector<Wanted> others = {
    {"MPI", {"libmpi.so.40", "libmpich.so.12"}, "comes with the package openmpi-bin or mpich"},
};

LibraryProbe describe(const char* name, const std::string& file, const std::string& version,
                      const std::string& problem) {
  if (!problem.empty()) return {name, file, (file.empty() ? "" : "not used: ") + problem, false};
  return {name, file, fmt::format("found as {}, version {}", file, version), true};
}

}  // namespace

std::vector<LibraryProbe> probe_libraries() {
  const int driver = cuda::driver_version();
  std::vector<LibraryProbe> probes = {
      describe("CUDA driver", cuda::driver_file(), fmt::format("{}.{}", driver / 1000, driver % 1000 / 10),
               cuda::driver_problem()),
      describe("NVRTC", cuda::compiler_file(), cuda::compiler_version(), cuda::compiler_problem()),
      describe("cuFFT", cuda::cufft_file(), cuda::cufft_version(), cuda::cufft_problem()),
      describe("NCCL", cuda::nccl_file(), cuda::nccl_version(), cuda::nccl_problem()),
  };
  for (const Wanted& w : others) {
    LibraryProbe probe{w.name, "", std::string("not found; ") + w.remedy, false};
    if (const DynamicLibrary library = open_library(w.files)) {
      probe = {w.name, library.file, "found as " + library.file, true};
      dlclose(library.handle);  // it is not used yet
    }
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace spinloom
