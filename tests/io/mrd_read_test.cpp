#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <random>

#include "example_scan.hpp"
#include "io/mrd_layouts.hpp"
#include "io/streams.hpp"
#include "runtime/os/child_reader.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;

const std::string data_folder = SPINLOOM_TEST_DATA;

std::string error_of(const std::string& path, const std::string& group = "") {
  return message_of([&] { read_mrd(path, group); });
}

void expect_equal(const Acquisition& a, const Acquisition& b) {
  EXPECT_EQ(a.flags, b.flags);
  EXPECT_EQ(a.measurement, b.measurement);
  EXPECT_EQ(a.scan_counter, b.scan_counter);
  EXPECT_EQ(a.time_stamp, b.time_stamp);
  EXPECT_EQ(a.physiology_time_stamps, b.physiology_time_stamps);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.discard_pre, b.discard_pre);
  EXPECT_EQ(a.discard_post, b.discard_post);
  EXPECT_EQ(a.center_sample, b.center_sample);
  EXPECT_EQ(a.encoding, b.encoding);
  EXPECT_EQ(a.sample_time_us, b.sample_time_us);
  EXPECT_EQ(a.position, b.position);
  EXPECT_EQ(a.read_dir, b.read_dir);
  EXPECT_EQ(a.phase_dir, b.phase_dir);
  EXPECT_EQ(a.slice_dir, b.slice_dir);
  EXPECT_EQ(a.table_position, b.table_position);
  EXPECT_EQ(std::make_tuple(a.step_1, a.step_2, a.average, a.slice, a.contrast, a.phase, a.repetition, a.set,
                            a.segment),
            std::make_tuple(b.step_1, b.step_2, b.average, b.slice, b.contrast, b.phase, b.repetition, b.set,
                            b.segment));
  EXPECT_EQ(a.user, b.user);
  EXPECT_EQ(a.user_int, b.user_int);
  EXPECT_EQ(a.user_float, b.user_float);
  EXPECT_EQ(a.trajectory, b.trajectory);
  EXPECT_EQ(a.data, b.data);
}

/// Every field of every line has a value of its own; lines differ in length, channels and trajectory.
RawScan scan_of_all_fields() {
  RawScan scan;
  scan.encodings = {example_encoding(17, "spiral"), example_encoding(9, "epi")};
  for (int i = 0; i < 150; ++i) {  // more than two blocks of reading
    Acquisition a = example_line(1 + i % 7, 1 + i % 3, i % 5, static_cast<unsigned>(i));
    a.flags = (std::uint64_t{1} << (i % 52)) | (std::uint64_t{1} << 63);
    a.measurement = 4000000000u + unsigned(i);
    a.scan_counter = unsigned(i);
    a.time_stamp = 5u * unsigned(i);
    a.physiology_time_stamps = {1u, unsigned(i), 3u};
    a.discard_pre = i % 3;
    a.discard_post = i % 2;
    a.encoding = i % 2;
    a.position = {1.5f, float(i), -2};
    a.read_dir = {0, 1, float(i)};
    a.phase_dir = {1, 0, -1};
    a.slice_dir = {float(i), 0.25f, 1};
    a.table_position = {7, 8, float(i)};
    a.step_1 = 65535 - i;
    a.step_2 = i + 1;
    a.average = i + 2;
    a.slice = i + 3;
    a.contrast = i + 4;
    a.phase = i + 5;
    a.repetition = i + 6;
    a.set = i + 7;
    a.segment = i + 8;
    a.user = {1, 2, 3, 4, 5, 6, 7, static_cast<std::uint16_t>(60000 + i)};
    a.user_int = {-1, 2, 3, 4, 5, 6, 7, -i};
    a.user_float = {0.5f, 2, 3, 4, 5, 6, 7, -float(i)};
    scan.acquisitions.push_back(a);
  }
  return scan;
}

class MrdRecords : public ::testing::TestWithParam<FileKind::Records> {};

TEST_P(MrdRecords, AreReadByNameWhateverTheirLayout) {
  const TemporaryFolder folder;
  const RawScan scan = scan_of_all_fields();
  write_as((folder / "a.h5"), scan, {.records = GetParam()});
  const RawScan read = read_mrd(folder / "a.h5");
  ASSERT_EQ(read.acquisitions.size(), scan.acquisitions.size());
  for (std::size_t i = 0; i < scan.acquisitions.size(); ++i)
    expect_equal(read.acquisitions[i], scan.acquisitions[i]);
}

INSTANTIATE_TEST_SUITE_P(Layouts, MrdRecords,
                         ::testing::Values(FileKind::Records::packed, FileKind::Records::natural));

