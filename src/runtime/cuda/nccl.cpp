#include "runtime/cuda/nccl.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/dynamic_library.hpp"
#include "runtime/os/library.hpp"
#include "runtime/os/system.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

constexpr int oldest = 21000;  // 2.10: all-reduces that a CUDA graph may hold

struct Loaded : LibraryFunctions<Nccl> {
  int version = 0;
};

template <class Bind>
void list_functions(const Bind& bind, Nccl& n) {
  bind(n.GetVersion, "ncclGetVersion");
  bind(n.GetErrorString, "ncclGetErrorString");
  bind(n.CommInitAll, "ncclCommInitAll");
  bind(n.CommDestroy, "ncclCommDestroy");
  bind(n.CommAbort, "ncclCommAbort");
  bind(n.GroupStart, "ncclGroupStart");
  bind(n.GroupEnd, "ncclGroupEnd");
  bind(n.AllReduce, "ncclAllReduce");
  bind(n.GetLastError, "ncclGetLastError", false);
}

std::string in_words(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Loaded load() {
  // Sums inside the switch need multicast memory, which some virtual machines offer and cannot do; they would also add in
  // an order of their own. Read by NCCL when it first needs it, so it is set before.
  os::set_default_environment("NCCL_NVLS_ENABLE", "0");
  const std::vector<std::string> files = os::nccl_files();
  Loaded loaded{
      load_functions<Nccl>(files,
                           {"NCCL",
                            files.empty() ? std::string("there is no NCCL for this system")
                                          : fmt::format("NCCL was not found ({}); it comes with the package libnccl2 or "
                                                        "the Python package nvidia-nccl",
                                                        fmt::join(files, " or ")),
                            "update it"},
                           [](const auto& bind, Nccl& n) { list_functions(bind, n); }),
      0};
  if (!loaded.problem.empty()) return loaded;
  if (loaded.functions.GetVersion(&loaded.version) != 0)
    loaded.problem = fmt::format("NCCL ({}) does not tell its version; update it", loaded.file);
  else if (loaded.version < oldest)
    loaded.problem = fmt::format("NCCL ({}) is of version {}, {} or newer is needed; update it", loaded.file,
                                 loaded.version < 10000
                                     ? fmt::format("{}.{}", loaded.version / 1000, loaded.version / 100 % 10)
                                     : in_words(loaded.version),
                                 in_words(oldest));
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

const Nccl& nccl() {
  if (!loaded().problem.empty())
    throw BackendUnavailable("several GPUs", loaded().problem + "; or choose one GPU, --device cuda:0");
  return loaded().functions;
}

std::string nccl_problem() { return loaded().problem; }
std::string nccl_file() { return loaded().file; }
std::string nccl_version() { return loaded().problem.empty() ? in_words(loaded().version) : ""; }

void check_nccl(int status, const std::string& call) {
  if (status == 0) return;
  const Nccl& n = nccl();
  const char* detail = n.GetLastError == nullptr ? nullptr : n.GetLastError(nullptr);
  throw DeviceError(fmt::format("{}: {} (code {}){}", call, n.GetErrorString(status), status,
                                detail == nullptr || *detail == '\0' ? "" : fmt::format("; {}", detail)));
}

}  // namespace spinloom::cuda
