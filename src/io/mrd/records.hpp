#pragma once
#include <cstdint>

#include "io/hdf5.hpp"

/// The compound records of MRD files in this program's own memory layout. Files differ in offsets and sizes
/// (372, 376 and 384 bytes are met), so HDF5 converts by member name.
namespace spinloom::mrd {

struct Counters {
  std::uint16_t step_1, step_2, average, slice, contrast, phase, repetition, set, segment, user[8];
};

struct AcquisitionHead {
  std::uint16_t version;
  std::uint64_t flags;
  std::uint32_t measurement_uid, scan_counter, acquisition_time_stamp, physiology_time_stamp[3];
  std::uint16_t number_of_samples, available_channels, active_channels;
  std::uint64_t channel_mask[16];
  std::uint16_t discard_pre, discard_post, center_sample, encoding_space_ref, trajectory_dimensions;
  float sample_time_us, position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
  Counters idx;
  std::int32_t user_int[8];
  float user_float[8];
};

struct AcquisitionRecord {
  AcquisitionHead head;
  hvl_t traj, data;
};

struct ImageHead {
  std::uint16_t version, data_type;
  std::uint64_t flags;
  std::uint32_t measurement_uid;
  std::uint16_t matrix_size[3];
  float field_of_view[3];
  std::uint16_t channels;
  float position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
  std::uint16_t average, slice, contrast, phase, repetition, set;
  std::uint32_t acquisition_time_stamp, physiology_time_stamp[3];
  std::uint16_t image_type, image_index, image_series_index;
  std::int32_t user_int[8];
  float user_float[8];
  std::uint32_t attribute_string_len;
};

/// Memory type of a record. With `stored`, the file's type, only members that the file has are asked for: the
/// others keep what the buffer holds. FormatError when one that no reader can do without is missing.
hdf5::Handle acquisition_type(hid_t stored = -1);
hdf5::Handle image_head_type(hid_t stored = -1);

/// The same members without padding, as it is stored.
hdf5::Handle packed(const hdf5::Handle& memory_type);

}  // namespace spinloom::mrd
