#include "assemble_support.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace testing;

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
