#pragma once
#include "spinloom/core/error.hpp"
#include "spinloom/core/half.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// Calls body(const T* elements) with T the element type; b1 counts as uint8_t, f16 as Half. Colour has no
/// arithmetic type and is refused.
template <class Body>
decltype(auto) visit_elements(const Tensor& t, const Body& body) {
  const std::byte* p = t.bytes.data();
  switch (t.dtype) {
    case DType::b1:
    case DType::u8: return body(reinterpret_cast<const std::uint8_t*>(p));
    case DType::i8: return body(reinterpret_cast<const std::int8_t*>(p));
    case DType::i16: return body(reinterpret_cast<const std::int16_t*>(p));
    case DType::u16: return body(reinterpret_cast<const std::uint16_t*>(p));
    case DType::i32: return body(reinterpret_cast<const std::int32_t*>(p));
    case DType::u32: return body(reinterpret_cast<const std::uint32_t*>(p));
    case DType::i64: return body(reinterpret_cast<const std::int64_t*>(p));
    case DType::u64: return body(reinterpret_cast<const std::uint64_t*>(p));
    case DType::f16: return body(reinterpret_cast<const Half*>(p));
    case DType::f32: return body(reinterpret_cast<const float*>(p));
    case DType::f64: return body(reinterpret_cast<const double*>(p));
    case DType::c64: return body(reinterpret_cast<const cfloat*>(p));
    case DType::c128: return body(reinterpret_cast<const cdouble*>(p));
    case DType::rgb24:
    case DType::rgba32: break;
  }
  throw ArgumentError("the image is in colour (" + to_string(t.dtype) +
                      "), expected one number per voxel; split it into its channels first");
}

}  // namespace spinloom
