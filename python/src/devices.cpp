#include "devices.hpp"

#include <fmt/format.h>

#include <list>
#include <mutex>

#include "arrays.hpp"

namespace spinloom::python {
namespace {

struct Kept {
  Device device;
  std::shared_ptr<const void> memory;
};

/// What Python has let go of and a GPU may still read. A list, so that adding to it cannot fail.
struct LetGo {
  std::mutex guard;
  std::list<Kept> memory;
};
LetGo& let_go() {
  static auto& all = *new LetGo;  // arrays are collected until the very end of the process
  return all;
}

/// May be called by any thread, with the GIL, and at any time: it touches no GPU and waits for nobody.
void release(void* pointer) noexcept {
  const std::unique_ptr<std::list<Kept>> one(static_cast<std::list<Kept>*>(pointer));
  LetGo& all = let_go();
  const std::lock_guard lock(all.guard);
  all.memory.splice(all.memory.end(), *one);
}

}  // namespace

Device place_of(int device_type, int device_id, const std::string& name) {
  switch (device_type) {
    case nb::device::cpu::value:
    case nb::device::cuda_host::value: return {};
    case nb::device::cuda::value:
    case nb::device::cuda_managed::value: return {DeviceKind::cuda, device_id};
    default: break;
  }
  const std::string text = fmt::format(
      "{} lies on a device (DLPack type {}, number {}) that is neither the host nor an NVIDIA GPU; copy it "
      "to "
      "the host, for example with {}.cpu()",
      name, device_type, device_id, name);
  throw nb::type_error(text.c_str());
}

Device place_of(nb::handle object, const std::string& name) {
  if (!nb::hasattr(object, "__dlpack_device__")) return {};
  int type = 0, number = 0;
  try {
    const nb::object place = object.attr("__dlpack_device__")();
    type = nb::cast<int>(nb::int_(place[0]));
    number = nb::cast<int>(nb::int_(place[1]));
  } catch (std::exception& e) {
    const std::string text = fmt::format("{} cannot say where it lies: {}", name, e.what());
    throw nb::type_error(text.substr(0, text.find('\n')).c_str());
  }
  return place_of(type, number, name);
}

nb::object wrap_device(const void* data, DType dtype, const Shape& shape, Device device,
                       std::shared_ptr<const void> owner) {
  auto kept = std::make_unique<std::list<Kept>>();
  kept->push_back({device, std::move(owner)});
  nb::capsule capsule(kept.get(), &release);
  kept.release();
  const std::vector<std::size_t> extents(shape.begin(), shape.end());
  nb::ndarray<nb::array_api> array(const_cast<void*>(data), extents.size(), extents.data(), capsule, nullptr,
                                   dlpack_type(dtype), nb::device::cuda::value, device.index);
  return nb::cast(array);
}

void take_back_memory(Device device) noexcept {
  if (device.kind != DeviceKind::cuda) return;
  LetGo& all = let_go();
  std::list<Kept> here;
  {
    const std::lock_guard lock(all.guard);
    for (auto next = all.memory.begin(); next != all.memory.end();) {
      const auto one = next++;
      if (one->device == device) here.splice(here.end(), all.memory, one);
    }
  }
  if (here.empty()) return;
  try {
    synchronize_all(device);
  } catch (...) {  // while somebody records a graph there is no waiting; at a later call there is
    const std::lock_guard lock(all.guard);
    all.memory.splice(all.memory.end(), here);
  }
}

}  // namespace spinloom::python
