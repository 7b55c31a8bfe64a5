#include "assemble_support.hpp"

namespace spinloom {
namespace {

using namespace testing;

TEST(Assemble, LaysSamplesOutInCyclesPerFieldOfView) {
  const RawScan scan = radial_scan(16, 5, 3);
  const Assembled result = assemble(scan);
  ASSERT_EQ(result.measurements.size(), 1u);
  const Measurement& m = result.measurements[0];
  EXPECT_EQ(m.matrix, (Shape{16, 16}));
  EXPECT_EQ(m.recon_matrix, (Shape{16, 16}));
  EXPECT_EQ(m.kspace.shape(), (Shape{3, 80}));
  for (std::size_t s = 0; s < 5; ++s)
    for (Index i = 0; i < 16; ++i) {
      const Acquisition& a = scan.acquisitions[s];
      const Index at = Index(s) * 16 + i;
      EXPECT_EQ(m.trajectory->axis(1)[at], 16.0 * double(a.trajectory[std::size_t(2 * i)]));      // kx
      EXPECT_EQ(m.trajectory->axis(0)[at], 16.0 * double(a.trajectory[std::size_t(2 * i + 1)]));  // ky
      for (Index c = 0; c < 3; ++c) EXPECT_EQ(m.kspace[c * 80 + at], a.data[std::size_t(c * 16 + i)]);
      EXPECT_FLOAT_EQ(m.sample_times_s[std::size_t(at)], 2.5e-6f * float(i));
    }
  EXPECT_EQ(result.report.text()[0], "5 acquisitions: 5 image lines, 0 noise");
}

TEST(Assemble, GivesTheSameFromAllUnits) {
  const RawScan pixels = radial_scan(64, 9, 1);
  RawScan cycles = pixels, radians = pixels;
  scale_trajectory(cycles, 64);
  scale_trajectory(radians, 2 * std::numbers::pi);
  const Assembled a = assemble(pixels), b = assemble(cycles, {.unit = TrajectoryUnit::cycles_per_fov}),
                  c = assemble(radians, {.unit = TrajectoryUnit::radians});
  expect_same(a.measurements[0], b.measurements[0]);
  expect_same(a.measurements[0], c.measurements[0], 64 * 6e-8);  // a rounding of the float in the file
}

TEST(Assemble, AsksForAMatrixWhereTheHeaderHasNone) {
  RawScan scan = radial_scan(8, 9, 2);
  scan.encodings[0].encoded.has_matrix = false;
  EXPECT_NE(message_of([&] { assemble(scan); }).find("--matrix"), std::string::npos);
  EXPECT_EQ(assemble(scan, {.matrix = {16, 16}}).measurements.front().matrix, (Shape{16, 16}));
}

TEST(Assemble, RefusesAnotherUnitAndSaysWhichWouldFit) {
  RawScan scan = radial_scan(64, 9, 1);
  scale_trajectory(scan, 64);
  const std::string cycles = error_of(scan);
  EXPECT_TRUE(contains(cycles, "kx -32 to 31")) << cycles;
  EXPECT_TRUE(contains(cycles, "it would fit as cycles-per-fov")) << cycles;
  scale_trajectory(scan, 2 * std::numbers::pi / 64);
  EXPECT_TRUE(contains(error_of(scan), "radians or cycles-per-fov")) << error_of(scan);
  scale_trajectory(scan, 1000);
  EXPECT_TRUE(contains(error_of(scan), "no unit known here would fit"));
}

TEST(Assemble, DoesNotRescaleALowResolutionTrajectory) {
  RawScan scan = radial_scan(64, 9, 1);
  scale_trajectory(scan, 0.2);
  Heard heard;
  const Assembled result = assemble(scan, {}, heard.log());
  EXPECT_NEAR(extent(*result.measurements[0].trajectory)[1], 0.1 * 64, 1e-6);
  EXPECT_EQ(heard.warnings, "");
  scale_trajectory(scan, 0.4);
  EXPECT_NEAR(extent(*assemble(scan, {}, heard.log()).measurements[0].trajectory)[1], 0.04 * 64, 1e-6);
  EXPECT_TRUE(contains(heard.warnings, "only the central 8 % of k-space")) << heard.warnings;
}

TEST(Assemble, AcceptsARoundingBeyondTheEdgeOnBothSides) {
  RawScan scan = radial_scan(32, 2, 1);
  const float edge = std::nextafter(0.5f, 1.0f);
  scan.acquisitions[0].trajectory = std::vector<float>(64, edge);
  scan.acquisitions[1].trajectory = std::vector<float>(64, -edge);
  EXPECT_NEAR(extent(*assemble(scan).measurements[0].trajectory)[0], 16, 1e-5);
}

}  // namespace
}  // namespace spinloom
