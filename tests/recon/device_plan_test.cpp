#include "recon/device_plan.hpp"

#include <gtest/gtest.h>

#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr std::int64_t image = 8 * 64 * 64 * 64;

/// 64^3, 8 coils of 1000 samples, operators of one image and a tenth a coil.
DeviceNeeds needs() {
  return {.coils = 8,
          .samples = 1000,
          .matrix = {64, 64, 64},
          .images = 5,
          .asked_batch = 0,
          .operators = [](Index batch) { return image + batch * image / 10; }};
}

/// What fits when so many images do, allowing for what is left alone.
DevicePlan fitted(double images, DeviceNeeds n = needs()) {
  return plan_device(n, static_cast<std::int64_t>(images * double(image) / 0.85), "cuda:0");
}

// All of 8 coils: 8 maps, 16 images of the batch, 0.03 of k-space, 1.8 of operators, 5 vectors: 30.83 images.
TEST(DevicePlan, TakesAllCoilsAtOnceWhenTheyFit) {
  const DevicePlan plan = fitted(30.9);
  EXPECT_EQ(plan.coil_batch, 8);
  EXPECT_FALSE(plan.streams_maps);
  EXPECT_EQ(plan.parts.size(), 5u);
  std::int64_t sum = 0;
  for (const auto& part : plan.parts) sum += part.bytes;
  EXPECT_EQ(plan.bytes(), sum);
  EXPECT_EQ(plan.bytes(), 8 * image + 16 * image + 8 * 8 * 1000 + image + 8 * image / 10 + 5 * image);
}

TEST(DevicePlan, TakesFewerCoilsAtATimeWhenTheyDoNot) {
  EXPECT_EQ(fitted(30.7).coil_batch, 4);
  EXPECT_EQ(fitted(20).coil_batch, 2);
  const DevicePlan one = fitted(16.2);  // 8 maps, 2 images, 1.1 of operators, 5 vectors
  EXPECT_EQ(one.coil_batch, 1);
  EXPECT_FALSE(one.streams_maps);
}

TEST(DevicePlan, SendsTheMapsFromTheHostWhenNotEvenOneCoilFitsBesideThem) {
  const DevicePlan plan = fitted(15.9);
  EXPECT_TRUE(plan.streams_maps);
  EXPECT_EQ(plan.coil_batch, 2) << "2 x 2 maps, 4 images, 1.2 of operators and 5 vectors are 14.2";
  EXPECT_EQ(fitted(10.2).coil_batch, 1);
}

TEST(DevicePlan, KeepsToTheBatchThatWasAskedFor) {
  DeviceNeeds n = needs();
  n.asked_batch = 2;
  EXPECT_EQ(fitted(100, n).coil_batch, 2);
  n.asked_batch = 20;
  EXPECT_EQ(fitted(100, n).coil_batch, 8);
  EXPECT_THROW(fitted(20, n), DeviceError);
}

TEST(DevicePlan, SaysWhatWouldFitWhenNothingDoes) {
  try {
    fitted(4.6);  // half of the least
    FAIL() << "it was planned";
  } catch (const DeviceError& e) {
    const std::string text = e.what();
    for (const char* words :
         {"needs at least 21 MB on cuda:0", "1 of 8 coils at a time", "maps sent from the host",
          "10 MB of 11 MB free can be used", "a matrix of about [49, 49, 49] would fit", "--device cpu"})
      EXPECT_NE(text.find(words), std::string::npos) << words << " in: " << text;
  }
}

TEST(DevicePlan, GrowsWithWhatTheMethodNeeds) {
  Measurement m;
  m.matrix = m.recon_matrix = {16, 16};
  m.trajectory = std::make_shared<Trajectory>(Array<double>::zeros({2, 50}));
  m.kspace = Array<cfloat>({3, 50});
  ReconstructionOptions o{.fourier = FourierKind::dft};
  EXPECT_EQ(device_needs(m, o).images, 5);
  EXPECT_EQ(device_needs(m, o).coils, 3);
  EXPECT_GT(device_needs(m, o).operators(1), 0);
  o.regularisation = Regularisation::laplacian;
  EXPECT_EQ(device_needs(m, o).images, 6);
  o.combination = Combination::rss;
  EXPECT_EQ(device_needs(m, o).asked_batch, 1) << "coil by coil";
}

}  // namespace
}  // namespace spinloom
