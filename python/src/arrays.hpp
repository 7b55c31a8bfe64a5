#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devices.hpp"
#include "spinloom/io/tensor.hpp"
#include "spinloom/runtime/array.hpp"

/// Arrays between Python and the library. What comes in may be of NumPy or of anything that speaks DLPack or the
/// buffer protocol, of any strides (on a GPU: packed), read-only or not, and is never written. Element types are never
/// changed: another type is refused by name. What goes out lies over the library's own memory: a NumPy array, or, on a GPU,
/// one that speaks DLPack.
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
  Device device;
  const std::byte* data = nullptr;

  bool is_packed() const;
  /// Its elements in C order, into `to`. Of arrays on the host.
  void pack(std::byte* to) const;
  /// The bytes that it lies in, from the lowest to behind the highest.
  std::pair<const std::byte*, const std::byte*> extent() const;
};

/// Why an array that lies there is not taken, "expected ...; what to do"; empty when it is.
using Refusal = std::function<std::string(Device)>;
/// For work on the host alone: how to copy an array called `name` there.
Refusal only_on_host(const std::string& name);
/// For an array that has to lie where another does, or where an operator works.
Refusal only_on(Device device, const std::string& why);

/// Throws TypeError for what is no array, an element type that has no name here, or memory out of reach; ArgumentError
/// for a place that `refusal` does not take, and for an array on a GPU that is not packed. What its library has queued
/// on a GPU for it is done before what ours is given from now on.
Given take(nb::handle object, const std::string& name, const Refusal& refusal);
Given take(nb::handle object, const std::string& name);  ///< on the host

/// Throws TypeError that names both types and the way to convert, unless the array has one of `expected`.
void require_dtype(const Given& given, const std::vector<DType>& expected);

/// An array of elements T, as the library takes it.
template <class T>
class Input {
 public:
  Input(nb::handle object, const std::string& name) : Input(take(object, name)) {}
  Input(nb::handle object, const std::string& name, const Refusal& refusal)
      : Input(take(object, name, refusal)) {}
  explicit Input(Given given) : given_(std::move(given)) { require_dtype(given_, {Tensor::dtype_of<T>()}); }
  const Shape& shape() const { return given_.shape; }
  const Given& given() const { return given_; }
  Device device() const { return given_.device; }

  /// The elements in C order: where they lie, or packed by the first call. To be called without the GIL.
  View<const T> view() {
    if (given_.is_packed()) return {reinterpret_cast<const T*>(given_.data), given_.shape, given_.device};
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

/// The array where a result goes: `out` when it is one, else a new one where `input` lies.
template <class T>
class Output {
 public:
  /// Throws TypeError or ValueError unless `out` is None or a writable, packed array of this type and shape that lies
  /// where `input` does and shares no memory with it.
  Output(nb::handle out, const Shape& shape, const Given& input);
  /// To be called without the GIL.
  View<T> view() {
    if (!out_.is_valid() && !fresh_.data()) view_ = (fresh_ = Array<T>(view_.shape, view_.device)).view();
    return view_;
  }
  /// `out` itself, or an array that owns the new memory. Call once after view(), with the GIL held.
  nb::object result();

 private:
  nb::object out_;
  nb::ndarray<> kept_;
  Array<T> fresh_;
  View<T> view_;
};

/// An element type as DLPack says it.
nb::dlpack::dtype dlpack_type(DType dtype);

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

/// The same of an array of any device.
template <class T>
nb::object to_python(Array<T> values) {
  if (values.device().kind != DeviceKind::cuda) return to_numpy(std::move(values));
  auto kept = std::make_shared<Array<T>>(std::move(values));
  return wrap_device(kept->data(), Tensor::dtype_of<T>(), kept->shape(), kept->device(), kept);
}

/// A tensor that holds a copy of the array's elements.
Tensor to_tensor(const Given& given);

/// The values as double, whatever real type they had (float32 or float64), in C order.
Array<double> to_double(const Given& given);

/// A tuple of ints, or one int, as a shape. Throws TypeError that names it.
Shape to_shape(nb::handle object, const std::string& name);
nb::tuple to_tuple(const Shape& shape);

}  // namespace spinloom::python
