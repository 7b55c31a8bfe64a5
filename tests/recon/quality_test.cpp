#include "spinloom/recon/quality.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/streams.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

using testing::refusal;

template <class T, class F>
Tensor image(const Shape& shape, const F& value) {
  Tensor t(Tensor::dtype_of<T>(), shape);
  for (Index i = 0; i < t.size(); ++i)
    t.as<T>()[i] = T(value(double(i / shape.back()), double(i % shape.back())));
  return t;
}

double smooth(double y, double x) { return std::sin(.3 * x) + std::cos(.2 * y * x / 7) + 2; }
double wavy(double y, double x) { return smooth(y, x) + .25 * std::cos(1.7 * x + 2.3 * y); }

const Shape slice{23, 29};

TEST(Quality, AgreesWithScikitImage) {
  // scikit-image 0.2x: structural_similarity(a, b, data_range=b.max(), gaussian_weights=True, sigma=1.5,
  // use_sample_covariance=False), peak_signal_noise_ratio; numpy for the others.
  const Quality q = compare_images(image<double>(slice, wavy), image<double>(slice, smooth));
  EXPECT_NEAR(q.ssim, 0.9379073449542428, 1e-12);
  EXPECT_NEAR(q.psnr_db, 27.08711384027925, 1e-10);
  EXPECT_NEAR(q.nrmse, 0.07021419516951334, 1e-13);
  EXPECT_NEAR(q.correlation, 0.9850332548074192, 1e-12);
  EXPECT_EQ(q.elements, 23 * 29);
}

/// SSIM of one voxel straight from the definition, window cut at the border.
double ssim_at(const Tensor& a, const Tensor& b, Index y, Index x, double range) {
  const Index h = a.shape[0], w = a.shape[1];
  double sum = 0, ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
  for (Index v = std::max<Index>(0, y - 5); v <= std::min(h - 1, y + 5); ++v)
    for (Index u = std::max<Index>(0, x - 5); u <= std::min(w - 1, x + 5); ++u) {
      const double g = std::exp(-double((v - y) * (v - y) + (u - x) * (u - x)) / 4.5);
      const double p = a.as<double>()[v * w + u], q = b.as<double>()[v * w + u];
      sum += g, ma += g * p, mb += g * q, aa += g * p * p, bb += g * q * q, ab += g * p * q;
    }
  ma /= sum, mb /= sum;
  const double va = aa / sum - ma * ma, vb = bb / sum - mb * mb, cov = ab / sum - ma * mb;
  const double c1 = 1e-4 * range * range, c2 = 9e-4 * range * range;
  return (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
}

TEST(Quality, SsimOfSmallSlicesCutsTheWindow) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 4}, Shape{1, 40}, Shape{10, 30}}) {
    const Tensor a = image<double>(shape, wavy), b = image<double>(shape, smooth);
    double range = 0, mean = 0;
    for (const double v : b.as<double>()) range = std::max(range, std::abs(v));
    for (Index y = 0; y < shape[0]; ++y)
      for (Index x = 0; x < shape[1]; ++x) mean += ssim_at(a, b, y, x, range) / double(count(shape));
    EXPECT_NEAR(compare_images(a, b).ssim, mean, 1e-12) << to_string(shape);
  }
}

TEST(Quality, SlicesOfAVolumeAreAveraged) {
  Tensor a = image<double>({46, 29}, wavy), b = image<double>({46, 29}, smooth);
  a.reshape({2, 23, 29});
  b.reshape({2, 23, 29});
  double mean = 0;
  for (Index s = 0; s < 2; ++s)
    for (Index y = 5; y < 18; ++y)
      for (Index x = 5; x < 24; ++x) {
        const Tensor sa = Tensor::copy_of<double>(std::as_const(a).as<double>().slice(s)),
                     sb = Tensor::copy_of<double>(std::as_const(b).as<double>().slice(s));
        double range = 0;
        for (const double v : b.as<double>()) range = std::max(range, std::abs(v));
        mean += ssim_at(sa, sb, y, x, range) / (2 * 13 * 19);
      }
  EXPECT_NEAR(compare_images(a, b).ssim, mean, 1e-12);
}

TEST(Quality, EqualImagesArePerfect) {
  const Tensor a = image<float>(slice, smooth);
  const Quality q = compare_images(a, a);
  EXPECT_EQ(q.nrmse, 0);
  EXPECT_EQ(q.max_abs_difference, 0);
  EXPECT_TRUE(std::isinf(q.psnr_db));
  EXPECT_NEAR(q.ssim, 1, 1e-14);
  EXPECT_NEAR(q.correlation, 1, 1e-14);
}

TEST(Quality, ZeroImagesHaveDefinedValues) {
  const Tensor zero = image<double>(slice, [](double, double) { return 0; }),
               b = image<double>(slice, smooth);
  EXPECT_EQ(compare_images(zero, zero).nrmse, 0);
  EXPECT_EQ(compare_images(zero, zero).ssim, 1);
  EXPECT_TRUE(std::isinf(compare_images(b, zero).nrmse));
  EXPECT_EQ(compare_images(zero, b).nrmse, 1);
  EXPECT_TRUE(std::isnan(compare_images(zero, b).correlation));
  EXPECT_SAYS(refusal<ArgumentError>([&] { compare_images(zero, b, {.fit_scale = true}); }), "no scale");
}

