#include "io/mrd/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "spinloom/core/error.hpp"

namespace spinloom::mrd {
namespace {

constexpr std::uint64_t compressed_flags = std::uint64_t{15} << 52;  // 53 to 56

template <class T, std::size_t n>
std::array<T, n> array_of(const T (&values)[n]) {
  std::array<T, n> result{};
  std::copy(std::begin(values), std::end(values), result.begin());
  return result;
}

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

}  // namespace

Acquisition to_acquisition(const AcquisitionRecord& record, Index index) {
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

}  // namespace spinloom::mrd
