#include "spinloom/mri/whitening.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "operator_suite.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

/// Correlated noise: unit white noise mixed by a fixed lower triangular matrix.
Array<cfloat> noise_scan(Index channels, Index samples, unsigned seed, double scale = 1) {
  const auto white = random_array<float>({channels, samples}, seed);
  auto noise = Array<cfloat>::zeros({channels, samples});
  for (Index i = 0; i < channels; ++i)
    for (Index j = 0; j <= i; ++j) {
      const cfloat mix = i == j ? cfloat(float(scale * double(1 + i)))
                                : cfloat(float(scale) * 0.3F, float(scale) * 0.2F * float(i - j));
      for (Index m = 0; m < samples; ++m) noise[i * samples + m] += mix * white[j * samples + m];
    }
  return noise;
}

/// Largest deviation of Y Y^H / n from `variance` times the identity.
double covariance_error(const Array<cfloat>& y, double variance) {
  double worst = 0;
  const auto v = y.view();
  for (Index i = 0; i < y.shape()[0]; ++i)
    for (Index j = 0; j < y.shape()[0]; ++j) {
      const cdouble c = dot<cfloat>(v.slice(i), v.slice(j)) / double(y.shape()[1]);
      worst = std::max(worst, std::abs(c - (i == j ? variance : 0.0)));
    }
  return worst;
}

struct Heard {
  std::vector<std::string> notes, warnings;
  Log log() {
    return [this](Severity s, const std::string& text) {
      (s == Severity::warning ? warnings : notes).push_back(text);
    };
  }
};

TEST(Whitening, GivesTheNoiseScanUnitCovariance) {
  for (const Index channels : {1, 2, 5, 16}) {
    const auto noise = noise_scan(channels, 6000, unsigned(channels));
    const auto whitening = make_whitening(noise.view(), {});
    EXPECT_EQ(whitening.kept.size(), std::size_t(channels));
    EXPECT_FALSE(whitening.regularised);
    // Exact by construction but for float storage.
    EXPECT_LT(covariance_error(whiten<float>(whitening, noise.view()), 1), 1e-5);
  }
}

TEST(Whitening, HoldsForFreshNoise) {
  const auto noise = noise_scan(4, 40000, 1), fresh = noise_scan(4, 40000, 2);
  // Both covariances are estimates: a few times 2 / sqrt(40000).
  EXPECT_LT(covariance_error(whiten<float>(make_whitening(noise.view(), {}), fresh.view()), 1), 0.05);
}

TEST(Whitening, ScalesWithDwellTimesAndReceiverBandwidth) {
  // The image scan samples every 2.4 us, the noise scan every 20 us: its noise has 20 / 2.4 times the power.
  const auto noise = noise_scan(3, 20000, 1);
  const auto image_noise = noise_scan(3, 20000, 1, std::sqrt(20 / 2.4));
  Heard heard;
  const auto whitening = make_whitening(
      noise.view(), {}, {.image_dwell_time = 2.4e-6, .noise_dwell_time = 20e-6, .log = heard.log()});
  EXPECT_TRUE(heard.notes.empty());
  EXPECT_LT(covariance_error(whiten<float>(whitening, image_noise.view()), 1), 1e-5);

  const auto with_bandwidth = make_whitening(
      noise.view(), {},
      {.image_dwell_time = 2.4e-6, .noise_dwell_time = 20e-6, .relative_noise_bandwidth = 0.79});
  EXPECT_NEAR(with_bandwidth.matrix[0].real() / whitening.matrix[0].real(), std::sqrt(0.79), 1e-12);

  const auto unknown = make_whitening(noise.view(), {},
                                      {.image_dwell_time = 0, .noise_dwell_time = 20e-6, .log = heard.log()});
  EXPECT_EQ(heard.notes.size(), 1U);
  EXPECT_LT(covariance_error(whiten<float>(unknown, noise.view()), 1), 1e-5);
}

TEST(Whitening, RemovesNoMean) {
  // An offset is part of C: two channels of a constant have the covariance of that constant.
  auto noise = Array<cfloat>::full({2, 10}, 3);
  for (Index m = 0; m < 5; ++m) noise[10 + m] = -1;
  const auto whitening = make_whitening(noise.view(), {});
  EXPECT_NEAR(whitening.covariance[0].real(), 9, 1e-12);
  EXPECT_NEAR(whitening.covariance[1].real(), 3, 1e-12);
}

TEST(Whitening, DropsADeadChannelAndEqualsTheScanWithoutIt) {
  auto noise = noise_scan(4, 500, 1);
  auto data = random_array<float>({4, 70}, 2);
  std::fill_n(noise.data() + 2 * 500, 500, cfloat(0));
  std::fill_n(data.data() + 2 * 70, 70, cfloat(0));
  Heard heard;
  const auto whitening = make_whitening(noise.view(), data.view(), {.log = heard.log()});
  EXPECT_EQ(whitening.kept, (std::vector<Index>{0, 1, 3}));
  ASSERT_EQ(heard.warnings.size(), 1U);
  EXPECT_NE(heard.warnings[0].find("channel 2"), std::string::npos);

  const auto without = [](const Array<cfloat>& all) {
    Array<cfloat> three({3, all.shape()[1]});
    Index row = 0;
    for (const Index c : {0, 1, 3}) copy<cfloat>(all.view().slice(c), three.view().slice(row++));
    return three;
  };
  const auto noise_3 = without(noise), data_3 = without(data);
  const auto expected = whiten<float>(make_whitening(noise_3.view(), data_3.view()), data_3.view());
  EXPECT_TRUE(same_bits(whiten<float>(whitening, data.view()), expected));
}

