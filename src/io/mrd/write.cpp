#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "io/mrd/header.hpp"
#include "io/mrd/records.hpp"
#include "io/mrd/stored_text.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace mrd;

constexpr Index lines_per_block = 64;

template <class T, std::size_t n>
void copy_to(T (&to)[n], const std::array<T, n>& from) {
  std::copy(from.begin(), from.end(), std::begin(to));
}

/// `value` as the unsigned 16 bits that the format has for it.
std::uint16_t narrow(Index value, const char* name, Index index) {
  if (value < 0 || value > std::numeric_limits<std::uint16_t>::max())
    throw ArgumentError(fmt::format("acquisition {}: {} is {}, but MRD has room for 0 to 65535{}", index,
                                    name, value,
                                    std::string(name) == "samples" ? "; split the readout" : ""));
  return static_cast<std::uint16_t>(value);
}

AcquisitionRecord to_record(const Acquisition& a, Index index) {
  if (static_cast<Index>(a.data.size()) != a.samples * a.channels)
    throw ArgumentError(fmt::format("acquisition {}: {} values, expected {} x {} (channels x samples)", index,
                                    a.data.size(), a.channels, a.samples));
  if (static_cast<Index>(a.trajectory.size()) != a.samples * a.trajectory_dimensions)
    throw ArgumentError(
        fmt::format("acquisition {}: {} trajectory values, expected {} x {} (samples x dimensions)", index,
                    a.trajectory.size(), a.samples, a.trajectory_dimensions));
  AcquisitionRecord record{};
  AcquisitionHead& h = record.head;
  const auto u16 = [&](Index value, const char* name) { return narrow(value, name, index); };
  h.version = 1;
  h.flags = a.flags;
  h.measurement_uid = a.measurement;
  h.scan_counter = a.scan_counter;
  h.acquisition_time_stamp = a.time_stamp;
  copy_to(h.physiology_time_stamp, a.physiology_time_stamps);
  h.number_of_samples = u16(a.samples, "samples");
  h.available_channels = h.active_channels = u16(a.channels, "channels");
  for (Index c = 0; c < std::min<Index>(a.channels, 1024); ++c)
    h.channel_mask[c / 64] |= std::uint64_t{1} << (c % 64);
  h.discard_pre = u16(a.discard_pre, "discard_pre");
  h.discard_post = u16(a.discard_post, "discard_post");
  h.center_sample = u16(a.center_sample, "center_sample");
  h.encoding_space_ref = u16(a.encoding, "encoding");
  h.trajectory_dimensions = u16(a.trajectory_dimensions, "trajectory_dimensions");
  h.sample_time_us = a.sample_time_us;
  copy_to(h.position, a.position);
  copy_to(h.read_dir, a.read_dir);
  copy_to(h.phase_dir, a.phase_dir);
  copy_to(h.slice_dir, a.slice_dir);
  copy_to(h.patient_table_position, a.table_position);
  h.idx.step_1 = u16(a.step_1, "step_1");
  h.idx.step_2 = u16(a.step_2, "step_2");
  h.idx.average = u16(a.average, "average");
  h.idx.slice = u16(a.slice, "slice");
  h.idx.contrast = u16(a.contrast, "contrast");
  h.idx.phase = u16(a.phase, "phase");
  h.idx.repetition = u16(a.repetition, "repetition");
  h.idx.set = u16(a.set, "set");
  h.idx.segment = u16(a.segment, "segment");
  copy_to(h.idx.user, a.user);
  copy_to(h.user_int, a.user_int);
  copy_to(h.user_float, a.user_float);
  // HDF5 only reads from here, but its type has no const.
  record.traj = {a.trajectory.size(), const_cast<float*>(a.trajectory.data())};
  record.data = {2 * a.data.size(), const_cast<cfloat*>(a.data.data())};
  return record;
}

void require_written(herr_t status, const std::string& path) {
  if (status < 0) throw FileError(fmt::format("{}: cannot be written: HDF5 says: {}", path, hdf5::reason()));
}

void write_acquisitions(hid_t group, const std::vector<Acquisition>& acquisitions, const std::string& path) {
  const hdf5::Handle memory_type = acquisition_type();
  const hdf5::Handle stored_type = packed(memory_type);
  const hsize_t lines = acquisitions.size(), unlimited = H5S_UNLIMITED;
  const hsize_t chunk = std::clamp<hsize_t>(lines, 1, lines_per_block);
  const hdf5::Handle space = hdf5::space(H5Screate_simple(1, &lines, &unlimited));
  const hdf5::Handle creation = hdf5::property(H5Pcreate(H5P_DATASET_CREATE));
  require_written(H5Pset_chunk(creation.get(), 1, &chunk), path);
  const hdf5::Handle data = hdf5::dataset(
      H5Dcreate2(group, "data", stored_type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  require_written(data ? 0 : -1, path);

  std::vector<AcquisitionRecord> block;
  for (hsize_t begin = 0; begin < lines; begin += block.size()) {
    check_interrupt();
    block.clear();
    for (hsize_t i = begin; i < std::min<hsize_t>(lines, begin + lines_per_block); ++i)
      block.push_back(to_record(acquisitions[i], static_cast<Index>(i)));
    const hsize_t length = block.size();
    const hdf5::Handle memory_space = hdf5::space(H5Screate_simple(1, &length, nullptr));
    require_written(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &begin, nullptr, &length, nullptr),
                    path);
    require_written(
        H5Dwrite(data.get(), memory_type.get(), memory_space.get(), space.get(), H5P_DEFAULT, block.data()),
        path);
  }
}

}  // namespace

void write_mrd(const std::string& path, const RawScan& scan, OutputFile::Existing existing) {
  OutputFile output(path, existing);
  const hdf5::Session session;
  hdf5::Handle file(H5Fcreate(output.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  require_written(file ? 0 : -1, path);
  {
    const hdf5::Handle group =
        hdf5::group(H5Gcreate2(file.get(), "dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    require_written(group ? 0 : -1, path);
    require_written(
        write_text(group.get(), "xml", scan.header_xml.empty() ? make_header(scan) : scan.header_xml), path);
    write_acquisitions(group.get(), scan.acquisitions, path);
  }
  require_written(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), path);
  require_written(file.close() ? 0 : -1, path);
  output.commit();
}

}  // namespace spinloom
