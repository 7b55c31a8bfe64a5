#include "spinloom/io/tensor.hpp"

#include <fmt/format.h>

#include <iterator>

#include "io/convert_element.hpp"
#include "io/visit_tensor.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

struct TypeFacts {
  DType type;
  Index size;
  const char* name;
};
constexpr TypeFacts facts[] = {
    {DType::b1, 1, "bool"},       {DType::i8, 1, "int8"},          {DType::u8, 1, "uint8"},
    {DType::i16, 2, "int16"},     {DType::u16, 2, "uint16"},       {DType::i32, 4, "int32"},
    {DType::u32, 4, "uint32"},    {DType::i64, 8, "int64"},        {DType::u64, 8, "uint64"},
    {DType::f16, 2, "float16"},   {DType::f32, 4, "float32"},      {DType::f64, 8, "float64"},
    {DType::c64, 8, "complex64"}, {DType::c128, 16, "complex128"}, {DType::rgb24, 3, "rgb24"},
    {DType::rgba32, 4, "rgba32"},
};

const TypeFacts& facts_of(DType type) {
  const auto i = static_cast<std::size_t>(type);
  if (i >= std::size(facts)) throw ArgumentError(fmt::format("element type number {} is unknown", i));
  return facts[i];
}

Shape byte_shape(DType type, const Shape& shape) {
  Index bytes = 0;
  if (__builtin_mul_overflow(count(shape), item_size(type), &bytes))
    throw ShapeError(
        fmt::format("shape {} of {} has more than 2^63 bytes", to_string(shape), to_string(type)));
  return {bytes};
}

template <class To>
void convert(const Tensor& from, To* to, const char* name, ComplexPart part) {
  visit_elements(from, [&](const auto* elements) {
    using From = std::remove_cvref_t<decltype(*elements)>;
    if constexpr (is_complex_type<From> && !is_complex_type<To>)
      if (part == ComplexPart::refuse)
        throw ArgumentError(
            fmt::format("the values are complex ({}), expected real ones ({}); choose magnitude, phase, "
                        "real or imaginary part",
                        to_string(from.dtype), name));
    const Index size = from.size();
    for (Index i = 0; i < size; ++i) {
      if (i % (1 << 20) == 0) check_interrupt();
      if (convert_element(elements[i], to[i], part)) continue;
      std::string value;
      if constexpr (is_complex_type<From>)
        value = fmt::format("({}, {})", elements[i].real(), elements[i].imag());
      else if constexpr (std::is_same_v<From, Half>)
        value = fmt::format("{}", static_cast<float>(elements[i]));
      else
        value = fmt::format("{}", elements[i]);
      throw ArgumentError(fmt::format("the value {} at {} does not fit {}; choose a wider type", value,
                                      position(from.shape, i), name));
    }
  });
}

}  // namespace

Index item_size(DType type) { return facts_of(type).size; }
bool is_complex(DType type) { return type == DType::c64 || type == DType::c128; }
bool is_integer(DType type) { return type >= DType::i8 && type <= DType::u64; }
bool is_colour(DType type) { return type == DType::rgb24 || type == DType::rgba32; }
std::string to_string(DType type) { return facts_of(type).name; }

DType parse_dtype(const std::string& name) {
  std::string known;
  for (const TypeFacts& f : facts) {
    if (name == f.name) return f.type;
    known += (known.empty() ? "" : ", ") + std::string(f.name);
  }
  throw ArgumentError(fmt::format("element type '{}' is unknown, expected one of {}", name, known));
}

Tensor::Tensor(DType type, Shape shape_)
    : dtype(type), shape(std::move(shape_)), bytes(byte_shape(dtype, shape)) {}

Tensor::Tensor(DType type, Shape shape_, Array<std::byte> bytes_)
    : dtype(type), shape(std::move(shape_)), bytes(std::move(bytes_)) {
  require_shape("tensor of " + to_string(type) + " " + to_string(shape), "storage", bytes.shape(),
                byte_shape(type, shape));
}