TEST(MrdRecords, HaveTheSizesMetInRealFiles) {
  const hdf5::Session session;
  EXPECT_EQ(H5Tget_size(mrd::packed(mrd::acquisition_type()).get()), 340 + 2 * sizeof(hvl_t));
  EXPECT_EQ(H5Tget_size(mrd::acquisition_type().get()), 384u);
}

class MrdHeaderText : public ::testing::TestWithParam<FileKind::Text> {};

TEST_P(MrdHeaderText, IsReadHoweverItIsStored) {
  const TemporaryFolder folder;
  RawScan scan = radial_scan(8, 3, 1);
  scan.header_xml = mrd::make_header(scan) + "<!-- \xCE\x94t -->";
  write_as((folder / "a.h5"), scan, {.text = GetParam()});
  EXPECT_EQ(read_mrd(folder / "a.h5").header_xml, scan.header_xml);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MrdHeaderText,
                         ::testing::Values(FileKind::Text::ascii, FileKind::Text::utf8, FileKind::Text::fixed,
                                           FileKind::Text::scalar));

TEST(MrdRead, NamesTheLineWhoseDataDoNotFitItsHeader) {
  const TemporaryFolder folder;
  std::vector<float> extra(96, 1.0f);
  write_as((folder / "a.h5"), radial_scan(8, 12, 2), {}, [&](auto& records) {
    records[7].head.number_of_samples = records[7].head.active_channels = 0;
    records[7].traj = {0, nullptr};
    records[7].data = {extra.size(), extra.data()};
  });
  EXPECT_NE(error_of(folder / "a.h5").find("acquisition 7: 96 values, header says 0 x 0"), std::string::npos)
      << error_of(folder / "a.h5");
}

TEST(MrdRead, NamesTheLineWhoseTrajectoryDoesNotFitItsHeader) {
  const TemporaryFolder folder;
  write_as((folder / "a.h5"), radial_scan(8, 12, 2), {},
           [&](auto& records) { records[3].head.trajectory_dimensions = 3; });
  EXPECT_NE(error_of(folder / "a.h5").find("acquisition 3: 16 trajectory values, header says 8 x 3"),
            std::string::npos);
}

TEST(MrdRead, AcceptsLinesOfNothing) {
  const TemporaryFolder folder;
  RawScan scan = radial_scan(8, 3, 2);
  scan.acquisitions[1] = Acquisition();
  write_as((folder / "a.h5"), scan);
  const RawScan read = read_mrd(folder / "a.h5");
  EXPECT_EQ(read.acquisitions[1].samples, 0);
  EXPECT_EQ(read.acquisitions[2].data, scan.acquisitions[2].data);
}

TEST(MrdRead, ReadsTheLongestReadoutsWhole) {
  const TemporaryFolder folder;
  RawScan scan;
  scan.encodings = {example_encoding(64, "spiral")};
  scan.acquisitions = {example_line(40000, 1, 2, 1), example_line(65535, 1, 2, 2)};
  write_mrd((folder / "a.h5"), scan, OutputFile::Existing::refuse);
  const RawScan read = read_mrd(folder / "a.h5");
  EXPECT_EQ(read.acquisitions[0].data, scan.acquisitions[0].data);
  EXPECT_EQ(read.acquisitions[1].data, scan.acquisitions[1].data);
  EXPECT_EQ(read.acquisitions[1].samples, 65535);
}

TEST(MrdRead, RefusesCompressedSamples) {
  const TemporaryFolder folder;
  write_as((folder / "a.h5"), radial_scan(8, 3, 1), {},
           [](auto& records) { records[2].head.flags |= std::uint64_t{1} << 52; });
  EXPECT_NE(error_of(folder / "a.h5").find("acquisition 2: its samples are stored compressed"),
            std::string::npos);
}

TEST(MrdRead, AsksWhichOfSeveralScansAndFindsItByName) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_as(path, radial_scan(8, 3, 1), {.group = "noise"});
  write_as(path, radial_scan(8, 5, 1), {.group = "image"});
  EXPECT_NE(error_of(path).find("holds 2 scans, in /image, /noise; choose one by --group"), std::string::npos)
      << error_of(path);
  EXPECT_EQ(read_mrd(path, "image").acquisitions.size(), 5u);
  EXPECT_EQ(read_mrd(path, "/noise/").acquisitions.size(), 3u);
  EXPECT_NE(error_of(path, "imag").find("group 'imag' holds no MRD scan; there is one in /image, /noise"),
            std::string::npos);
}

TEST(MrdRead, FindsAScanUnderAnyName) {
  const TemporaryFolder folder;
  write_as((folder / "a.h5"), radial_scan(8, 3, 1), {.group = "scan 7"});
  EXPECT_EQ(read_mrd(folder / "a.h5").acquisitions.size(), 3u);
}

