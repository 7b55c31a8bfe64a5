#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "nlm/images.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/nlm/front_end.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"
#include "temporary_folder.hpp"

/// What nlm() refuses and reports, and the front end around it.
namespace spinloom {
namespace {

using testing::message_of;
using testing::noisy_image;
using testing::run_nlm;

std::string refusal(const NlmOptions& options, const Shape& shape = {4, 5, 6, 1},
                    const NlmMaps<float>& maps = {}) {
  const Array<float> image = Array<float>::zeros(shape);
  return message_of([&] { run_nlm(image, options, DeviceKind::cpu, maps); });
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(Nlm, RefusesParametersInWords) {
  expect_words(refusal({.patch_size = {3, 3}}), "patch_size has 2 values");
  expect_words(refusal({.patch_size = {-1}}), "patch_size is -1");
  expect_words(refusal({.patch_distance = {-2}}), "patch_distance is -2");
  expect_words(refusal({.h = 0}), "h is 0");
  expect_words(refusal({.h = NAN}), "h is nan");
  expect_words(refusal({.sigma = INFINITY}), "sigma is inf");
  expect_words(refusal({.guide_sigma = 1}), "no guide");
  expect_words(refusal({.noise = NlmNoise::rician}), "give sigma");
  expect_words(refusal({}, {4, 1}), "expected 2 to 4 spatial axes");
  expect_words(refusal({}, {2, 2, 2, 2, 2, 1}), "expected 2 to 4 spatial axes");
  expect_words(refusal({}, {0, 4, 1}), "empty");
}

TEST(Nlm, RefusesMapsThatDoNotFit) {
  const Array<float> small = Array<float>::zeros({4, 5, 5}), zero = Array<float>::zeros({4, 5, 6});
  NlmMaps<float> maps;
  maps.h = small.view();
  expect_words(refusal({}, {4, 5, 6, 1}, maps), "h map has shape [4, 5, 5], expected [4, 5, 6]");
  maps.h = zero.view();
  expect_words(refusal({}, {4, 5, 6, 1}, maps), "the h map holds 0 at element 0");
  maps = {};
  maps.sigma = small.view();
  expect_words(refusal({}, {4, 5, 6, 1}, maps), "sigma map has shape");
  maps = {};
  maps.guide = zero.view();
  expect_words(refusal({}, {4, 5, 6, 1}, maps), "guide has shape [4, 5, 6]");
  maps = {};
  maps.sigma = zero.view();
  NlmOptions theirs{.compat = NlmCompat::scikit_image};
  expect_words(refusal(theirs, {4, 5, 6, 1}, maps), "scikit-image has no maps");
}

TEST(Nlm, RefusesADeviceThatItLacksInWords) {
  const Array<float> image = Array<float>::zeros({4, 5, 1});
  if (cuda_status().is_usable()) GTEST_SKIP() << "there is a GPU here";
  expect_words(message_of([&] { run_nlm(image, {}, DeviceKind::cuda); }), "--device cpu");
}

TEST(Nlm, TakesSignsOfHAndSigmaAsScikitImageDoes) {
  const Array<float> image = noisy_image<float>({9, 10, 1}, 1);
  NlmOptions plus{.patch_size = {3}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1}, minus = plus;
  minus.h = -0.1;
  minus.sigma = -0.1;
  EXPECT_EQ(testing::largest_difference(run_nlm(image, plus, DeviceKind::cpu),
                                        run_nlm(image, minus, DeviceKind::cpu)),
            0);
}

// What scikit-image makes of h = 0 in fast mode: its input, but for the rounding of 0.97 u / 0.97. And of a search that holds no voxel: 0 / 0.
TEST(Nlm, GivesScikitImagesResultOnRequest) {
  const Array<double> image = noisy_image<double>({9, 10, 1}, 1);
  NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0, .compat = NlmCompat::scikit_image};
  EXPECT_LT(testing::largest_difference(run_nlm(image, o, DeviceKind::cpu), image), 1e-15);
  o.h = 0.1;
  o.patch_distance = {-1};
  for (const double v : run_nlm(image, o, DeviceKind::cpu)) EXPECT_TRUE(std::isnan(v));
}

TEST(Nlm, ReportsProgressUpToTheEnd) {
  const Array<float> image = noisy_image<float>({40, 40, 100, 1}, 1);
  std::vector<double> shares;
  const auto here = std::this_thread::get_id();
  NlmOptions o{.patch_size = {3}, .patch_distance = {1}};
  o.progress = [&](const std::string&, double share, const std::string&) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    shares.push_back(share);
  };
  set_thread_count(1);  // among several, the calling thread may be the last to get a tile
  run_nlm(image, o, DeviceKind::cpu);
  set_thread_count(0);
  ASSERT_GT(shares.size(), 3u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
}

TEST(Nlm, StopsSoonAfterAnInterrupt) {
  const Array<float> image = noisy_image<float>({64, 64, 64, 1}, 1);
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic}) {
    NlmOptions o{.patch_size = {7}, .patch_distance = {11}, .mode = mode};
    std::chrono::steady_clock::time_point asked;
    std::thread user([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      asked = std::chrono::steady_clock::now();
      request_interrupt();
    });
    EXPECT_THROW(run_nlm(image, o, DeviceKind::cpu), Interrupted);
    const auto stopped = std::chrono::steady_clock::now();
    user.join();
    clear_interrupt();
    // 0.2 s are promised on a machine of one's own; the whole run takes minutes.
    EXPECT_LT(std::chrono::duration<double>(stopped - asked).count(), 15.0);
  }
}

