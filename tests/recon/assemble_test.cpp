#include "spinloom/recon/assemble.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "example_scan.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();

struct Heard {
  std::string warnings, notes;
  Log log() {
    return [this](Severity severity, const std::string& text) {
      (severity == Severity::warning ? warnings : notes) += text + "\n";
    };
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string error_of(const RawScan& scan, const AssembleOptions& options = {}) {
  return message_of([&] { assemble(scan, options); });
}

void expect_same(const Measurement& a, const Measurement& b, double tolerance = 0) {
  ASSERT_EQ(a.kspace.shape(), b.kspace.shape());
  ASSERT_EQ(a.trajectory->view().shape, b.trajectory->view().shape);
  EXPECT_TRUE(std::equal(a.kspace.begin(), a.kspace.end(), b.kspace.begin()));
  for (Index i = 0; i < a.trajectory->view().size(); ++i)
    ASSERT_NEAR(a.trajectory->view()[i], b.trajectory->view()[i], tolerance) << i;
}

void scale_trajectory(RawScan& scan, double factor) {
  for (Acquisition& a : scan.acquisitions)
    for (float& k : a.trajectory) k = static_cast<float>(k * factor);
}

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

TEST(Assemble, PutsCartesianLinesOnTheGrid) {
  for (const Index n : {8, 9}) {
    const Assembled result = assemble(cartesian_scan(n, 1));
    const Measurement& m = result.measurements[0];
    EXPECT_TRUE(lies_on_grid(*m.trajectory));
    for (Index i = 0; i < n * n; ++i) {
      EXPECT_EQ(m.trajectory->axis(0)[i], double(i / n - n / 2));
      EXPECT_EQ(m.trajectory->axis(1)[i], double(i % n - n / 2));
    }
  }
  EXPECT_FALSE(lies_on_grid(*assemble(radial_scan(16, 5, 1)).measurements[0].trajectory));
}

TEST(Assemble, TakesTheCentreFromTheHeader) {
  RawScan scan = cartesian_scan(8, 1);
  scan.acquisitions.resize(5);  // partial Fourier: steps 0 to 4, centre at 2
  scan.encodings[0].step_1 = {0, 4, 2, true};
  EXPECT_EQ(assemble(scan).measurements[0].trajectory->axis(0)[0], -2);
  scan.encodings[0].step_1.center = 20;
  EXPECT_TRUE(contains(error_of(scan), "acquisition 0: lies at ky = -20")) << error_of(scan);
}

TEST(Assemble, SeesThatACentreWasNeverFilledIn) {
  RawScan scan = cartesian_scan(8, 1);
  scan.encodings[0].step_1 = {0, 7, 0, true};
  for (Acquisition& a : scan.acquisitions) a.center_sample = 0;
  Heard heard;
  const Assembled result = assemble(scan, {}, heard.log());
  EXPECT_EQ(result.measurements[0].trajectory->axis(0)[0], -4);
  EXPECT_EQ(result.measurements[0].trajectory->axis(1)[0], -4);
  EXPECT_TRUE(contains(heard.warnings, "the centre is taken as 4"));
  EXPECT_TRUE(contains(heard.warnings, "the centre is taken as sample 4"));
}

TEST(Assemble, CropsReadoutOversampling) {
  RawScan scan = cartesian_scan(8, 1);
  scan.encodings[0].encoded.matrix = {1, 8, 16};
  scan.encodings[0].encoded.fov_mm = {5, 220, 440};
  for (Acquisition& a : scan.acquisitions)
    a = [&] {
      Acquisition wide = example_line(16, 1, 0, 3);
      wide.step_1 = a.step_1;
      return wide;
    }();
  const Assembled result = assemble(scan);
  EXPECT_EQ(result.measurements[0].matrix, (Shape{8, 16}));
  EXPECT_EQ(result.measurements[0].recon_matrix, (Shape{8, 8}));
  EXPECT_DOUBLE_EQ(result.measurements[0].geometry.voxel_size()[0], 27.5);
  EXPECT_EQ(crop_start(16, 8), 4);
  EXPECT_EQ(crop_start(9, 4), 2);  // voxel 4 becomes voxel 2
  EXPECT_EQ(crop_start(8, 3), 3);
}

TEST(Assemble, DoesNotInterpolateToAFinerReconMatrix) {
  RawScan scan = radial_scan(101, 3, 1);
  scan.encodings[0].recon.matrix = {1, 102, 102};
  Heard heard;
  EXPECT_EQ(assemble(scan, {}, heard.log()).measurements[0].recon_matrix, (Shape{101, 101}));
  EXPECT_TRUE(contains(heard.notes, "keeps its acquired resolution"));
}

TEST(Assemble, TakesThreeColumnsWithoutKzForA2DScan) {
  const RawScan flat = radial_scan(16, 5, 1);
  RawScan scan = flat;
  for (Acquisition& a : scan.acquisitions) {
    std::vector<float> columns;
    for (Index i = 0; i < 16; ++i)
      columns.insert(columns.end(),
                     {a.trajectory[std::size_t(2 * i)], a.trajectory[std::size_t(2 * i + 1)], 0.0f});
    a.trajectory = columns;
    a.trajectory_dimensions = 3;
  }
  const Assembled expected = assemble(flat), result = assemble(scan);
  expect_same(result.measurements[0], expected.measurements[0]);
  EXPECT_EQ(result.measurements[0].matrix, (Shape{16, 16}));
  scan.acquisitions[4].trajectory[5] = 0.25f;
  EXPECT_TRUE(contains(error_of(scan), "kz from 0 to 0.25, but the matrix has z = 1")) << error_of(scan);
}

TEST(Assemble, WarnsOfFurtherColumns) {
  RawScan scan;
  scan.encodings = {example_encoding(8, "spiral")};
  scan.encodings[0].encoded.matrix = {6, 8, 8};
  scan.acquisitions = {example_line(20, 1, 4, 1)};
  Heard heard;
  const Assembled result = assemble(scan, {}, heard.log());
  EXPECT_TRUE(contains(heard.warnings, "trajectories have 4 columns"));
  const Measurement& m = result.measurements[0];
  ASSERT_EQ(m.trajectory->dims(), 3);
  for (Index i = 0; i < 20; ++i) {
    EXPECT_EQ(m.trajectory->axis(2)[i], 8.0 * double(scan.acquisitions[0].trajectory[std::size_t(4 * i)]));
    EXPECT_EQ(m.trajectory->axis(0)[i],
              6.0 * double(scan.acquisitions[0].trajectory[std::size_t(4 * i + 2)]));
  }
}

TEST(Assemble, StacksStarsByTheirStep) {
  RawScan scan = radial_scan(16, 12, 1);
  scan.encodings[0].encoded.matrix = scan.encodings[0].recon.matrix = {4, 16, 16};
  for (std::size_t s = 0; s < 12; ++s) scan.acquisitions[s].step_2 = int(s % 4);
  const Assembled result = assemble(scan);
  const Measurement& m = result.measurements[0];
  EXPECT_EQ(m.matrix, (Shape{4, 16, 16}));
  for (Index i = 0; i < 12 * 16; ++i) EXPECT_EQ(m.trajectory->axis(0)[i], double(i / 16 % 4 - 2));
  EXPECT_EQ(m.trajectory->axis(2)[5], 16.0 * double(scan.acquisitions[0].trajectory[10]));
}

TEST(Assemble, TakesSlicesApartWhenNothingEncodesZ) {
  RawScan scan = radial_scan(16, 12, 1);
  scan.encodings[0].encoded.matrix = scan.encodings[0].recon.matrix = {4, 16, 16};
  for (std::size_t s = 0; s < 12; ++s) {
    scan.acquisitions[s].slice = int(s % 4);
    scan.acquisitions[s].position = {1, 2, 6 * float(s % 4)};
  }
  const Assembled result = assemble(scan);
  ASSERT_EQ(result.measurements.size(), 4u);
  EXPECT_EQ(result.measurements[3].label.slice, 3);
  EXPECT_EQ(result.measurements[3].matrix, (Shape{16, 16}));
  EXPECT_EQ(result.measurements[3].samples(), 3 * 16);
  EXPECT_NEAR(result.measurements[0].geometry.matrix[2][2], 6, 1e-9);  // the gap, not the thickness
  EXPECT_NEAR(result.measurements[3].geometry.matrix[2][3], 18, 1e-9);
}

TEST(Assemble, WarnsOfSlicesUnevenlySpaced) {
  RawScan scan = radial_scan(16, 3, 1);
  for (std::size_t s = 0; s < 3; ++s) {
    scan.acquisitions[s].slice = int(s);
    scan.acquisitions[s].position = {0, 0, s == 2 ? 20.0f : 6.0f * float(s)};
  }
  Heard heard;
  assemble(scan, {}, heard.log());
  EXPECT_TRUE(contains(heard.warnings, "slices are not evenly spaced"));
}

TEST(Assemble, TurnsMrdAxesIntoNiftiAxes) {
  RawScan scan = radial_scan(16, 1, 1);
  scan.encodings[0].encoded.fov_mm = scan.encodings[0].recon.fov_mm = {5, 160, 32};
  Acquisition& a = scan.acquisitions[0];
  a.position = {10, -20, 30};
  a.read_dir = {0, 1, 0};
  a.phase_dir = {0, 0, -1};
  a.slice_dir = {-1, 0, 0};
  const Geometry g = assemble(scan).measurements[0].geometry;
  EXPECT_TRUE(g.is_known);
  const std::array<std::array<double, 4>, 3> expected{
      {{0, 0, 5, -10}, {-2, 0, 0, 20 + 16}, {0, -10, 0, 30 + 80}}};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(g.matrix[r][c], expected[r][c], 1e-9) << r << c;
  a.read_dir = a.phase_dir = a.slice_dir = {0, 0, 0};
  EXPECT_FALSE(assemble(scan).measurements[0].geometry.is_known);
}

TEST(Assemble, SharesOneTrajectoryBetweenContrasts) {
  RawScan scan = radial_scan(16, 8, 1);
  for (std::size_t s = 0; s < 8; ++s) {
    Acquisition a = scan.acquisitions[s];
    a.contrast = 1;
    for (cfloat& v : a.data) v *= 0.5f;
    scan.acquisitions.push_back(a);
  }
  const auto check = [](const Assembled& result) {
    ASSERT_EQ(result.measurements.size(), 2u);
    const Measurement &first = result.measurements[0], &second = result.measurements[1];
    EXPECT_EQ(first.trajectory, second.trajectory);
    EXPECT_EQ(second.label.contrast, 1);
    for (Index i = 0; i < first.kspace.size(); ++i) EXPECT_EQ(second.kspace[i], 0.5f * first.kspace[i]);
  };
  check(assemble(scan));
  for (std::size_t s = 8; s < 16; ++s) {  // stored with the first contrast only
    scan.acquisitions[s].trajectory.clear();
    scan.acquisitions[s].trajectory_dimensions = 0;
  }
  check(assemble(scan));
  scan.acquisitions[12].step_1 = 99;
  EXPECT_TRUE(contains(error_of(scan), "stores no trajectory; give one by --traj"));
}

TEST(Assemble, AppendsAveragesAndDropsOtherLines) {
  RawScan scan;
  scan.encodings = {example_encoding(16, "radial")};
  for (int average = 0; average < 3; ++average)
    for (Acquisition a : radial_scan(16, 8, 1).acquisitions) {
      a.average = average;
      scan.acquisitions.push_back(a);
    }
  for (int i = 0; i < 8; ++i) {
    Acquisition a = example_line(16, 1, 2, 1);
    a.set_flag(i < 4 ? AcquisitionFlag::navigator : AcquisitionFlag::phase_correction);
    scan.acquisitions.push_back(a);
  }
  const Assembled result = assemble(scan);
  ASSERT_EQ(result.measurements.size(), 1u);
  EXPECT_EQ(result.measurements[0].samples(), 24 * 16);
  EXPECT_EQ(result.report.averages, 3);
  EXPECT_EQ(result.report.text()[0],
            "32 acquisitions: 24 image lines, 0 noise, 4 navigator, 4 phase correction");
}

TEST(Assemble, SortsFramesAndMergesThemWhenAsked) {
  RawScan scan = radial_scan(16, 12, 1);
  for (std::size_t s = 0; s < 12; ++s) {
    scan.acquisitions[s].repetition = 1 - int(s % 2);
    scan.acquisitions[s].slice = int(s % 3);
  }
  const Assembled apart = assemble(scan);
  ASSERT_EQ(apart.measurements.size(), 6u);
  EXPECT_EQ(apart.measurements[2].label, (FrameLabel{0, 0, 0, 0, 2}));
  EXPECT_EQ(apart.measurements[3].label, (FrameLabel{1, 0, 0, 0, 0}));
  AssembleOptions options;
  options.merge.repetition = true;
  const Assembled merged = assemble(scan, options);
  ASSERT_EQ(merged.measurements.size(), 3u);
  EXPECT_EQ(merged.measurements[0].samples(), 4 * 16);
}

TEST(Assemble, RefusesASpiralWithoutTrajectoryAndTakesOneGiven) {
  RawScan scan;
  scan.encodings = {example_encoding(32, "spiral")};
  for (unsigned s = 0; s < 4; ++s) {
    scan.acquisitions.push_back(example_line(50, 2, 0, s));
    scan.acquisitions.back().discard_pre = 5;
    scan.acquisitions.back().repetition = int(s / 2);
  }
  EXPECT_TRUE(
      contains(error_of(scan),
               "acquisition 0: the scan is 'spiral' and this line stores no trajectory; give one by --traj"));

  const auto given = [&](Index samples) {
    Array<double> k({samples, 2});
    for (Index i = 0; i < samples; ++i) {
      k[2 * i] = double(i % 16);
      k[2 * i + 1] = -double(i % 13);
    }
    AssembleOptions options;
    static std::vector<Array<double>> alive;
    alive.push_back(std::move(k));
    options.trajectory = PlainTrajectory{.values = alive.back().view()};
    return options;
  };
  // The whole scan as recorded, one image as recorded, and both without what is discarded.
  const auto first_kx = [&](Index samples, std::size_t image) {
    return assemble(scan, given(samples)).measurements[image].trajectory->axis(1)[0];
  };
  EXPECT_EQ(first_kx(200, 1), double((100 + 5) % 16));
  EXPECT_EQ(first_kx(100, 1), double(5 % 16));
  EXPECT_EQ(first_kx(180, 1), double(90 % 16));
  EXPECT_EQ(first_kx(90, 1), 0);
  EXPECT_TRUE(contains(error_of(scan, given(101)),
                       "the trajectory given has 101 samples, but the scan's 4 image lines have 200"));
  EXPECT_EQ(assemble(scan, given(200)).measurements[0].trajectory->axis(0)[0], -5);
}

TEST(Assemble, TakesTheGridOfNonCartesianDataFromTheHeader) {
  RawScan scan = radial_scan(24, 5, 1);
  scan.encodings[0].encoded.matrix = scan.encodings[0].recon.matrix = {1, 24, 44};
  EXPECT_EQ(assemble(scan).measurements[0].matrix, (Shape{24, 44}));
}

TEST(Assemble, NotesCartesianLinesOfAnotherLengthAndRefusesTooLong) {
  RawScan scan = cartesian_scan(8, 1);
  scan.encodings[0].encoded.matrix = {1, 8, 20};
  Heard heard;
  EXPECT_EQ(assemble(scan, {}, heard.log()).measurements[0].trajectory->axis(1)[0], -4);
  EXPECT_TRUE(contains(heard.notes, "lines have 8 samples, the encoded matrix has x = 20"));
  scan.encodings[0].encoded.matrix = {1, 8, 6};
  EXPECT_TRUE(contains(error_of(scan), "lies at kx = -4 cycles per field of view, beyond +-3"))
      << error_of(scan);
}

TEST(Assemble, TakesAnotherMatrix) {
  const RawScan pixels = radial_scan(16, 5, 1);
  const Assembled wide = assemble(pixels, {.matrix = {32, 24}});
  EXPECT_EQ(wide.measurements[0].matrix, (Shape{32, 24}));
  EXPECT_EQ(wide.measurements[0].recon_matrix, (Shape{32, 24}));
  EXPECT_DOUBLE_EQ(wide.measurements[0].geometry.voxel_size()[0],
                   220.0 / 16);  // cycles per pixel keep the pixel
  EXPECT_NEAR(extent(*wide.measurements[0].trajectory)[1], 12, 1e-12);
  RawScan cycles = pixels;
  scale_trajectory(cycles, 16);
  const Assembled fine = assemble(cycles, {.unit = TrajectoryUnit::cycles_per_fov, .matrix = {32, 24}});
  EXPECT_DOUBLE_EQ(fine.measurements[0].geometry.voxel_size()[0],
                   220.0 / 24);  // cycles per field keep the field
  EXPECT_NEAR(extent(*fine.measurements[0].trajectory)[1], 8, 1e-12);
  EXPECT_THROW(assemble(pixels, {.matrix = {32}}), ArgumentError);
  EXPECT_THROW(assemble(pixels, {.matrix = {0, 32}}), ArgumentError);
}

TEST(Assemble, ChoosesAnEncoding) {
  RawScan scan = radial_scan(16, 6, 1);
  scan.encodings.push_back(example_encoding(20, "radial"));
  for (std::size_t s = 0; s < 6; ++s) scan.acquisitions[s].encoding = int(s % 2);
  Heard heard;
  const Assembled first = assemble(scan, {}, heard.log());
  EXPECT_EQ(first.measurements[0].matrix, (Shape{16, 16}));
  EXPECT_EQ(first.report.other_encodings, 3);
  EXPECT_TRUE(contains(heard.notes, "image lines of 2 encodings (0, 1); encoding 0 is taken"));
  EXPECT_EQ(assemble(scan, {.encoding = 1}).measurements[0].matrix, (Shape{20, 20}));
  EXPECT_THROW(assemble(scan, {.encoding = 2}), ArgumentError);
  scan.acquisitions[3].encoding = 2;
  EXPECT_TRUE(contains(error_of(scan), "acquisition 3: refers to encoding 2, but the header has 2"));
}

TEST(Assemble, NamesTheLineOfOtherChannels) {
  RawScan scan = radial_scan(16, 6, 2);
  scan.acquisitions[4] = example_line(16, 3, 2, 1);
  EXPECT_TRUE(
      contains(error_of(scan), "acquisition 4: 3 channels, but the first image line (acquisition 0) has 2"));
}

TEST(Assemble, NamesThePlaceOfAValueThatIsNotFinite) {
  RawScan scan = radial_scan(16, 6, 2);
  scan.acquisitions[4].data[16 + 3] = {0, nan_f};
  EXPECT_TRUE(contains(error_of(scan), "acquisition 4: channel 1 sample 3 is")) << error_of(scan);
  scan = radial_scan(16, 6, 2);
  scan.acquisitions[0].set_flag(AcquisitionFlag::noise);
  scan.acquisitions[0].data[5] = {INFINITY, 0};
  EXPECT_TRUE(contains(error_of(scan), "acquisition 0: channel 0 sample 5 is inf"));
  scan = radial_scan(16, 6, 2);
  scan.acquisitions[2].trajectory[7] = nan_f;
  EXPECT_TRUE(contains(error_of(scan), "acquisition 2: trajectory sample 3 has ky = nan"));
}

TEST(Assemble, ReportsSilentChannels) {
  RawScan scan = radial_scan(8, 3, 4);
  for (Acquisition& a : scan.acquisitions) std::fill(a.data.begin() + 16, a.data.begin() + 24, cfloat(0));
  Heard heard;
  EXPECT_EQ(assemble(scan, {}, heard.log()).report.silent_channels, std::vector<Index>{2});
  EXPECT_TRUE(contains(heard.warnings, "zero in every image line: 2"));
}

TEST(Assemble, RefusesAScanWithoutImageLinesInWords) {
  RawScan scan = radial_scan(8, 3, 1);
  for (Acquisition& a : scan.acquisitions) a.set_flag(AcquisitionFlag::noise);
  EXPECT_TRUE(contains(error_of(scan), "holds no image lines: 3 acquisitions: 0 image lines, 3 noise"));
  EXPECT_THROW(assemble(RawScan()), FormatError);
}

TEST(Assemble, ReadsRealFiles) {
  const std::string folder = SPINLOOM_TEST_DATA;
  const Assembled tool = assemble(read_mrd(folder + "/ismrmrd_tool_32_noise_ktraj.h5"));
  EXPECT_EQ(tool.report.noise, 1);
  ASSERT_EQ(tool.measurements.size(), 2u);  // two repetitions
  EXPECT_EQ(tool.measurements[0].matrix, (Shape{32, 64}));
  EXPECT_EQ(tool.measurements[0].recon_matrix, (Shape{32, 32}));
  EXPECT_TRUE(lies_on_grid(*tool.measurements[0].trajectory));
  EXPECT_EQ(tool.noise.shape(), (Shape{4, 64}));
  const Assembled koma = assemble(read_mrd(folder + "/koma_epi_brain.mrd"));
  EXPECT_EQ(koma.measurements[0].matrix, (Shape{101, 101}));
  EXPECT_NEAR(extent(*koma.measurements[0].trajectory)[0], 50.5, 1e-9);
}

}  // namespace
}  // namespace spinloom