TEST(Quality, FindsTheComplexScaleThatWasApplied) {
  const auto value = [](double y, double x) { return cdouble(smooth(y, x), std::sin(y + .1 * x)); };
  const cdouble factor = std::polar(2.5, 0.7);
  const Tensor b = image<cdouble>(slice, value);
  const Tensor a = image<cdouble>(slice, [&](double y, double x) { return value(y, x) / factor; });
  const Quality q = compare_images(a, b, {.fit_scale = true});
  EXPECT_LT(std::abs(q.scale - factor), 1e-14);
  EXPECT_LT(q.nrmse, 1e-14);  // a few roundings of each product
  EXPECT_TRUE(q.is_complex);
  EXPECT_GT(compare_images(a, b).nrmse, 0.5);
  EXPECT_NEAR(compare_images(a, b).correlation, 1, 1e-14);  // a factor does not change the modulus
}

TEST(Quality, ComparesMagnitudesWhenOneSideIsReal) {
  const Tensor b = image<float>(slice, smooth);
  const Tensor a = image<cfloat>(slice, [](double y, double x) { return std::polar(smooth(y, x), x); });
  const Quality q = compare_images(a, b);
  EXPECT_TRUE(q.is_magnitude);
  EXPECT_LT(q.nrmse, 1e-6);  // single precision polar form
}

TEST(Quality, LooksOnlyInsideTheMask) {
  Tensor a = image<double>(slice, smooth), b = a.clone();
  a.as<double>()[3] = 100;
  a.as<double>()[4] = NAN;
  Tensor mask(DType::u8, slice);
  std::fill(mask.bytes.begin(), mask.bytes.end(), std::byte{1});
  mask.bytes[3] = mask.bytes[4] = std::byte{0};
  const Quality q = compare_images(a, b, {.mask = &mask});
  EXPECT_EQ(q.nrmse, 0);
  EXPECT_EQ(q.elements, 23 * 29 - 2);
  std::fill(mask.bytes.begin(), mask.bytes.end(), std::byte{0});
  EXPECT_SAYS(refusal<ArgumentError>([&] { compare_images(b, b, {.mask = &mask}); }), "nothing to compare");
}

TEST(Quality, OneMaskServesAllFrames) {
  Tensor a = image<double>({2, 3}, smooth), b = image<double>({2, 3}, wavy);
  Tensor mask(DType::b1, {3});
  mask.bytes[0] = mask.bytes[2] = std::byte{0};
  mask.bytes[1] = std::byte{1};
  const Quality q = compare_images(a, b, {.mask = &mask});
  EXPECT_EQ(q.elements, 2);
  EXPECT_NEAR(q.max_abs_difference, .25 * std::max(std::abs(std::cos(1.7)), std::abs(std::cos(4.0))), 1e-14);
  Tensor holes(DType::f32, {3});
  holes.as<float>()[1] = NAN;
  EXPECT_SAYS(refusal<ArgumentError>([&] { compare_images(a, b, {.mask = &holes}); }), "not numbers");
  Tensor misfit(DType::b1, {2});
  EXPECT_SAYS(refusal<ShapeError>([&] { compare_images(a, b, {.mask = &misfit}); }),
              "the mask has shape [2]");
}

TEST(Quality, NamesThePlaceOfAValueThatIsNotFinite) {
  Tensor a = image<double>(slice, smooth), b = a.clone();
  b.as<double>()[2 * 29 + 5] = NAN;
  EXPECT_SAYS(refusal<ArgumentError>([&] { compare_images(a, b); }), "the reference holds NaN at [2, 5]");
  b.as<double>()[2 * 29 + 5] = 0;
  a.as<double>()[7] = -INFINITY;
  EXPECT_SAYS(refusal<ArgumentError>([&] { compare_images(a, b); }), "the image holds infinity at [0, 7]");
}

TEST(Quality, RefusesOtherShapesEmptyImagesAndColour) {
  EXPECT_SAYS(refusal<ShapeError>([] {
                compare_images(image<float>({2, 3}, smooth), image<float>({3, 2}, smooth));
              }),
              "[2, 3], the reference [3, 2]");
  EXPECT_THROW(compare_images(Tensor(DType::f32, {0}), Tensor(DType::f32, {0})), ArgumentError);
  EXPECT_THROW(compare_images(Tensor(DType::rgb24, {1}), Tensor(DType::rgb24, {1})), ArgumentError);
}

TEST(Quality, GivesTheSameBitsForAnyThreadCount) {
  const Tensor a = image<float>({40, 60, 50}, wavy), b = image<float>({40, 60, 50}, smooth);
  const int before = thread_count();
  set_thread_count(1);
  const Quality one = compare_images(a, b);
  for (const int threads : {2, 5}) {
    set_thread_count(threads);
    const Quality many = compare_images(a, b);
    EXPECT_EQ(one.nrmse, many.nrmse);
    EXPECT_EQ(one.ssim, many.ssim);
    EXPECT_EQ(one.correlation, many.correlation);
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace spinloom
