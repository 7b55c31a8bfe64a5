#include "io/mrd/records.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "spinloom/core/error.hpp"

namespace spinloom::mrd {
namespace {

/// Compound types built member by member, skipping those that the stored type lacks.
class Builder {
 public:
  Builder(std::size_t size, hid_t stored)
      : type_(hdf5::type(H5Tcreate(H5T_COMPOUND, size))), stored_(stored) {}

  bool is_stored(const char* name) const { return stored_ < 0 || hdf5::has_member(stored_, name); }

  void add(const char* name, std::size_t offset, hid_t type, hsize_t length = 1) {
    if (!is_stored(name)) return;
    if (length == 1) return insert(name, offset, type);
    insert(name, offset, hdf5::type(H5Tarray_create2(type, 1, &length)).get());
  }
  void require(const char* name, std::size_t offset, hid_t type) {
    if (!is_stored(name)) throw FormatError(fmt::format("its records have no member '{}'", name));
    insert(name, offset, type);
  }
  /// The stored type of a member that is a record itself.
  hdf5::Handle stored_member(const char* name) const {
    if (stored_ < 0) return {};
    const int index = H5Tget_member_index(stored_, name);
    return index < 0 ? hdf5::Handle() : hdf5::type(H5Tget_member_type(stored_, static_cast<unsigned>(index)));
  }
  hdf5::Handle take() { return std::move(type_); }

