#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "calls.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/libraries.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom_version.hpp"

namespace spinloom::python {
namespace {

namespace nb = nanobind;

bool is_forked = false;

/// The threads of the parent do not exist in a child process, but their library believes they do and would wait for
/// them for ever. One thread alone asks for none.
void after_fork() {
  is_forked = true;
  set_thread_count(1);
  forget_calls();
}

void choose_threads(int threads) {
  if (is_forked && threads != 1)
    throw ArgumentError(
        "threads: a process made by fork() works with one thread; start it anew instead "
        "(multiprocessing.get_context('spawn')) to use more");
  set_thread_count(threads);
}

nb::dict describe(const GpuInfo& gpu) {
  nb::dict d;
  d["name"] = gpu.name;
  d["compute_capability"] = std::to_string(gpu.capability / 10) + "." + std::to_string(gpu.capability % 10);
  d["multiprocessors"] = gpu.multiprocessors;
  d["memory_bytes"] = gpu.memory_bytes;
  d["memory_free_bytes"] = gpu.memory_free_bytes;
  return d;
}

/// The keys are those of `spinloom info --json`.
nb::dict info() {
  LongCall call;
  Hardware h;
  std::vector<LibraryProbe> probes;
  CudaStatus cuda;
  call.run([&] {
    h = detect_hardware();
    probes = probe_libraries();
    cuda = cuda_status();
  });
  nb::dict d, backends, libraries;
  backends["cpu"] = "used";
  backends["reference"] = "used when asked for";
  backends["cuda"] =
      cuda.is_usable() ? "used where a function has a path for it" : "not used: " + cuda.problem;
  nb::list gpus;
  for (const GpuInfo& gpu : cuda.gpus) gpus.append(describe(gpu));
  for (const LibraryProbe& p : probes) {
    nb::dict entry;
    entry["present"] = p.is_present;
    entry["file"] = p.file;
    entry["status"] = p.status;
    libraries[p.name.c_str()] = entry;
  }
  d["version"] = SPINLOOM_VERSION;
  d["compiler"] = SPINLOOM_COMPILER;
  d["build"] = SPINLOOM_BUILD_TYPE;
  d["cpu"] = h.cpu_name;
  d["threads"] = thread_count();
  d["cores"] = h.cores;
  d["simd"] = h.simd_target;
  d["cache_bytes"] = h.cache_bytes;
  d["memory_bytes"] = h.memory_bytes;
  d["memory_available_bytes"] = h.memory_available_bytes;
  d["backends"] = backends;
  d["gpus"] = gpus;
  d["libraries"] = libraries;
  return d;
}

}  // namespace

void bind_runtime(nb::module_& m) {
  m.attr("version") = SPINLOOM_VERSION;
  m.def("info", &info);
  m.def("set_threads", &choose_threads, nb::arg("threads"));
  m.def("threads", &thread_count);
  m.def("after_fork", &after_fork);
}

}  // namespace spinloom::python
