#include <cmath>
#include <limits>

#include "nlm/golden.hpp"
#include "spinloom/nlm/estimate_sigma.hpp"

/// The reference device against what scikit-image gave.
namespace spinloom {
namespace {

using testing::Golden;
using testing::goldens;
using testing::imported;

constexpr Device reference_device{DeviceKind::reference, 0};

/// Largest difference; infinite where one is a number and the other is not, 0 where both are NaN.
template <class Real>
double difference(View<const Real> a, View<const Real> b) {
  double worst = a.shape == b.shape ? 0 : std::numeric_limits<double>::infinity();
  for (Index i = 0; worst < std::numeric_limits<double>::infinity() && i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double d = a[i] == b[i] ? 0 : std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = std::max(worst, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

template <class Real>
void expect_same_bits(Golden& g) {
  const Array<Real> values = imported<Real>(g);
  Array<Real> filtered = Array<Real>::full(values.shape(), std::numeric_limits<Real>::quiet_NaN());
  nlm<Real>({values.data(), values.shape(), reference_device}, g.options, filtered.view());
  const Array<Real> result = nlm_export_squeezed<Real>(filtered.view(), g.channel_axis, g.options.mode);
  ASSERT_EQ(g.out.dtype, Tensor::dtype_of<Real>());
  // Classic mode in single precision: NumPy's float exp, and how it scales the weights, differ by version.
  const bool is_exact = g.options.mode == NlmMode::fast || std::is_same_v<Real, double>;
  EXPECT_LE(difference<Real>(result, g.out.as<Real>()), is_exact ? 0 : 2e-6);
}

TEST(NlmReference, HasScikitImagesBitsOnAllGoldenCases) {
  int compared = 0;
  for (Golden& g : goldens()) {
    SCOPED_TRACE(g.name);
    g.options.compat = NlmCompat::scikit_image;
    const bool in_float = g.in.dtype == DType::f32 || g.in.dtype == DType::f16;
    in_float ? expect_same_bits<float>(g) : expect_same_bits<double>(g);
    ++compared;
  }
  EXPECT_EQ(compared, 41);
}

TEST(NlmReference, KeepsItsHeadWhereScikitImageLosesIt) {
  int met = 0;
  for (Golden& g : goldens()) {
    if (g.name.rfind("bug_", 0) != 0) continue;
    SCOPED_TRACE(g.name);
    const Array<double> values = imported<double>(g);
    Array<double> filtered = Array<double>::full(values.shape(), -1e9);
    nlm<double>({values.data(), values.shape(), reference_device}, g.options, filtered.view());
    double low = 1e9, high = -1e9;
    Index nan_in = 0, nan_out = 0;
    for (const double v : values) low = std::min(low, v), high = std::max(high, v), nan_in += std::isnan(v);
    for (const double v : filtered) {
      nan_out += std::isnan(v);
      if (!std::isnan(v)) {
        EXPECT_GE(v, low);
        EXPECT_LE(v, high);
      }
    }
    EXPECT_EQ(nan_out, nan_in);
    ++met;
  }
  EXPECT_EQ(met, 2);
}

TEST(EstimateSigma, AgreesWithScikitImage) {
  const auto index = testing::golden_index()["estimate_sigma"];
  ASSERT_EQ(index.size(), 4u);
  for (const auto& [name, entry] : index.items()) {
    SCOPED_TRACE(name);
    const Tensor image = read_npy(testing::golden_file("sigma_" + name + ".in.npy"));
    std::optional<Index> channel_axis;
    if (!entry["channel_axis"].is_null()) channel_axis = entry["channel_axis"].get<Index>();
    Shape shape = image.shape;
    if (!channel_axis) shape.push_back(1);
    const bool in_float = image.dtype == DType::f32;
    const auto sigma = in_float ? estimate_sigma<float>({image.as<float>().data, shape})
                                : estimate_sigma<double>({image.as<double>().data, shape});
    ASSERT_EQ(sigma.size(), entry["sigma"].size());
    for (std::size_t c = 0; c < sigma.size(); ++c) {
      const double theirs = entry["sigma"][c];
      // float32 is single precision there: a few roundings.
      EXPECT_NEAR(sigma[c], theirs, in_float ? 5e-7 * theirs : 0);
    }
  }
}

}  // namespace
}  // namespace spinloom
