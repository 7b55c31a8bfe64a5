#pragma once
#include <algorithm>
#include <cstring>
#include <optional>

#include "arrays.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/nlm/front_end.hpp"
#include "spinloom/nlm/slabs.hpp"

/// An image of any element type as planes for nlm_slabs().
namespace spinloom::python {

/// work(View<const From>) on a tensor of any type that an image may have; float16 has been widened before.
template <class Work>
void with_elements(const Tensor& t, Work&& work) {
  switch (t.dtype) {
    case DType::b1: return work(View<const bool>(reinterpret_cast<const bool*>(t.bytes.data()), t.shape));
    case DType::i8: return work(t.as<std::int8_t>());
    case DType::u8: return work(t.as<std::uint8_t>());
    case DType::i16: return work(t.as<std::int16_t>());
    case DType::u16: return work(t.as<std::uint16_t>());
    case DType::i32: return work(t.as<std::int32_t>());
    case DType::u32: return work(t.as<std::uint32_t>());
    case DType::i64: return work(t.as<std::int64_t>());
    case DType::u64: return work(t.as<std::uint64_t>());
    case DType::f32: return work(t.as<float>());
    case DType::f64: return work(t.as<double>());
    default: throw ArgumentError("image has dtype " + to_string(t.dtype) + ", expected a real one");
  }
}

/// Planes of an image of any type, converted as they are asked for: of a mapped file, little is in memory at a time.
template <class Real>
class ConvertedPlanes final : public PlaneSource<Real> {
 public:
  ConvertedPlanes(const Given& image, NlmRange range, bool has_channels)
      : image_(image), range_(range), plane_(count(image.shape) / image.shape[0]) {
    if (has_channels) channel_axis_ = -1;
  }
  void read(Index first, Index planes, Real* to) override {
    const Index at_once = std::max<Index>(1, (Index{4} << 20) / std::max<Index>(1, plane_));
    for (const Index end = first + planes; first < end; first += at_once) {
      Shape shape = image_.shape;
      shape[0] = std::min(at_once, end - first);
      Tensor part(image_.dtype, shape);
      std::memcpy(part.bytes.data(), image_.data + first * plane_ * item_size(image_.dtype),
                  static_cast<std::size_t>(part.bytes.size()));
      if (part.dtype == DType::f16) part = part.cast(DType::f32);
      const Shape working = nlm_working_shape(shape, channel_axis_);
      with_elements(part, [&](const auto& elements) {
        nlm_import(elements, channel_axis_, range_, View<Real>(to, working));
      });
      to += count(shape);
    }
  }

 private:
  const Given& image_;
  NlmRange range_;
  Index plane_;
  std::optional<Index> channel_axis_;
};

template <class Real>
class PlanesInto final : public PlaneSink<Real> {
 public:
  PlanesInto(Real* to, Index plane) : to_(to), plane_(plane) {}
  void write(Index planes, const Real* values) override {
    to_ = std::copy(values, values + planes * plane_, to_);
  }

 private:
  Real* to_;
  Index plane_;
};

}  // namespace spinloom::python