TEST(MrdRead, IgnoresWaveformsAndOtherArrays) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_as(path, radial_scan(8, 3, 1));
  {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const hsize_t n = 5;
    const hdf5::Handle space = hdf5::space(H5Screate_simple(1, &n, nullptr));
    for (const char* name : {"dataset/waveforms", "dataset/config", "extra"})
      hdf5::dataset(
          H5Dcreate2(file.get(), name, H5T_NATIVE_INT, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  EXPECT_EQ(read_mrd(path).acquisitions.size(), 3u);
}

TEST(MrdRead, RefusesAFastMriFileAndListsWhatItHolds) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  {
    const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hsize_t shape[] = {2, 3, 8, 8};
    const hdf5::Handle space = hdf5::space(H5Screate_simple(4, shape, nullptr)),
                       one = hdf5::space(H5Screate(H5S_SCALAR));
    hdf5::dataset(H5Dcreate2(file.get(), "kspace", H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, H5P_DEFAULT,
                             H5P_DEFAULT));
    hdf5::dataset(
        H5Dcreate2(file.get(), "ismrmrd_header", H5T_C_S1, one.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  const std::string error = error_of(path);
  EXPECT_NE(error.find("fastMRI"), std::string::npos);
  EXPECT_NE(error.find("/kspace [2, 3, 8, 8]"), std::string::npos) << error;
  EXPECT_NE(error.find("--group"), std::string::npos);
}

TEST(MrdRead, RefusesMrdVersion2ByName) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  {
    const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hdf5::Handle group =
        hdf5::group(H5Gcreate2(file.get(), "Mrd", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hdf5::Handle one = hdf5::space(H5Screate(H5S_SCALAR));
    hdf5::dataset(
        H5Dcreate2(group.get(), "$yardl_schema", H5T_C_S1, one.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  write_bytes((folder / "b.bin"), "yardl\x01\x02\x03\x04");
  EXPECT_NE(error_of(path).find("MRD version 2"), std::string::npos);
  EXPECT_NE(error_of(folder / "b.bin").find("MRD version 2"), std::string::npos);
}

TEST(MrdRead, RefusesALineCountThatWasNeverStored) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_mrd(path, radial_scan(8, 3, 1), OutputFile::Existing::refuse);
  {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const hdf5::Handle data = hdf5::open_dataset(file.get(), "dataset/data");
    const hsize_t lines = hsize_t{1} << 40;
    ASSERT_GE(H5Dset_extent(data.get(), &lines), 0);
  }
  EXPECT_NE(error_of(path).find("claims 1099511627776 lines"), std::string::npos) << error_of(path);
}

TEST(MrdRead, SaysWhatIsWrongWithFilesThatAreNone) {
  const TemporaryFolder folder;
  write_bytes((folder / "empty.h5"), "");
  write_bytes((folder / "text.h5"), "not at all");
  write_bytes((folder / "packed.h5.gz"), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  EXPECT_THROW(read_mrd(folder / "missing.h5"), FileError);
  EXPECT_THROW(read_mrd(folder / "."), FileError);
  EXPECT_NE(error_of(folder / "empty.h5").find("is empty"), std::string::npos);
  EXPECT_NE(error_of(folder / "text.h5").find("is not an HDF5 file"), std::string::npos);
  EXPECT_NE(error_of(folder / "packed.h5.gz").find("gunzip"), std::string::npos);
}

// One of our errors in one line and nothing printed by HDF5, wherever a copy was cut off.
TEST(MrdRead, RefusesFilesThatAreCutShort) {
  const TemporaryFolder folder;
  const std::string whole = (folder / "whole.h5"), broken = folder / "broken.h5";
  write_mrd(whole, radial_scan(8, 9, 2), OutputFile::Existing::refuse);
  const std::string bytes = read_bytes(whole);
  ::testing::internal::CaptureStderr();
  for (std::size_t length = 0; length < bytes.size(); length += 97) {
    write_bytes(broken, bytes.substr(0, length));
    const std::string error = error_of(broken);
    EXPECT_FALSE(error.empty()) << length;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// A member that reaches beyond its record makes HDF5 read beyond its buffers.
TEST(MrdRead, RefusesADamagedDescriptionOfRecords) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_mrd(path, radial_scan(8, 9, 2), OutputFile::Existing::refuse);
  std::string bytes = read_bytes(path);
  const std::size_t name = bytes.find(std::string("flags\0", 6));  // followed by its offset in the record
  ASSERT_NE(name, std::string::npos);
  int changed = 0;
  for (std::size_t at = name; at < name + 12; ++at)
    if (bytes[at] == 2) {
      bytes[at] = '\x7f';
      bytes[at + 1] = '\x7f';
      ++changed;
      break;
    }
  ASSERT_EQ(changed, 1);
  write_bytes(path, bytes);
  EXPECT_NE(error_of(path).find("damaged"), std::string::npos) << error_of(path);
}

// HDF5 1.10 follows damaged references into its heaps without looking: about one change in thirty crashes it.
TEST(MrdRead, SurvivesDamageAnywhere) {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole.h5", broken = folder / "broken.h5";
  write_mrd(whole, radial_scan(8, 9, 2), OutputFile::Existing::refuse);
  const std::string bytes = read_bytes(whole);
  std::mt19937 random(std::random_device{}());
  int crashes = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string changed = bytes;
    const std::size_t at = random() % bytes.size();
    changed[at] = static_cast<char>(random());
    write_bytes(broken, changed);
    const std::string error = error_of(broken);
    EXPECT_EQ(error.find('\n'), std::string::npos) << "byte " << at << ": " << error;
    crashes += error.find("crashes the HDF5 library") != std::string::npos;
  }
  RecordProperty("crashes", crashes);
}

// The HDF5 library goes round for ever in one of some thousand files with one byte changed. The test above meets such a file
// now and then; here the child itself never ends.
TEST(MrdRead, EndsAReadingThatWouldNeverEnd) {
  const TemporaryFolder folder;
  write_bytes(folder / "endless.h5", "whatever");
  const auto words = [&](bool writes_first, const std::function<bool(ChildPipe&)>& parent) {
    return refusal<FormatError>([&] {
      read_in_child(
          folder / "endless.h5", "HDF5", 0,
          [&](ChildPipe& pipe) {
            if (writes_first) pipe.write("a", 1);
            for (volatile bool goes_on = true; goes_on;) {
            }
          },
          parent);
    });
  };
  char byte;
  EXPECT_SAYS(words(true, [&](ChildPipe& pipe) { return pipe.read(&byte, 1) && pipe.read(&byte, 1); }),
              "for ever");
  EXPECT_SAYS(words(false, [](ChildPipe&) { return true; }), "for ever");
}

TEST(MrdRead, ReadsAFileOfAJuliaWriter) {
  std::vector<std::string> warnings;
  const RawScan scan =
      read_mrd(data_folder + "/koma_epi_brain.mrd", "", [&](Severity severity, const std::string& text) {
        if (severity == Severity::warning) warnings.push_back(text);
      });
  ASSERT_EQ(scan.acquisitions.size(), 101u);
  EXPECT_EQ(scan.acquisitions[100].samples, 101);
  EXPECT_EQ(scan.encodings[0].encoded.matrix, (Shape{1, 101, 101}));
  EXPECT_EQ(scan.encodings[0].recon.matrix, (Shape{1, 102, 102}));
  float largest = 0;
  for (const Acquisition& a : scan.acquisitions)
    for (const float k : a.trajectory) largest = std::max(largest, std::abs(k));
  EXPECT_EQ(largest, 0.5f);
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("looks like metres"), std::string::npos);
}

TEST(MrdRead, ReadsAFileOfIsmrmrdsOwnTool) {
  const RawScan scan = read_mrd(data_folder + "/ismrmrd_tool_32_noise_ktraj.h5");
  ASSERT_EQ(scan.acquisitions.size(), 41u);
  EXPECT_TRUE(scan.acquisitions[0].has(AcquisitionFlag::noise));
  EXPECT_EQ(scan.acquisitions[0].trajectory_dimensions, 0);
  EXPECT_EQ(scan.acquisitions[40].trajectory_dimensions, 2);
  EXPECT_EQ(scan.encodings[0].encoded.matrix, (Shape{1, 32, 64}));
  EXPECT_EQ(scan.encodings[0].step_1.center, 16);
}

TEST(MrdRead, ReadsAFileWithoutSamplesYet) {
  const TemporaryFolder folder;
  std::string bytes(8 << 20, '\0');
  const gzFile packed = gzopen((data_folder + "/bonn7t_spiral_metadata.h5.gz").c_str(), "rb");
  ASSERT_NE(packed, nullptr);
  const int length = gzread(packed, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(packed);
  ASSERT_EQ(length, 3926948);
  bytes.resize(static_cast<std::size_t>(length));
  write_bytes((folder / "a.h5"), bytes);
  const RawScan scan = read_mrd(folder / "a.h5");
  ASSERT_EQ(scan.acquisitions.size(), 141u);
  EXPECT_EQ(scan.acquisitions[125].samples, 0);
  EXPECT_EQ(scan.acquisitions[126].samples, 974);
  EXPECT_EQ(scan.acquisitions[126].channels, 32);
}

}  // namespace
}  // namespace spinloom
