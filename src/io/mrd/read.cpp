#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "io/mrd/contents.hpp"
#include "io/mrd/header.hpp"
#include "io/mrd/records.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace mrd;

// A line may hold megabytes, and HDF5's copy lives beside ours for the length of a block.
constexpr Index lines_per_block = 64;
constexpr std::uint64_t compressed_flags = std::uint64_t{15} << 52;  // 53 to 56

std::string why_not_a_scan(const Contents& contents) {
  if (contents.is_mrd2)
    return "is MRD version 2 (written by yardl), which is another format; convert it to MRD version 1 "
           "(ISMRMRD HDF5)";
  const std::string held = "the file holds " + contents.listing();
  if (!contents.image_groups().empty())
    return fmt::format("holds MRD images and no acquisitions, so there is nothing to reconstruct; {}", held);
  if (contents.has("ismrmrd_header") && contents.has("kspace"))
    return fmt::format(
        "is in the fastMRI layout (a k-space array with its header beside it), not an MRD scan; {}; a "
        "group with 'xml' and 'data' is needed, which --group names",
        held);
  return fmt::format("holds no MRD scan, which is a group with 'xml' and 'data'; {}; --group names a group",
                     held);
}

std::string choose_group(const Contents& contents, const std::string& wanted) {
  const std::vector<std::string> groups = contents.scan_groups();
  const std::string names = fmt::format("/{}", fmt::join(groups, ", /"));
  if (!wanted.empty()) {
    if (std::find(groups.begin(), groups.end(), normalized(wanted)) != groups.end())
      return normalized(wanted);
    if (groups.empty()) throw FormatError(why_not_a_scan(contents));
    throw FormatError(fmt::format("group '{}' holds no MRD scan; there is one in {}", wanted, names));
  }
  if (groups.empty()) throw FormatError(why_not_a_scan(contents));
  if (groups.size() > 1)
    throw FormatError(fmt::format("holds {} scans, in {}; choose one by --group", groups.size(), names));
  return groups.front();
}

template <class T, std::size_t n>
std::array<T, n> array_of(const T (&values)[n]) {
  std::array<T, n> result{};
  std::copy(std::begin(values), std::end(values), result.begin());
  return result;
}

Acquisition from_record(const AcquisitionRecord& record, Index index) {
  const AcquisitionHead& h = record.head;
  const Index samples = h.number_of_samples, channels = h.active_channels, dims = h.trajectory_dimensions;
  if (h.flags & compressed_flags)
    throw FormatError(
        fmt::format("acquisition {}: its samples are stored compressed (flags 53 to 56), which is not "
                    "supported; rewrite the file uncompressed",
                    index));
  if (static_cast<Index>(record.data.len) != 2 * samples * channels)
    throw FormatError(
        fmt::format("acquisition {}: {} values, header says {} x {} (samples x channels, two values each)",
                    index, record.data.len, samples, channels));
  if (static_cast<Index>(record.traj.len) != samples * dims)
    throw FormatError(
        fmt::format("acquisition {}: {} trajectory values, header says {} x {} (samples x dimensions)", index,
                    record.traj.len, samples, dims));
  Acquisition a;
  a.flags = h.flags;
  a.measurement = h.measurement_uid;
  a.scan_counter = h.scan_counter;
  a.time_stamp = h.acquisition_time_stamp;
  a.physiology_time_stamps = array_of(h.physiology_time_stamp);
  a.samples = samples;
  a.channels = channels;
  a.discard_pre = h.discard_pre;
  a.discard_post = h.discard_post;
  a.center_sample = h.center_sample;
  a.encoding = h.encoding_space_ref;
  a.trajectory_dimensions = h.trajectory_dimensions;
  a.sample_time_us = h.sample_time_us;
  a.position = array_of(h.position);
  a.read_dir = array_of(h.read_dir);
  a.phase_dir = array_of(h.phase_dir);
  a.slice_dir = array_of(h.slice_dir);
  a.table_position = array_of(h.patient_table_position);
  a.step_1 = h.idx.step_1;
  a.step_2 = h.idx.step_2;
  a.average = h.idx.average;
  a.slice = h.idx.slice;
  a.contrast = h.idx.contrast;
  a.phase = h.idx.phase;
  a.repetition = h.idx.repetition;
  a.set = h.idx.set;
  a.segment = h.idx.segment;
  a.user = array_of(h.idx.user);
  a.user_int = array_of(h.user_int);
  a.user_float = array_of(h.user_float);
  if (record.traj.len > 0) {
    const auto* values = static_cast<const float*>(record.traj.p);
    a.trajectory.assign(values, values + record.traj.len);
  }
  a.data.resize(static_cast<std::size_t>(samples * channels));
  if (!a.data.empty())
    std::memcpy(static_cast<void*>(a.data.data()), record.data.p, a.data.size() * sizeof(cfloat));
  return a;
}

