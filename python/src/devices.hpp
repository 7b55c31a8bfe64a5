#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <type_traits>

#include "spinloom/core/device.hpp"
#include "spinloom/io/tensor.hpp"
#include "spinloom/runtime/cuda.hpp"

/// GPU memory between Python and the library.
///
/// Order    What a Python library has queued on its stream comes before our reading: it is given our stream, which it
///          makes wait (DLPack's protocol). What we do comes before all that follows the call: the call returns when the
///          GPU has done it, so an array may be changed or freed then, on any stream.
/// Lifetime A result holds its memory until the last array over it is gone. It may be gone for Python while a kernel of
///          somebody's still reads it; so it is kept aside, and becomes the pool's again at the next call that uses the
///          GPU, once all that runs there has ended.
namespace spinloom::python {

namespace nb = nanobind;

/// Where an array says that its elements lie, by __dlpack_device__(); the host where it says nothing. Throws TypeError
/// for memory that is neither the host's nor of an NVIDIA GPU.
Device place_of(nb::handle object, const std::string& name);
/// The same of DLPack's two numbers.
Device place_of(int device_type, int device_id, const std::string& name);

/// An array of no library, that speaks DLPack, over memory of a GPU which lives as long as it.
nb::object wrap_device(const void* data, DType dtype, const Shape& shape, Device device,
                       std::shared_ptr<const void> owner);

/// Gives the pool what Python has let go of. Without the GIL.
void take_back_memory(Device device) noexcept;

/// Waits for a GPU even after an exception: work that was issued may still use arrays of Python's.
struct Settled {
  Device device;
  ~Settled() {
    try {
      synchronize(device);
    } catch (...) {
    }
  }
};

/// Calls `work`, which may use a GPU; when it returns or throws, the GPU has done what it was given. Without the GIL.
template <class Work>
auto on_gpu_of(Device device, Work&& work) {
  take_back_memory(device);
  const Settled settled{device};
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    synchronize(device);
  } else {
    auto result = work();
    synchronize(device);
    return result;
  }
}

}  // namespace spinloom::python
