#pragma once
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {

/// Whether run_on(device, ...) takes arrays of these two devices: its own, and the host's.
inline bool can_run_on(Device device, Device in, Device out) {
  const auto is_taken = [&](Device d) { return d.kind != DeviceKind::cuda || d == device; };
  return is_taken(in) && is_taken(out);
}

/// body(in, out) with both arrays where `device` works: the input is brought there when it is not, and the result to where
/// it is wanted.
template <class T, class Body>
void run_on(Device device, View<const T> in, View<T> out, const Body& body) {
  Array<T> in_storage;
  const View<const T> in_here = on_device(in, device, in_storage);
  if (share_memory(out.device, device)) return body(in_here, out);
  Array<T> out_here(out.shape, device);
  body(in_here, out_here.view());
  transfer<T>(out_here.view(), out);
}

}  // namespace spinloom