Tensor Tensor::clone() const {
  return bytes.data() == nullptr ? Tensor() : Tensor(dtype, shape, bytes.clone());
}

void Tensor::reshape(Shape other) {
  require_shape("tensor " + to_string(shape) + " as " + to_string(other), "element count", {count(other)},
                {size()});
  shape = std::move(other);
}

void Tensor::require_type(DType wanted) const {
  if (dtype == wanted || (dtype == DType::b1 && wanted == DType::u8)) return;
  throw ShapeError(fmt::format("tensor {} holds {}, expected {}; convert it with to<T>()", to_string(shape),
                               to_string(dtype), to_string(wanted)));
}

template <class T>
Array<T> Tensor::to(ComplexPart part) const {
  Array<T> result(shape);
  convert(*this, result.data(), to_string(dtype_of<T>()).c_str(), part);
  return result;
}
template Array<float> Tensor::to<float>(ComplexPart) const;
template Array<double> Tensor::to<double>(ComplexPart) const;
template Array<cfloat> Tensor::to<cfloat>(ComplexPart) const;
template Array<cdouble> Tensor::to<cdouble>(ComplexPart) const;

Tensor Tensor::cast(DType target, ComplexPart part) const {
  if (target == dtype) return clone();
  if (is_colour(target))
    throw ArgumentError(
        fmt::format("{} values cannot become {}: colour is no number", to_string(dtype), to_string(target)));
  Tensor result(target, shape);
  const std::string name = to_string(target);
  if (target == DType::b1) {
    visit_elements(*this, [&](const auto* elements) {
      using From = std::remove_cvref_t<decltype(*elements)>;
      auto* to = reinterpret_cast<std::uint8_t*>(result.bytes.data());
      for (Index i = 0; i < size(); ++i) {
        if constexpr (std::is_same_v<From, Half>)
          to[i] = static_cast<float>(elements[i]) != 0.0f;
        else
          to[i] = elements[i] != From(0);
      }
    });
    return result;
  }
  // The const view's switch names the target type; the result's own memory is what is written.
  visit_elements(result, [&](const auto* typed) {
    using To = std::remove_cvref_t<decltype(*typed)>;
    convert(*this, reinterpret_cast<To*>(result.bytes.data()), name.c_str(), part);
  });
  return result;
}

Tensor split_channels(const Tensor& colour) {
  if (!is_colour(colour.dtype))
    throw ArgumentError(fmt::format("the image holds {}, expected colour to split", to_string(colour.dtype)));
  const Index channels = item_size(colour.dtype), voxels = colour.size();
  Tensor split(DType::u8, prepend(channels, colour.shape));
  for (Index c = 0; c < channels; ++c)
    for (Index i = 0; i < voxels; ++i) split.bytes[c * voxels + i] = colour.bytes[i * channels + c];
  return split;
}

Tensor merge_channels(const Tensor& channels) {
  if (channels.dtype != DType::u8 || channels.shape.empty() ||
      (channels.shape[0] != 3 && channels.shape[0] != 4))
    throw ShapeError(fmt::format("colour channels are {} {}, expected uint8 [3, ...] or [4, ...]",
                                 to_string(channels.dtype), to_string(channels.shape)));
  const Index n = channels.shape[0];
  Tensor colour(n == 3 ? DType::rgb24 : DType::rgba32,
                Shape(channels.shape.begin() + 1, channels.shape.end()));
  const Index voxels = colour.size();
  for (Index c = 0; c < n; ++c)
    for (Index i = 0; i < voxels; ++i) colour.bytes[i * n + c] = channels.bytes[c * voxels + i];
  return colour;
}

std::string position(const Shape& shape, Index i) {
  Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = shape[axis] > 0 ? i % shape[axis] : 0;
    i = shape[axis] > 0 ? i / shape[axis] : 0;
  }
  return to_string(place);
}

}  // namespace spinloom
