#include "assemble_support.hpp"

namespace spinloom {
namespace {

using namespace testing;

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

}  // namespace
}  // namespace spinloom
