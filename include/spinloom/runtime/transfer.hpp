#pragma once
#include "spinloom/core/view.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Copies elements within or between devices; the shapes must agree (ShapeError otherwise). On return host
/// memory is free to use.
template <class T>
void transfer(View<const T> from, View<T> to) {
  require_shape("transfer", "target", to.shape, from.shape);
  copy_bytes(reinterpret_cast<std::byte*>(to.data), to.device, reinterpret_cast<const std::byte*>(from.data),
             from.device, static_cast<std::size_t>(from.size()) * sizeof(T));
}

/// The elements where `device` can reach them: `v` itself when it is there already, else a copy kept in
/// `storage`.
template <class T>
View<const T> on_device(View<const T> v, Device device, Array<T>& storage) {
  const bool both_host = v.device.kind != DeviceKind::cuda && device.kind != DeviceKind::cuda;
  if (v.device == device || both_host) return v;
  storage = Array<T>::copy_of(v, device);
  return storage.view();
}

}  // namespace spinloom
