#pragma once
#include <type_traits>
#include <utility>

#include "spinloom/core/device.hpp"
#include "spinloom/core/shape.hpp"

namespace spinloom {

/// A dense array in C order that somebody else owns: pointer, shape and device. Cheap to pass, never checked
/// for lifetime. Non-contiguous data is packed by whoever meets it first (files, Python), never here.
template <class T>
struct View {
  T* data = nullptr;
  Shape shape;
  Device device;

  View() = default;
  View(T* data_, Shape shape_, Device device_ = {}) : data(data_), shape(std::move(shape_)), device(device_) {}

  /// View<T> converts to View<const T>.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  View(const View<U>& other) : data(other.data), shape(other.shape), device(other.device) {}

  Index size() const { return count(shape); }
  T* begin() const { return data; }
  T* end() const { return data + size(); }
  T& operator[](Index i) const { return data[i]; }
  bool empty() const { return size() == 0; }

  /// Entry i along the first axis, or `length` entries from i on.
  View slice(Index i) const {
    const Shape inner(shape.begin() + 1, shape.end());
    return {data + i * count(inner), inner, device};
  }
  View slices(Index i, Index length) const {
    Shape part = shape;
    part[0] = length;
    return {data + i * count(Shape(shape.begin() + 1, shape.end())), part, device};
  }
  /// The same elements under another shape of equal size.
  View reshaped(Shape other) const {
    require_shape("View::reshaped", "element count", {count(other)}, {size()});
    return {data, std::move(other), device};
  }
};

}  // namespace spinloom
