#include "assemble_support.hpp"

namespace spinloom {
namespace {

using namespace testing;

TEST(Assemble, LeavesOutLinesByTheirFlagsAndCountsThem) {
  RawScan scan = radial_scan(16, 33, 2);
  const Assembled clean = assemble(scan);
  for (const AcquisitionFlag flag : {AcquisitionFlag::noise, AcquisitionFlag::dummy}) {
    Acquisition a = example_line(16, 2, 2, 1);
    for (cfloat& v : a.data) v = 1e6f;
    a.set_flag(flag);
    scan.acquisitions.insert(scan.acquisitions.begin() + 7, a);
  }
  const Assembled result = assemble(scan);
  expect_same(result.measurements[0], clean.measurements[0]);
  EXPECT_EQ(result.report.text()[0], "35 acquisitions: 33 image lines, 1 noise, 1 dummy");
  EXPECT_EQ(result.noise.shape(), (Shape{2, 16}));
}

TEST(Assemble, ExcludesEveryRuleOfTheFormatAndNoOther) {
  for (int flag = 1; flag <= 64; ++flag) {
    RawScan scan = radial_scan(8, 2, 1);
    scan.acquisitions[1].set_flag(static_cast<AcquisitionFlag>(flag));
    const bool is_excluded =
        flag == 19 || flag == 20 || flag == 23 || flag == 24 || (flag >= 26 && flag <= 31);
    EXPECT_EQ(assemble(scan).report.image, is_excluded ? 1 : 2) << flag;
  }
}

TEST(Assemble, KeepsCalibrationLinesThatAreImageLinesToo) {
  RawScan scan = radial_scan(8, 2, 1);
  scan.acquisitions[1].set_flag(AcquisitionFlag::calibration_only);
  scan.acquisitions[1].set_flag(AcquisitionFlag::calibration_and_image);
  EXPECT_EQ(assemble(scan).report.image, 2);
}

TEST(Assemble, TakesAnotherExclusionMask) {
  RawScan scan = radial_scan(8, 3, 1);
  scan.acquisitions[1].set_flag(AcquisitionFlag::navigator);
  scan.acquisitions[2].flags |= std::uint64_t{1} << 63;
  const Assembled result = assemble(scan, {.excluded = std::uint64_t{1} << 63});
  EXPECT_EQ(result.report.text()[0], "3 acquisitions: 2 image lines, 0 noise, 1 flag 64");
}

TEST(Assemble, KeepsNoiseOfAnotherLengthApart) {
  RawScan scan = radial_scan(64, 16, 4);
  for (Acquisition& a : scan.acquisitions) a.sample_time_us = 2.4f;
  Acquisition noise = example_line(512, 4, 0, 9);
  noise.set_flag(AcquisitionFlag::noise);
  noise.sample_time_us = 20;
  scan.acquisitions.insert(scan.acquisitions.begin(), noise);
  scan.relative_noise_bandwidth = 0.8;
  const Assembled result = assemble(scan);
  EXPECT_EQ(result.report.text()[0], "17 acquisitions: 16 image lines, 1 noise");
  ASSERT_EQ(result.noise.shape(), (Shape{4, 512}));
  EXPECT_TRUE(std::equal(result.noise.begin(), result.noise.end(), noise.data.begin()));
  EXPECT_NEAR(result.noise_sample_time_s, 20e-6, 1e-12);
  EXPECT_NEAR(result.image_sample_time_s, 2.4e-6, 1e-12);
  EXPECT_EQ(result.relative_noise_bandwidth, 0.8);
}

TEST(Assemble, DoesNotUseNoiseOfOtherChannels) {
  RawScan scan = radial_scan(8, 3, 4);
  scan.acquisitions[0].channels = 2;
  scan.acquisitions[0].data.resize(16);
  scan.acquisitions[0].set_flag(AcquisitionFlag::noise);
  Heard heard;
  EXPECT_TRUE(assemble(scan, {}, heard.log()).noise.empty());
  EXPECT_TRUE(contains(heard.warnings, "noise lines have 2 channels, image lines 4"));
}

TEST(Assemble, CutsDiscardedSamplesFromDataAndTrajectory) {
  RawScan scan;
  scan.encodings = {example_encoding(32, "spiral")};
  scan.acquisitions = {example_line(100, 2, 2, 1)};
  Acquisition& a = scan.acquisitions[0];
  const Acquisition whole = a;
  a.discard_pre = 10;
  a.discard_post = 5;
  for (Index i = 0; i < 100; ++i)
    if (i < 10 || i >= 95) {
      a.data[std::size_t(i)] = a.data[std::size_t(100 + i)] = {nan_f, nan_f};
      a.trajectory[std::size_t(2 * i)] = nan_f;
    }
  const Assembled result = assemble(scan);
  const Measurement& m = result.measurements[0];
  ASSERT_EQ(m.kspace.shape(), (Shape{2, 85}));
  for (Index i = 0; i < 85; ++i) {
    EXPECT_EQ(m.kspace[85 + i], whole.data[std::size_t(110 + i)]);
    EXPECT_EQ(m.trajectory->axis(1)[i], 32.0 * double(whole.trajectory[std::size_t(20 + 2 * i)]));
    EXPECT_FLOAT_EQ(m.sample_times_s[std::size_t(i)], 2.5e-6f * float(10 + i));
  }
  EXPECT_EQ(result.report.discarded_samples, 15);
}

TEST(Assemble, SkipsALineWithNothingLeftAndRefusesOneWithLess) {
  RawScan scan = radial_scan(100, 3, 1);
  scan.acquisitions[1].discard_pre = 60;
  scan.acquisitions[1].discard_post = 40;
  Heard heard;
  EXPECT_EQ(assemble(scan, {}, heard.log()).report.empty, 1);
  EXPECT_TRUE(contains(heard.notes, "acquisition 1: all 100 samples are discarded"));
  scan.acquisitions[1].discard_post = 60;
  EXPECT_TRUE(contains(error_of(scan), "acquisition 1: discards 60 + 60 samples, but has only 100"));
}

TEST(Assemble, SkipsLinesOfNothing) {
  RawScan scan = radial_scan(8, 3, 2);
  scan.acquisitions.insert(scan.acquisitions.begin(), Acquisition());
  scan.acquisitions.front().set_flag(AcquisitionFlag::noise);
  const Assembled result = assemble(scan);
  EXPECT_EQ(result.report.empty, 1);
  EXPECT_EQ(result.report.image, 3);
}

TEST(Assemble, LeavesReversedLinesWithStoredTrajectoryAlone) {
  RawScan scan = radial_scan(16, 6, 2);
  const Assembled clear = assemble(scan);
  for (std::size_t i = 1; i < 6; i += 2) scan.acquisitions[i].set_flag(AcquisitionFlag::reverse);
  const Assembled flagged = assemble(scan);
  expect_same(flagged.measurements[0], clear.measurements[0]);
  EXPECT_EQ(flagged.report.reversed, 3);
}

TEST(Assemble, LaysReversedLinesWithoutTrajectoryBackwards) {
  for (const Index n : {16, 15}) {
    const RawScan forward = cartesian_scan(n, 1);
    RawScan mixed = forward;
    for (std::size_t l = 1; l < std::size_t(n); l += 2) {
      Acquisition& a = mixed.acquisitions[l];
      std::reverse(a.data.begin(), a.data.end());
      a.center_sample = n - 1 - a.center_sample;
      a.set_flag(AcquisitionFlag::reverse);
    }
    const Assembled a = assemble(forward), b = assemble(mixed);
    // The same values at the same places, in another order along reversed lines.
    for (Index l = 0; l < n; ++l)
      for (Index i = 0; i < n; ++i) {
        const Index here = l * n + i, there = l * n + (l % 2 ? n - 1 - i : i);
        EXPECT_EQ(a.measurements[0].kspace[here], b.measurements[0].kspace[there]);
        EXPECT_EQ(a.measurements[0].trajectory->axis(1)[here], b.measurements[0].trajectory->axis(1)[there]);
        EXPECT_EQ(a.measurements[0].trajectory->axis(0)[here], double(l - n / 2));
      }
  }
}

}  // namespace
}  // namespace spinloom
