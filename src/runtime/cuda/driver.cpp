#include "runtime/cuda/driver.hpp"

#include <fmt/format.h>

#include "runtime/dynamic_library.hpp"
#include "runtime/os/library.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

/// 12.0 is the oldest release whose compiler knows every architecture that the kernels are written for.
constexpr int oldest_driver = 12000;

struct Loaded : LibraryFunctions<Driver> {
  int version = 0;
};

template <class Bind>
void list_functions(const Bind& bind, Driver& d) {
#define SPINLOOM_BIND(name, symbol) bind(d.name, symbol)
  SPINLOOM_BIND(Init, "cuInit");
  SPINLOOM_BIND(DriverGetVersion, "cuDriverGetVersion");
  SPINLOOM_BIND(GetErrorName, "cuGetErrorName");
  SPINLOOM_BIND(GetErrorString, "cuGetErrorString");
  SPINLOOM_BIND(DeviceGetCount, "cuDeviceGetCount");
  SPINLOOM_BIND(DeviceGet, "cuDeviceGet");
  SPINLOOM_BIND(DeviceGetName, "cuDeviceGetName");
  SPINLOOM_BIND(DeviceGetAttribute, "cuDeviceGetAttribute");
  SPINLOOM_BIND(DeviceTotalMem, "cuDeviceTotalMem_v2");
  SPINLOOM_BIND(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  SPINLOOM_BIND(CtxPushCurrent, "cuCtxPushCurrent_v2");
  SPINLOOM_BIND(CtxPopCurrent, "cuCtxPopCurrent_v2");
  SPINLOOM_BIND(CtxSynchronize, "cuCtxSynchronize");
  SPINLOOM_BIND(MemGetInfo, "cuMemGetInfo_v2");
  SPINLOOM_BIND(DeviceCanAccessPeer, "cuDeviceCanAccessPeer");
  SPINLOOM_BIND(CtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  SPINLOOM_BIND(MemAlloc, "cuMemAlloc_v2");
  SPINLOOM_BIND(MemFree, "cuMemFree_v2");
  SPINLOOM_BIND(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  SPINLOOM_BIND(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  SPINLOOM_BIND(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  SPINLOOM_BIND(MemcpyPeerAsync, "cuMemcpyPeerAsync");
  SPINLOOM_BIND(MemsetD8Async, "cuMemsetD8Async");
  SPINLOOM_BIND(StreamCreate, "cuStreamCreate");
  SPINLOOM_BIND(StreamCreateWithPriority, "cuStreamCreateWithPriority");
  SPINLOOM_BIND(CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
  SPINLOOM_BIND(StreamSynchronize, "cuStreamSynchronize");
  SPINLOOM_BIND(StreamWaitEvent, "cuStreamWaitEvent");
  SPINLOOM_BIND(EventCreate, "cuEventCreate");
  SPINLOOM_BIND(EventRecord, "cuEventRecord");
  SPINLOOM_BIND(EventSynchronize, "cuEventSynchronize");
  SPINLOOM_BIND(EventElapsedTime, "cuEventElapsedTime");
  SPINLOOM_BIND(EventDestroy, "cuEventDestroy_v2");
  SPINLOOM_BIND(ModuleLoadData, "cuModuleLoadData");
  SPINLOOM_BIND(ModuleGetFunction, "cuModuleGetFunction");
  SPINLOOM_BIND(ModuleGetGlobal, "cuModuleGetGlobal_v2");
  SPINLOOM_BIND(FuncSetAttribute, "cuFuncSetAttribute");
  SPINLOOM_BIND(LaunchKernel, "cuLaunchKernel");
  SPINLOOM_BIND(MemHostAlloc, "cuMemHostAlloc");
  SPINLOOM_BIND(MemFreeHost, "cuMemFreeHost");
  SPINLOOM_BIND(StreamDestroy, "cuStreamDestroy_v2");
  SPINLOOM_BIND(StreamBeginCapture, "cuStreamBeginCapture_v2");
  SPINLOOM_BIND(StreamEndCapture, "cuStreamEndCapture");
  SPINLOOM_BIND(GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  SPINLOOM_BIND(GraphLaunch, "cuGraphLaunch");
  SPINLOOM_BIND(GraphDestroy, "cuGraphDestroy");
  SPINLOOM_BIND(GraphExecDestroy, "cuGraphExecDestroy");
  SPINLOOM_BIND(TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
#undef SPINLOOM_BIND
}

std::string say(const Driver& d, Result result, const char* call) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (d.GetErrorName != nullptr) d.GetErrorName(result, &name);
  if (d.GetErrorString != nullptr) d.GetErrorString(result, &text);
  return fmt::format("{}: {} ({})", call, text == nullptr ? "unknown error" : text,
                     name == nullptr ? fmt::format("code {}", result) : std::string(name));
}

Loaded load() {
  Loaded loaded{
      load_functions<Driver>(
          os::driver_files(),
          {"the NVIDIA driver",
           fmt::format("no NVIDIA driver was found ({}); it comes with the NVIDIA driver",
                       fmt::join(os::driver_files(), " or ")),
           "update it to one for CUDA 12.0 or newer"},
          [](const auto& bind, Driver& d) { list_functions(bind, d); }),
      0};
  if (!loaded.problem.empty()) return loaded;
  const Driver& d = loaded.functions;
  if (const Result r = d.DriverGetVersion(&loaded.version); r != 0) {
    loaded.problem = say(d, r, "cuDriverGetVersion");
  } else if (loaded.version < oldest_driver) {
    loaded.problem =
        fmt::format("the NVIDIA driver supports CUDA {}.{} only, 12.0 or newer is needed; update the driver",
                    loaded.version / 1000, loaded.version % 1000 / 10);
  } else if (const Result i = d.Init(0); i != 0) {
    loaded.problem = say(d, i, "cuInit");
  } else {
    int devices = 0;
    if (const Result c = d.DeviceGetCount(&devices); c != 0)
      loaded.problem = say(d, c, "cuDeviceGetCount");
    else if (devices == 0)
      loaded.problem = "the NVIDIA driver is there, but it shows no GPU";
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

const Driver& driver() {
  if (!loaded().problem.empty()) throw BackendUnavailable("cuda", loaded().problem + "; choose --device cpu");
  return loaded().functions;
}

std::string driver_problem() { return loaded().problem; }
int driver_version() { return loaded().version; }
std::string driver_file() { return loaded().file; }

std::vector<std::string> toolkit_files(std::vector<std::string> (*names)(int cuda)) {
  std::vector<std::string> files;
  for (const int major : {13, 12})
    if (driver_version() == 0 || major <= driver_version() / 1000)
      for (const std::string& name : names(major)) files.push_back(name);
  return files;
}

std::string explain(Result result, const char* call) { return say(loaded().functions, result, call); }

void check(Result result, const char* call) {
  if (result != 0) throw DeviceError(explain(result, call));
}

}  // namespace spinloom::cuda
