#pragma once
#include <cstddef>
#include <string>
#include <vector>

/// What is used of the CUDA driver's interface, declared here once. It is opened at run time, so that neither
/// the build nor the machine needs CUDA. Types and values are those of the driver's stable binary interface.
namespace spinloom::cuda {

using Result = int;  ///< 0 is success
using DeviceId = int;
using DevicePointer = unsigned long long;
using ContextHandle = struct CUctx_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using GraphHandle = struct CUgraph_st*;
using GraphExecHandle = struct CUgraphExec_st*;

constexpr Result out_of_memory = 2, peer_access_already_enabled = 704, too_many_peers = 711;

enum DeviceAttribute {
  max_shared_memory_per_block = 8,
  multiprocessor_count = 16,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  single_to_double_ratio = 87,
  max_shared_memory_per_block_optin = 97,
};
constexpr int function_max_dynamic_shared_memory = 8;
constexpr unsigned event_default = 0, event_disable_timing = 2, stream_non_blocking = 1;
constexpr int stream_capture_relaxed = 2;
constexpr unsigned host_portable = 1;

/// What a kernel is given so that it can copy boxes of an array in memory by one instruction.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};
constexpr int tensor_words_of_32_bits = 2, tensor_promotion_to_128_bytes = 2;

/// The driver's functions by the names of its manual, less the prefix cu and the version suffix.
struct Driver {
  Result (*Init)(unsigned);
  Result (*DriverGetVersion)(int*);
  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*DeviceGetCount)(int*);
  Result (*DeviceGet)(DeviceId*, int);
  Result (*DeviceGetName)(char*, int, DeviceId);
  Result (*DeviceGetAttribute)(int*, int, DeviceId);
  Result (*DeviceTotalMem)(std::size_t*, DeviceId);
  Result (*DevicePrimaryCtxRetain)(ContextHandle*, DeviceId);
  Result (*CtxPushCurrent)(ContextHandle);
  Result (*CtxPopCurrent)(ContextHandle*);
  Result (*CtxSynchronize)();
  Result (*MemGetInfo)(std::size_t*, std::size_t*);
  Result (*DeviceCanAccessPeer)(int*, DeviceId, DeviceId);
  Result (*CtxEnablePeerAccess)(ContextHandle, unsigned);
  Result (*MemAlloc)(DevicePointer*, std::size_t);
  Result (*MemFree)(DevicePointer);
  Result (*MemcpyHtoDAsync)(DevicePointer, const void*, std::size_t, StreamHandle);
  Result (*MemcpyDtoHAsync)(void*, DevicePointer, std::size_t, StreamHandle);
  Result (*MemcpyDtoDAsync)(DevicePointer, DevicePointer, std::size_t, StreamHandle);
  Result (*MemcpyPeerAsync)(DevicePointer, ContextHandle, DevicePointer, ContextHandle, std::size_t,
                            StreamHandle);
  Result (*MemsetD8Async)(DevicePointer, unsigned char, std::size_t, StreamHandle);
  Result (*StreamCreate)(StreamHandle*, unsigned);
  Result (*StreamCreateWithPriority)(StreamHandle*, unsigned, int);
  Result (*CtxGetStreamPriorityRange)(int*, int*);
  Result (*StreamSynchronize)(StreamHandle);
  Result (*StreamWaitEvent)(StreamHandle, EventHandle, unsigned);
  Result (*EventCreate)(EventHandle*, unsigned);
  Result (*EventRecord)(EventHandle, StreamHandle);
  Result (*EventSynchronize)(EventHandle);
  Result (*EventElapsedTime)(float*, EventHandle, EventHandle);
  Result (*EventDestroy)(EventHandle);
  Result (*ModuleLoadData)(ModuleHandle*, const void*);
  Result (*ModuleGetFunction)(FunctionHandle*, ModuleHandle, const char*);
  Result (*ModuleGetGlobal)(DevicePointer*, std::size_t*, ModuleHandle, const char*);
  Result (*FuncSetAttribute)(FunctionHandle, int, int);
  Result (*LaunchKernel)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         StreamHandle, void**, void**);
  Result (*MemHostAlloc)(void**, std::size_t, unsigned);
  Result (*MemFreeHost)(void*);
  Result (*StreamDestroy)(StreamHandle);
  Result (*StreamBeginCapture)(StreamHandle, int);
  Result (*StreamEndCapture)(StreamHandle, GraphHandle*);
  Result (*GraphInstantiateWithFlags)(GraphExecHandle*, GraphHandle, unsigned long long);
  Result (*GraphLaunch)(GraphExecHandle, StreamHandle);
  Result (*GraphDestroy)(GraphHandle);
  Result (*GraphExecDestroy)(GraphExecHandle);
  Result (*TensorMapEncodeTiled)(TensorMap*, int type, unsigned rank, void* address,
                                 const unsigned long long* sizes, const unsigned long long* strides,
                                 const unsigned* box, const unsigned* element_strides, int interleave,
                                 int swizzle, int promotion, int fill);
};

/// The driver, opened and initialised at the first call. Throws BackendUnavailable that says why it is not
/// usable.
const Driver& driver();

/// Empty when driver() can be used, else why not, in words; never throws.
std::string driver_problem();

/// The newest CUDA version that the driver supports: 13000 is 13.0. 0 without a driver.
int driver_version();
std::string driver_file();  ///< what was opened, empty when nothing was

/// Files of a library of the CUDA toolkit that this driver can use, newest first: it takes those of its own major release
/// and of older ones. `names` gives the library's names in one release.
std::vector<std::string> toolkit_files(std::vector<std::string> (*names)(int cuda));

/// Throws DeviceError "CALL: what CUDA says (its name)" unless `result` is success.
void check(Result result, const char* call);
/// The same words without throwing.
std::string explain(Result result, const char* call);

}  // namespace spinloom::cuda

/// Calls a function of the driver and checks its answer: SPINLOOM_CUDA(StreamSynchronize, stream).
#define SPINLOOM_CUDA(function, ...) \
  ::spinloom::cuda::check(::spinloom::cuda::driver().function(__VA_ARGS__), "cu" #function)
