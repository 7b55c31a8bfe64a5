#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "spinloom/io/tensor.hpp"
#include "spinloom/runtime/array.hpp"

/// Arrays between Python and the library. What comes in may be of NumPy or of anything that speaks DLPack or the
/// buffer protocol, of any strides, read-only or not, and is never written. Element types are never changed: another
/// type is refused by name. What goes out is a NumPy array over the library's own memory.
namespace spinloom::python {

namespace nb = nanobind;

/// An array as it came. Made and destroyed with the GIL held.
struct Given {
  std::string name;  ///< in messages: "image"
  bool is_numpy = false;
  nb::ndarray<nb::ro> array;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<Index> strides;  ///< in elements
  const std::byte* data = nullptr;

  bool is_packed() const;
  /// Its elements in C order, into `to`.
  void pack(std::byte* to) const;
  /// The bytes that it lies in, from the lowest to behind the highest.
  std::pair<const std::byte*, const std::byte*> extent() const;
};

/// Throws TypeError for what is no array, an element type that has no name here, or memory out of the host's reach.
Given take(nb::handle object, const std::string& name);

/// Throws TypeError that names both types and the way to convert, unless the array has one of `expected`.
void require_dtype(const Given& given, const std::vector<DType>& expected);

/// An array of elements T, as the library takes it.
template <class T>
class Input {
 public:
  Input(nb::handle object, const std::string& name) : given_(take(object, name)) {
    require_dtype(given_, {Tensor::dtype_of<T>()});
  }
  explicit Input(Given given) : given_(std::move(given)) { require_dtype(given_, {Tensor::dtype_of<T>()}); }
  const Shape& shape() const { return given_.shape; }
  const Given& given() const { return given_; }

  /// The elements in C order: where they lie, or packed by the first call. To be called without the GIL.
  View<const T> view() {
    if (given_.is_packed()) return {reinterpret_cast<const T*>(given_.data), given_.shape};
    if (!storage_.data()) {
      storage_ = Array<T>(given_.shape);
      given_.pack(reinterpret_cast<std::byte*>(storage_.data()));
    }
    return storage_.view();
  }

 private:
  Given given_;
  Array<T> storage_;
};

/// The array where a result goes: `out` when it is one, else a new one.
template <class T>
class Output {
 public:
  /// Throws TypeError or ValueError unless `out` is None or a writable, packed array of this type and shape that
  /// shares no memory with `input`.
  Output(nb::handle out, const Shape& shape, const Given* input = nullptr);
  View<T> view() { return view_; }
  /// `out` itself, or a NumPy array that owns the new memory. Call once, with the GIL held.
  nb::object result();

 private:
  nb::object out_;
  nb::ndarray<> kept_;
  Array<T> fresh_;
  View<T> view_;
};

/// A NumPy array over `data`, which lives as long as `owner`.
nb::object wrap(const void* data, DType dtype, const Shape& shape, nb::capsule owner);

/// A NumPy array that owns what `values` held.
nb::object to_numpy(Tensor values);
template <class T>
nb::object to_numpy(Array<T> values) {
  auto* kept = new Array<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
  return wrap(kept->data(), Tensor::dtype_of<T>(), kept->shape(), std::move(owner));
}

/// A tensor that holds a copy of the array's elements.
Tensor to_tensor(const Given& given);

/// The values as double, whatever real type they had (float32 or float64), in C order.
Array<double> to_double(const Given& given);

/// A tuple of ints, or one int, as a shape. Throws TypeError that names it.
Shape to_shape(nb::handle object, const std::string& name);
nb::tuple to_tuple(const Shape& shape);

}  // namespace spinloom::python