TEST(NlmFrontEnd, MovesTheChannelsLastAndBack) {
  EXPECT_EQ(nlm_working_shape({5, 6, 7}, {}), (Shape{5, 6, 7, 1}));
  EXPECT_EQ(nlm_working_shape({5, 6, 7}, 1), (Shape{5, 7, 6}));
  EXPECT_EQ(nlm_working_shape({5, 6, 7}, -3), (Shape{6, 7, 5}));
  expect_words(message_of([] { nlm_working_shape({5, 6, 7}, 3); }), "channel_axis is 3, expected -3 to 2");
  expect_words(message_of([] { nlm_working_shape({5, 6}, 0); }), "expected 2 to 4 spatial axes");
  Array<double> image({5, 6, 7}), last({5, 7, 6}), back({5, 6, 7});
  for (Index i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i);
  nlm_import<double, double>(image.view(), 1, NlmRange::scale, last.view());
  EXPECT_EQ(last[(2 * 7 + 3) * 6 + 4], image[(2 * 6 + 4) * 7 + 3]);
  nlm_export<double>(last.view(), 1, back.view());
  EXPECT_TRUE(std::equal(image.begin(), image.end(), back.begin()));
}

template <class From>
std::vector<double> import_values(std::vector<From> values, NlmRange range) {
  values.resize(4);
  Array<double> result({2, 2, 1});
  nlm_import<From, double>({values.data(), {2, 2}}, {}, range, result.view());
  return {result.begin(), result.end()};
}

TEST(NlmFrontEnd, ScalesIntegersByTheirLargest) {
  EXPECT_EQ(import_values<std::uint8_t>({0, 51, 255}, NlmRange::scale),
            (std::vector<double>{0, 51 * (1.0 / 255), 1, 0}));
  EXPECT_EQ(import_values<std::int16_t>({-32768, 32767, 100}, NlmRange::scale),
            (std::vector<double>{-1, 1, 100 * (1.0 / 32767), 0}));
  EXPECT_EQ(import_values<std::int16_t>({-32768, 7}, NlmRange::preserve),
            (std::vector<double>{-32768, 7, 0, 0}));
  EXPECT_EQ(import_values<double>({300, -2}, NlmRange::scale), (std::vector<double>{300, -2, 0, 0}));
  EXPECT_EQ(import_values<std::uint64_t>({~std::uint64_t{0}}, NlmRange::scale)[0], 1);
  const bool flags[] = {true, false, true, true};
  Array<double> result({2, 2, 1});
  nlm_import<bool, double>({flags, {2, 2}}, {}, NlmRange::scale, result.view());
  EXPECT_EQ(std::vector<double>(result.begin(), result.end()), (std::vector<double>{1, 0, 1, 1}));
}

TEST(NlmFrontEnd, SqueezesAsScikitImageDoes) {
  const Array<float> one_plane = noisy_image<float>({1, 9, 8, 1}, 1),
                     one_channel = noisy_image<float>({9, 8, 1}, 1);
  EXPECT_EQ(nlm_export_squeezed<float>(one_plane.view(), {}, NlmMode::fast).shape(), (Shape{9, 8}));
  EXPECT_EQ(nlm_export_squeezed<float>(one_plane.view(), {}, NlmMode::classic).shape(), (Shape{1, 9, 8}));
  EXPECT_EQ(nlm_export_squeezed<float>(one_channel.view(), -1, NlmMode::fast).shape(), (Shape{9, 8}));
  const Array<float> transposed = nlm_export_squeezed<float>(one_channel.view(), 0, NlmMode::fast);
  EXPECT_EQ(transposed.shape(), (Shape{8, 9}));
  EXPECT_EQ(transposed[3 * 9 + 2], one_channel[2 * 8 + 3]);
}

}  // namespace
}  // namespace spinloom