/// Records whose variable-length parts HDF5 allocated; gives them back also when a line is refused.
class Block {
 public:
  Block(hid_t type, hid_t space, Index lines)
      : type_(type), space_(space), records_(static_cast<std::size_t>(lines)) {}
  ~Block() { H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, records_.data()); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  AcquisitionRecord* data() { return records_.data(); }
  const std::vector<AcquisitionRecord>& records() const { return records_; }

 private:
  hid_t type_, space_;
  std::vector<AcquisitionRecord> records_;
};

/// Lines in `data`. A damaged or hostile file may claim billions that were never stored.
Index stored_lines(hid_t data) {
  const Shape shape = hdf5::shape_of(data);
  if (shape.size() > 1)
    throw FormatError(fmt::format("it has shape {}, expected a list of lines", to_string(shape)));
  const Index lines = count(shape);
  // 340 bytes of header deflate by a factor of 1030 at most.
  if (lines / 4 > static_cast<Index>(H5Dget_storage_size(data)))
    throw FormatError(
        fmt::format("it claims {} lines but stores only {} bytes of them", lines, H5Dget_storage_size(data)));
  return lines;
}

std::vector<Acquisition> read_acquisitions(hid_t data) {
  const Index lines = stored_lines(data);
  const hdf5::Handle stored = hdf5::type(H5Dget_type(data));
  const hdf5::Handle type = acquisition_type(stored.get());
  const hdf5::Handle file_space = hdf5::space(H5Dget_space(data));
  std::vector<Acquisition> acquisitions;
  acquisitions.reserve(static_cast<std::size_t>(lines));
  for (Index begin = 0; begin < lines; begin += lines_per_block) {
    check_interrupt();
    const hsize_t start = static_cast<hsize_t>(begin);
    const hsize_t length = static_cast<hsize_t>(std::min(lines_per_block, lines - begin));
    const hdf5::Handle memory_space = hdf5::space(H5Screate_simple(1, &length, nullptr));
    if (H5Sget_simple_extent_ndims(file_space.get()) == 1)
      hdf5::require(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr),
                    "lines");
    Block block(type.get(), memory_space.get(), static_cast<Index>(length));
    hdf5::require(
        H5Dread(data, type.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, block.data()),
        fmt::format("acquisitions {} to {} cannot be read", begin, begin + static_cast<Index>(length) - 1));
    for (const AcquisitionRecord& record : block.records())
      acquisitions.push_back(from_record(record, static_cast<Index>(acquisitions.size())));
  }
  return acquisitions;
}

}  // namespace

RawScan read_mrd(const std::string& path, const std::string& group, const Log& log) {
  const hdf5::Session session;
  const hdf5::Handle file = hdf5::open_file(path);
  try {
    const Contents contents = list_contents(file.get());
    const std::string chosen = choose_group(contents, group);
    const std::string xml = joined(chosen, "xml"), data = joined(chosen, "data");
    if (!contents.has(xml))
      throw FormatError(fmt::format("group /{} has acquisitions but no header 'xml'", chosen));

    RawScan scan;
    parse_header(hdf5::read_string(hdf5::open_dataset(file.get(), xml).get(), fmt::format("/{}", xml)), scan, log);
    for (const MeasurementDependency& dependency : scan.dependencies)
      note(log,
           fmt::format("header: {} data lie in another measurement, '{}', which is not read",
                       dependency.kind.empty() ? "further" : dependency.kind, dependency.measurement_id));
    try {
      scan.acquisitions = read_acquisitions(hdf5::open_dataset(file.get(), data).get());
    } catch (const FormatError& e) {
      if (std::string(e.what()).rfind("acquisition", 0) == 0) throw;
      rethrow_with_context(fmt::format("/{}", data));
    }
    return scan;
  } catch (const Error&) {
    rethrow_with_context(path);
  }
}

}  // namespace spinloom