 private:
  void insert(const char* name, std::size_t offset, hid_t type) {
    hdf5::require(H5Tinsert(type_.get(), name, offset, type), name);
  }
  hdf5::Handle type_;
  hid_t stored_;
};

hdf5::Handle counters_type(hid_t stored) {
  Builder b(sizeof(Counters), stored);
  b.add("kspace_encode_step_1", offsetof(Counters, step_1), H5T_NATIVE_UINT16);
  b.add("kspace_encode_step_2", offsetof(Counters, step_2), H5T_NATIVE_UINT16);
  b.add("average", offsetof(Counters, average), H5T_NATIVE_UINT16);
  b.add("slice", offsetof(Counters, slice), H5T_NATIVE_UINT16);
  b.add("contrast", offsetof(Counters, contrast), H5T_NATIVE_UINT16);
  b.add("phase", offsetof(Counters, phase), H5T_NATIVE_UINT16);
  b.add("repetition", offsetof(Counters, repetition), H5T_NATIVE_UINT16);
  b.add("set", offsetof(Counters, set), H5T_NATIVE_UINT16);
  b.add("segment", offsetof(Counters, segment), H5T_NATIVE_UINT16);
  b.add("user", offsetof(Counters, user), H5T_NATIVE_UINT16, 8);
  return b.take();
}

hdf5::Handle acquisition_head_type(hid_t stored) {
  using H = AcquisitionHead;
  Builder b(sizeof(H), stored);
  b.add("version", offsetof(H, version), H5T_NATIVE_UINT16);
  b.require("flags", offsetof(H, flags), H5T_NATIVE_UINT64);
  b.add("measurement_uid", offsetof(H, measurement_uid), H5T_NATIVE_UINT32);
  b.add("scan_counter", offsetof(H, scan_counter), H5T_NATIVE_UINT32);
  b.add("acquisition_time_stamp", offsetof(H, acquisition_time_stamp), H5T_NATIVE_UINT32);
  b.add("physiology_time_stamp", offsetof(H, physiology_time_stamp), H5T_NATIVE_UINT32, 3);
  b.require("number_of_samples", offsetof(H, number_of_samples), H5T_NATIVE_UINT16);
  b.add("available_channels", offsetof(H, available_channels), H5T_NATIVE_UINT16);
  b.require("active_channels", offsetof(H, active_channels), H5T_NATIVE_UINT16);
  b.add("channel_mask", offsetof(H, channel_mask), H5T_NATIVE_UINT64, 16);
  b.add("discard_pre", offsetof(H, discard_pre), H5T_NATIVE_UINT16);
  b.add("discard_post", offsetof(H, discard_post), H5T_NATIVE_UINT16);
  b.add("center_sample", offsetof(H, center_sample), H5T_NATIVE_UINT16);
  b.add("encoding_space_ref", offsetof(H, encoding_space_ref), H5T_NATIVE_UINT16);
  b.require("trajectory_dimensions", offsetof(H, trajectory_dimensions), H5T_NATIVE_UINT16);
  b.add("sample_time_us", offsetof(H, sample_time_us), H5T_NATIVE_FLOAT);
  b.add("position", offsetof(H, position), H5T_NATIVE_FLOAT, 3);
  b.add("read_dir", offsetof(H, read_dir), H5T_NATIVE_FLOAT, 3);
  b.add("phase_dir", offsetof(H, phase_dir), H5T_NATIVE_FLOAT, 3);
  b.add("slice_dir", offsetof(H, slice_dir), H5T_NATIVE_FLOAT, 3);
  b.add("patient_table_position", offsetof(H, patient_table_position), H5T_NATIVE_FLOAT, 3);
  if (b.is_stored("idx")) b.add("idx", offsetof(H, idx), counters_type(b.stored_member("idx").get()).get());
  b.add("user_int", offsetof(H, user_int), H5T_NATIVE_INT32, 8);
  b.add("user_float", offsetof(H, user_float), H5T_NATIVE_FLOAT, 8);
  return b.take();
}

}  // namespace

hdf5::Handle acquisition_type(hid_t stored) {
  if (stored >= 0 && H5Tget_class(stored) != H5T_COMPOUND)
    throw FormatError("it does not hold records of {head, traj, data}");
  const hdf5::Handle floats = hdf5::type(H5Tvlen_create(H5T_NATIVE_FLOAT));
  Builder b(sizeof(AcquisitionRecord), stored);
  if (!b.is_stored("head")) throw FormatError("its records have no member 'head'");
  b.require("head", offsetof(AcquisitionRecord, head),
            acquisition_head_type(b.stored_member("head").get()).get());
  b.add("traj", offsetof(AcquisitionRecord, traj), floats.get());
  b.require("data", offsetof(AcquisitionRecord, data), floats.get());
  return b.take();
}

hdf5::Handle image_head_type(hid_t stored) {
  using H = ImageHead;
  Builder b(sizeof(H), stored);
  b.add("version", offsetof(H, version), H5T_NATIVE_UINT16);
  b.add("data_type", offsetof(H, data_type), H5T_NATIVE_UINT16);
  b.add("flags", offsetof(H, flags), H5T_NATIVE_UINT64);
  b.add("measurement_uid", offsetof(H, measurement_uid), H5T_NATIVE_UINT32);
  b.add("matrix_size", offsetof(H, matrix_size), H5T_NATIVE_UINT16, 3);
  b.add("field_of_view", offsetof(H, field_of_view), H5T_NATIVE_FLOAT, 3);
  b.add("channels", offsetof(H, channels), H5T_NATIVE_UINT16);
  b.add("position", offsetof(H, position), H5T_NATIVE_FLOAT, 3);
  b.add("read_dir", offsetof(H, read_dir), H5T_NATIVE_FLOAT, 3);
  b.add("phase_dir", offsetof(H, phase_dir), H5T_NATIVE_FLOAT, 3);
  b.add("slice_dir", offsetof(H, slice_dir), H5T_NATIVE_FLOAT, 3);
  b.add("patient_table_position", offsetof(H, patient_table_position), H5T_NATIVE_FLOAT, 3);
  b.add("average", offsetof(H, average), H5T_NATIVE_UINT16);
  b.add("slice", offsetof(H, slice), H5T_NATIVE_UINT16);
  b.add("contrast", offsetof(H, contrast), H5T_NATIVE_UINT16);
  b.add("phase", offsetof(H, phase), H5T_NATIVE_UINT16);
  b.add("repetition", offsetof(H, repetition), H5T_NATIVE_UINT16);
  b.add("set", offsetof(H, set), H5T_NATIVE_UINT16);
  b.add("acquisition_time_stamp", offsetof(H, acquisition_time_stamp), H5T_NATIVE_UINT32);
  b.add("physiology_time_stamp", offsetof(H, physiology_time_stamp), H5T_NATIVE_UINT32, 3);
  b.add("image_type", offsetof(H, image_type), H5T_NATIVE_UINT16);
  b.add("image_index", offsetof(H, image_index), H5T_NATIVE_UINT16);
  b.add("image_series_index", offsetof(H, image_series_index), H5T_NATIVE_UINT16);
  b.add("user_int", offsetof(H, user_int), H5T_NATIVE_INT32, 8);
  b.add("user_float", offsetof(H, user_float), H5T_NATIVE_FLOAT, 8);
  b.add("attribute_string_len", offsetof(H, attribute_string_len), H5T_NATIVE_UINT32);
  return b.take();
}

hdf5::Handle packed(const hdf5::Handle& memory_type) {
  hdf5::Handle copy = hdf5::type(H5Tcopy(memory_type.get()));
  hdf5::require(H5Tpack(copy.get()), "packing a record");
  return copy;
}

}  // namespace spinloom::mrd
