#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "spinloom/core/view.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom {

/// A dense array in C order that owns its memory. Moves and refuses to be copied by accident: copies are
/// written clone(). Elements are NOT initialised by the shape constructor; use zeros(). On a GPU the elements
/// are out of the host's reach: operator[], begin() and end() are for host arrays, copy_of() moves between
/// devices.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "arrays hold plain values");

 public:
  Array() = default;
  explicit Array(Shape shape, Device device = {})
      : storage_(allocate(static_cast<std::size_t>(count(shape)) * sizeof(T), device)),
        view_(reinterpret_cast<T*>(storage_.get()), std::move(shape), device) {}
  Array(Array&&) noexcept = default;
  Array& operator=(Array&&) noexcept = default;

  static Array zeros(Shape shape, Device device = {}) {
    Array a(std::move(shape), device);
    zero_bytes(reinterpret_cast<std::byte*>(a.data()), device,
               static_cast<std::size_t>(a.size()) * sizeof(T));
    return a;
  }
  static Array full(Shape shape, T value, Device device = {}) {
    if (device.kind == DeviceKind::cuda) return copy_of(full(std::move(shape), value).view(), device);
    Array a(std::move(shape), device);
    std::fill(a.begin(), a.end(), value);
    return a;
  }
  template <class U>
  static Array copy_of(const View<U>& v) {
    return copy_of(v, v.device);
  }
  /// The same elements on another device: copy_of(image, {DeviceKind::cuda, 0}).
  template <class U>
  static Array copy_of(const View<U>& v, Device device) {
    static_assert(std::is_same_v<std::remove_const_t<U>, T>);
    Array a(v.shape, device);
    copy_bytes(reinterpret_cast<std::byte*>(a.data()), device, reinterpret_cast<const std::byte*>(v.data),
               v.device, static_cast<std::size_t>(v.size()) * sizeof(T));
    return a;
  }
  Array clone() const { return copy_of(view_); }

  const Shape& shape() const { return view_.shape; }
  Device device() const { return view_.device; }
  Index size() const { return view_.data == nullptr ? 0 : view_.size(); }
  bool empty() const { return size() == 0; }
  T* data() { return view_.data; }
  const T* data() const { return view_.data; }
  T* begin() { return view_.data; }
  T* end() { return view_.data + size(); }
  const T* begin() const { return view_.data; }
  const T* end() const { return view_.data + size(); }
  T& operator[](Index i) { return view_.data[i]; }
  const T& operator[](Index i) const { return view_.data[i]; }

  View<T> view() { return view_; }
  View<const T> view() const { return view_; }
  operator View<T>() { return view_; }
  operator View<const T>() const { return view_; }

 private:
  std::shared_ptr<std::byte> storage_;
  View<T> view_;
};

}  // namespace spinloom
