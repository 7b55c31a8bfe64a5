#pragma once
#include <string>

#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// What one element of a file's array is. Numbers in the names are bits, as in the formats' own names.
enum class DType { b1, i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64, c64, c128, rgb24, rgba32 };

Index item_size(DType type);  ///< bytes of one element
bool is_complex(DType type);
bool is_integer(DType type);        ///< i8 to u64; not b1
bool is_colour(DType type);         ///< rgb24, rgba32
std::string to_string(DType type);  ///< "float32", "complex64", "uint8", "bool", "rgb24"
/// The type that such a name means. Throws ArgumentError listing the names.
DType parse_dtype(const std::string& name);

/// How complex values become real ones.
enum class ComplexPart { refuse, magnitude, phase, real, imaginary };

/// An array as a file holds it: elements of a type known at run time, C order, native byte order.
///
/// Conversions never lose something silently: complex to real needs a ComplexPart, colour is never read as
/// grey (split_channels() does that), a value that the wanted type cannot hold is refused with its place.
/// Rounding is no loss in this sense: float32 holds large integers and float64 values to its own precision,
/// and integers are rounded to the nearest, ties to even.
///
/// Errors   ShapeError when as<T>() is asked for another type than the stored one; ArgumentError from
/// conversions
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  Array<std::byte> bytes;

  Tensor() = default;
  /// Not initialised. Throws ShapeError when the size does not fit 63 bits.
  Tensor(DType type, Shape shape_);
  Tensor(DType type, Shape shape_, Array<std::byte> bytes_);
  template <class T>
  static Tensor copy_of(View<const T> values);
  template <class T>
  static Tensor copy_of(const Array<T>& values) {
    return copy_of<T>(values.view());
  }
  Tensor clone() const;

  Index size() const { return bytes.size() / item_size(dtype); }
  /// The same elements under another shape of equal size.
  void reshape(Shape other);

  /// The elements where they lie. T must be the stored type: (u)int8_t to (u)int64_t, float, double, cfloat,
  /// cdouble; b1 is viewed as uint8_t.
  template <class T>
  View<const T> as() const {
    require_type(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes.data()), shape};
  }
  template <class T>
  View<T> as() {
    require_type(dtype_of<T>());
    return {reinterpret_cast<T*>(bytes.data()), shape};
  }

  /// A converted copy; T is float, double, cfloat or cdouble.
  template <class T>
  Array<T> to(ComplexPart part = ComplexPart::refuse) const;

  /// A converted copy of any type but colour.
  Tensor cast(DType target, ComplexPart part = ComplexPart::refuse) const;

  template <class T>
  static constexpr DType dtype_of();

 private:
  void require_type(DType wanted) const;
};

/// rgb24 [z, y, x] -> uint8 [3, z, y, x] and rgba32 -> uint8 [4, z, y, x]; and back.
Tensor split_channels(const Tensor& colour);
Tensor merge_channels(const Tensor& channels);

/// "[1, 2, 3]": where element `i` of an array of this shape lies.
std::string position(const Shape& shape, Index i);

template <class T>
constexpr DType Tensor::dtype_of() {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::i8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::i16;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return DType::u16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return DType::u32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return DType::u64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, cfloat>)
    return DType::c64;
  else {
    static_assert(std::is_same_v<T, cdouble>, "no file type for this C++ type");
    return DType::c128;
  }
}

template <class T>
Tensor Tensor::copy_of(View<const T> values) {
  Tensor t(dtype_of<T>(), values.shape);
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(t.bytes.data()));
  return t;
}

}  // namespace spinloom