TEST(Whitening, DropsAChannelThatIsSilentInEitherScan) {
  auto noise = noise_scan(3, 500, 1);
  auto data = random_array<float>({3, 70}, 2);
  std::fill_n(noise.data(), 500, cfloat(0));
  std::fill_n(data.data() + 70, 70, cfloat(0));
  Heard heard;
  EXPECT_EQ(make_whitening(noise.view(), data.view(), {.log = heard.log()}).kept, (std::vector<Index>{2}));
  EXPECT_EQ(heard.warnings.size(), 2U);
  EXPECT_NE(heard.warnings[0].find("noise is zero"), std::string::npos) << heard.warnings[0];
  EXPECT_NE(heard.warnings[1].find("data is zero"), std::string::npos) << heard.warnings[1];
}

TEST(Whitening, RefusesAScanWithoutAnyLivingChannel) {
  const auto silence = Array<cfloat>::zeros({4, 20});
  EXPECT_THROW(make_whitening(silence.view(), {}), ArgumentError);
}

TEST(Whitening, NamesTheSampleThatIsNotFinite) {
  auto noise = noise_scan(4, 50, 1);
  noise[3 * 50 + 17] = {NAN, 0};
  try {
    make_whitening(noise.view(), {});
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("channel 3, sample 17"), std::string::npos) << e.what();
  }
  auto data = random_array<float>({4, 9}, 1);
  data[9 + 2] = {0, INFINITY};
  const auto good = noise_scan(4, 50, 1);
  try {
    make_whitening(good.view(), data.view());
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("the data"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("channel 1, sample 2"), std::string::npos) << e.what();
  }
}

TEST(Whitening, SurvivesACopiedChannelAndTooFewSamples) {
  auto copied = noise_scan(3, 300, 1);
  std::copy_n(copied.data(), 300, copied.data() + 600);
  const auto few = noise_scan(8, 3, 1);
  for (const Array<cfloat>* noise : {&std::as_const(copied), &few}) {
    Heard heard;
    const auto whitening = make_whitening(noise->view(), {}, {.log = heard.log()});
    EXPECT_TRUE(whitening.regularised);
    EXPECT_EQ(heard.warnings.size(), 1U);
    const auto white = whiten<float>(whitening, noise->view());
    EXPECT_TRUE(all_finite<cfloat>(white.view()));
    for (Index c = 0; c < white.shape()[0]; ++c)
      EXPECT_LT(norm<cfloat>(white.view().slice(c)), 1.01 * std::sqrt(double(white.shape()[1])));
  }
}

TEST(Whitening, ServesChannelsOfVeryDifferentGain) {
  auto noise = noise_scan(3, 2000, 1);
  for (Index m = 0; m < 2000; ++m) noise[m] *= 1e-5F, noise[2000 + m] *= 1e5F;
  Heard heard;
  const auto whitening = make_whitening(noise.view(), {}, {.log = heard.log()});
  EXPECT_TRUE(heard.warnings.empty()) << heard.warnings[0];
  EXPECT_LT(covariance_error(whiten<float>(whitening, noise.view()), 1), 1e-5);
}

TEST(Whitening, NamesBothChannelCounts) {
  const auto noise = noise_scan(4, 50, 1);
  const auto data = random_array<float>({3, 9}, 1);
  for (const bool at_making : {true, false}) try {
      if (at_making)
        make_whitening(noise.view(), data.view());
      else
        whiten<float>(make_whitening(noise.view(), {}), data.view());
      ADD_FAILURE();
    } catch (const ShapeError& e) {
      EXPECT_NE(std::string(e.what()).find("4"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("3"), std::string::npos) << e.what();
    }
}

TEST(Whitening, RefusesNoNoiseAndBadOptions) {
  const auto none = Array<cfloat>({4, 0}), flat = Array<cfloat>({4});
  EXPECT_THROW(make_whitening(none.view(), {}), ArgumentError);
  EXPECT_THROW(make_whitening(flat.view(), {}), Error);
  const auto noise = noise_scan(2, 50, 1);
  EXPECT_THROW(make_whitening(noise.view(), {}, {.image_dwell_time = -1}), ArgumentError);
  EXPECT_THROW(make_whitening(noise.view(), {}, {.noise_dwell_time = NAN}), ArgumentError);
  EXPECT_THROW(make_whitening(noise.view(), {}, {.relative_noise_bandwidth = 0}), ArgumentError);
}

TEST(Whitening, AgreesInBothPrecisionsAndForAnyThreadCount) {
  const auto noise = noise_scan(5, 20000, 1);
  const int before = thread_count();
  set_thread_count(1);
  const auto whitening = make_whitening(noise.view(), {});
  const auto white = whiten<float>(whitening, noise.view());
  set_thread_count(3);
  const auto again = make_whitening(noise.view(), {});
  EXPECT_TRUE(same_bits(again.matrix, whitening.matrix));
  EXPECT_TRUE(same_bits(whiten<float>(again, noise.view()), white));
  set_thread_count(before);

  Array<cdouble> wide(noise.shape());
  std::copy(noise.begin(), noise.end(), wide.begin());
  const auto white_wide = whiten<double>(whitening, wide.view());
  for (Index i = 0; i < white.size(); ++i) EXPECT_EQ(white[i], cfloat(white_wide[i]));
}

}  // namespace
}  // namespace spinloom
