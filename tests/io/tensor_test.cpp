#include "spinloom/io/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/streams.hpp"
#include "spinloom/core/half.hpp"

namespace spinloom {
namespace {

using testing::refusal;

template <class T>
Tensor tensor(const Shape& shape, const std::vector<T>& values) {
  return Tensor::copy_of(View<const T>(values.data(), shape));
}

TEST(Half, SurvivesFloatAndBackForEveryValue) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    Half h;
    h.bits = static_cast<std::uint16_t>(bits);
    const float wide = h;
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(float(Half(wide))));
    else
      ASSERT_EQ(Half(wide).bits, bits);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(Half(1.0f).bits, 0x3c00);
  EXPECT_EQ(Half(1.0f + 0x1p-11f).bits, 0x3c00);             // half way: down to even
  EXPECT_EQ(Half(1.0f + 0x1p-10f + 0x1p-11f).bits, 0x3c02);  // half way: up to even
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-0x1p-25f).bits, 0x8000);  // half of the smallest: to zero
  EXPECT_EQ(Half(0x1.8p-24f).bits, 0x0002);
}

TEST(Tensor, ConvertsRealToComplex) {
  const auto z = tensor<std::int16_t>({2}, {-3, 7}).to<cfloat>();
  EXPECT_EQ(z[0], cfloat(-3, 0));
  EXPECT_EQ(z[1], cfloat(7, 0));
}

TEST(Tensor, RefusesComplexAsRealUnlessAPartIsChosen) {
  const auto z = tensor<cfloat>({1}, {{3, 4}});
  EXPECT_SAYS(refusal<ArgumentError>([&] { z.to<float>(); }), "choose magnitude");
  EXPECT_EQ(z.to<float>(ComplexPart::magnitude)[0], 5);
  EXPECT_EQ(z.to<double>(ComplexPart::imaginary)[0], 4);
  EXPECT_FLOAT_EQ(z.to<float>(ComplexPart::phase)[0], std::atan2(4.0f, 3.0f));
}

TEST(Tensor, NamesTheValueThatDoesNotFit) {
  const auto text = refusal<ArgumentError>([] {
    tensor<double>({2, 3}, {0, 1, 2, 3, 4, 300}).cast(DType::u8);
  });
  EXPECT_SAYS(text, "300 at [1, 2]");
  EXPECT_SAYS(refusal<ArgumentError>([] { tensor<double>({1}, {1e300}).to<float>(); }),
              "does not fit float32");
  EXPECT_SAYS(refusal<ArgumentError>([] { tensor<float>({1}, {NAN}).cast(DType::i32); }),
              "does not fit int32");
  EXPECT_SAYS(refusal<ArgumentError>([] { tensor<float>({1}, {1e5f}).cast(DType::f16); }),
              "does not fit float16");
}

TEST(Tensor, KnowsTheEdgesOf64BitIntegers) {
  EXPECT_EQ(tensor<double>({1}, {-0x1p63}).cast(DType::i64).as<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::min());
  EXPECT_THROW(tensor<double>({1}, {0x1p63}).cast(DType::i64), ArgumentError);
  EXPECT_THROW(tensor<double>({1}, {-1}).cast(DType::u64), ArgumentError);
  const auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THROW(tensor<std::uint64_t>({1}, {most}).cast(DType::i64), ArgumentError);
  EXPECT_EQ(tensor<std::uint64_t>({1}, {most}).to<double>()[0], 0x1p64);
}

TEST(Tensor, RoundsIntegersToEvenAndKeepsNaNBetweenFloats) {
  const auto r = tensor<float>({4}, {0.5f, 1.5f, -2.5f, 2.49f}).cast(DType::i8);
  const std::int8_t expected[] = {0, 2, -2, 2};
  for (Index i = 0; i < 4; ++i) EXPECT_EQ(r.as<std::int8_t>()[i], expected[i]);
  EXPECT_TRUE(std::isnan(tensor<double>({1}, {NAN}).to<float>()[0]));
  EXPECT_TRUE(std::isinf(tensor<double>({1}, {INFINITY}).to<float>()[0]));
}

TEST(Tensor, RefusesToBeViewedAsAnotherType) {
  EXPECT_SAYS(refusal<ShapeError>([] { tensor<float>({1}, {1}).as<double>(); }),
              "holds float32, expected float64");
}

TEST(Tensor, SplitsColourIntoChannelsAndBack) {
  Tensor colour(DType::rgb24, {2, 2});
  for (Index i = 0; i < 12; ++i) colour.bytes[i] = std::byte(10 * i);
  const Tensor channels = split_channels(colour);
  EXPECT_EQ(channels.shape, (Shape{3, 2, 2}));
  EXPECT_EQ(channels.as<std::uint8_t>()[1 * 4 + 3], 100);  // green of the last pixel
  const Tensor merged = merge_channels(channels);
  EXPECT_TRUE(std::equal(merged.bytes.begin(), merged.bytes.end(), colour.bytes.begin()));
}

TEST(Tensor, NeverReadsColourAsGrey) {
  const Tensor colour(DType::rgb24, {2});
  EXPECT_SAYS(refusal<ArgumentError>([&] { colour.to<float>(); }), "rgb24");
}

TEST(Tensor, RefusesMoreThan63BitsOfBytes) {
  EXPECT_THROW(Tensor(DType::c128, {Index{1} << 60}), ShapeError);
}

TEST(DType, NamesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(DType::rgba32); ++i)
    EXPECT_EQ(parse_dtype(to_string(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_SAYS(refusal<ArgumentError>([] { parse_dtype("float80"); }), "expected one of bool, int8");
}

}  // namespace
}  // namespace spinloom
