#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>
#include <ismrmrd/xml.h>
#include <sys/resource.h>

#include <csignal>

#include "example_scan.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;
constexpr auto refuse = OutputFile::Existing::refuse;

TEST(MrdWrite, IsReadByIsmrmrdsOwnLibrary) {
  const TemporaryFolder folder;
  RawScan scan = radial_scan(16, 70, 3);
  scan.acquisitions[5].set_flag(AcquisitionFlag::noise);
  scan.acquisitions[5].trajectory_dimensions = 0;
  scan.acquisitions[5].trajectory.clear();
  scan.acquisitions[6] = Acquisition();
  scan.acquisitions[69].position = {1, 2, 3};
  scan.acquisitions[69].user_float[7] = 0.5f;
  write_mrd((folder / "a.h5"), scan, refuse);

  ISMRMRD::Dataset dataset((folder / "a.h5").c_str(), "dataset", false);
  std::string xml;
  dataset.readHeader(xml);
  ISMRMRD::IsmrmrdHeader header;
  ISMRMRD::deserialize(xml.c_str(), header);
  ASSERT_EQ(header.encoding.size(), 1u);
  EXPECT_EQ(header.encoding[0].encodedSpace.matrixSize.x, 16);
  EXPECT_EQ(header.encoding[0].trajectory, ISMRMRD::TrajectoryType::RADIAL);
  EXPECT_EQ(*header.acquisitionSystemInformation->receiverChannels, 3);
  ASSERT_EQ(dataset.getNumberOfAcquisitions(), 70u);
  for (std::uint32_t i = 0; i < 70; ++i) {
    const Acquisition& ours = scan.acquisitions[i];
    ISMRMRD::Acquisition theirs;
    dataset.readAcquisition(i, theirs);
    ASSERT_EQ(theirs.getNumberOfDataElements(), ours.data.size());
    ASSERT_EQ(theirs.getNumberOfTrajElements(), ours.trajectory.size());
    EXPECT_TRUE(std::equal(ours.data.begin(), ours.data.end(), theirs.getDataPtr()));
    EXPECT_TRUE(std::equal(ours.trajectory.begin(), ours.trajectory.end(), theirs.getTrajPtr()));
    // Their header is packed, so its members are compared as values: references to them would not be aligned.
    const ISMRMRD::AcquisitionHeader head = theirs.getHead();
    const std::uint64_t flags = head.flags;
    const Index center = head.center_sample;
    const int step_1 = head.idx.kspace_encode_step_1;
    const float dwell = head.sample_time_us, height = head.position[2], last_user = head.user_float[7];
    EXPECT_EQ(flags, ours.flags);
    EXPECT_EQ(center, ours.center_sample);
    EXPECT_EQ(step_1, ours.step_1);
    EXPECT_EQ(dwell, ours.sample_time_us);
    EXPECT_EQ(height, ours.position[2]);
    EXPECT_EQ(last_user, ours.user_float[7]);
    for (std::uint16_t c = 0; c < ours.channels; ++c) EXPECT_TRUE(theirs.isChannelActive(c));
  }
}

TEST(MrdWrite, GivesBackWhatIsmrmrdsOwnLibraryWrote) {
  const TemporaryFolder folder;
  {
    ISMRMRD::Dataset dataset((folder / "a.h5").c_str(), "scan", true);
    ISMRMRD::IsmrmrdHeader header;
    header.experimentalConditions.H1resonanceFrequency_Hz = 64000000;
    ISMRMRD::Encoding encoding;
    encoding.encodedSpace.matrixSize = encoding.reconSpace.matrixSize = ISMRMRD::MatrixSize(12, 10, 8);
    encoding.trajectory = ISMRMRD::TrajectoryType::SPIRAL;
    header.encoding.push_back(encoding);
    std::stringstream xml;
    ISMRMRD::serialize(header, xml);
    dataset.writeHeader(xml.str());
    for (int i = 0; i < 3; ++i) {
      ISMRMRD::Acquisition a(5, 2, 3);
      for (int k = 0; k < 10; ++k) a.getDataPtr()[k] = {float(k), float(-i)};
      for (int k = 0; k < 15; ++k) a.getTrajPtr()[k] = 0.01f * float(k);
      a.idx().slice = static_cast<std::uint16_t>(i);
      dataset.appendAcquisition(a);
      dataset.appendWaveform(ISMRMRD::Waveform(4, 2));
    }
  }
  const RawScan scan = read_mrd(folder / "a.h5");
  EXPECT_EQ(scan.encodings[0].encoded.matrix, (Shape{8, 10, 12}));
  EXPECT_EQ(scan.larmor_frequency_hz, 64000000);
  ASSERT_EQ(scan.acquisitions.size(), 3u);
  EXPECT_EQ(scan.acquisitions[2].slice, 2);
  EXPECT_EQ(scan.acquisitions[2].data[9], cfloat(9, -2));
  EXPECT_EQ(scan.acquisitions[2].trajectory[14], 0.01f * 14);
}

TEST(MrdWrite, KeepsAHeaderWordForWord) {
  const TemporaryFolder folder;
  RawScan scan = read_mrd(std::string(SPINLOOM_TEST_DATA) + "/koma_epi_brain.mrd");
  write_mrd((folder / "a.h5"), scan, refuse);
  EXPECT_EQ(read_mrd(folder / "a.h5").header_xml, scan.header_xml);
}

TEST(MrdWrite, WritesAScanWithoutLines) {
  const TemporaryFolder folder;
  RawScan scan;
  scan.encodings = {example_encoding(8, "radial")};
  write_mrd((folder / "a.h5"), scan, refuse);
  EXPECT_TRUE(read_mrd(folder / "a.h5").acquisitions.empty());
}

TEST(MrdWrite, RefusesWhatTheFormatHasNoRoomForAndLeavesNothing) {
  const TemporaryFolder folder;
  RawScan scan;
  scan.encodings = {example_encoding(8, "radial")};
  scan.acquisitions = {example_line(4, 1, 2, 1), example_line(65536, 1, 0, 2)};
  EXPECT_NE(
      message_of([&] { write_mrd((folder / "a.h5"), scan, refuse); }).find("acquisition 1: samples is 65536"),
      std::string::npos);
  scan.acquisitions = {example_line(4, 2, 2, 1)};
  scan.acquisitions[0].data.pop_back();
  EXPECT_THROW(write_mrd((folder / "a.h5"), scan, refuse), ArgumentError);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

TEST(MrdWrite, SaysWhenTheDiskIsFullAndLeavesNothing) {
  const TemporaryFolder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 50000;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = message_of([&] { write_mrd((folder / "a.h5"), radial_scan(64, 90, 4), refuse); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(error.find("a.h5: cannot be written: File too large"), std::string::npos) << error;
  EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

TEST(MrdWrite, DoesNotReplaceAFileUnasked) {
  const TemporaryFolder folder;
  const RawScan scan = radial_scan(8, 3, 1);
  write_mrd((folder / "a.h5"), scan, refuse);
  EXPECT_THROW(write_mrd((folder / "a.h5"), scan, refuse), FileError);
  write_mrd((folder / "a.h5"), scan, OutputFile::Existing::replace);
  EXPECT_THROW(write_mrd((folder / "none/a.h5"), scan, refuse), FileError);
}

}  // namespace
}  // namespace spinloom
