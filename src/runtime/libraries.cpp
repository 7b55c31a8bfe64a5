#include "spinloom/runtime/libraries.hpp"

#include <fmt/format.h>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/cufft.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nccl.hpp"
#include "runtime/mpi/module.hpp"

namespace spinloom {
namespace {

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
  const bool has_mpi = mpi::module_problem().empty();
  probes.push_back({"MPI", mpi::module_file(),
                    has_mpi ? fmt::format("found as {}, {}", mpi::module_file(), mpi::module_version())
                            : "not used: " + mpi::module_problem(),
                    has_mpi});
  return probes;
}

}  // namespace spinloom
