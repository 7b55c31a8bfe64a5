#include "io/mrd/acquisitions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/mrd/convert.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::mrd {
namespace {

// A line may hold megabytes, and HDF5's copy lives beside ours for the length of a block.
constexpr Index lines_per_block = 64;
constexpr std::uint8_t a_record = 1, no_more = 0;

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

template <class T>
void send(ChildPipe& pipe, const T& value) {
  pipe.write(&value, sizeof value);
}

template <class T>
bool receive(ChildPipe& pipe, T& value) {
  return pipe.read(&value, sizeof value);
}

void send_floats(const hvl_t& list, ChildPipe& pipe) {
  send(pipe, std::uint64_t{list.len});
  pipe.write(list.p, list.len * sizeof(float));
}

void send_record(const AcquisitionRecord& record, ChildPipe& pipe) {
  send(pipe, a_record);
  send(pipe, record.head);
  send_floats(record.traj, pipe);
  send_floats(record.data, pipe);
}

/// A length from a child whose memory a damaged file may have spoilt.
void require_length(std::uint64_t bytes, std::size_t memory) {
  if (bytes > memory)
    throw FormatError(fmt::format("is damaged: a list of {} bytes is more than it can hold", bytes));
}

bool receive_floats(ChildPipe& pipe, std::size_t memory, std::vector<float>& values, hvl_t& list) {
  std::uint64_t length = 0;
  if (!receive(pipe, length)) return false;
  require_length(length, memory / sizeof(float));
  values.resize(length);
  list = {values.size(), values.data()};
  return pipe.read(values.data(), length * sizeof(float));
}

}  // namespace

void send_text(ChildPipe& pipe, const std::string& text) {
  send(pipe, std::uint64_t{text.size()});
  pipe.write(text.data(), text.size());
}

bool receive_text(ChildPipe& pipe, std::size_t memory, std::string& text) {
  std::uint64_t length = 0;
  if (!receive(pipe, length)) return false;
  require_length(length, memory);
  text.resize(length);
  return pipe.read(text.data(), length);
}

void send_acquisitions(hid_t data, ChildPipe& pipe) {
  const Index lines = stored_lines(data);
  const hdf5::Handle stored = hdf5::type(H5Dget_type(data));
  const hdf5::Handle type = acquisition_type(stored.get());
  const hdf5::Handle file_space = hdf5::space(H5Dget_space(data));
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
    for (const AcquisitionRecord& record : block.records()) send_record(record, pipe);
  }
  send(pipe, no_more);
}

bool receive_acquisitions(ChildPipe& pipe, std::size_t memory, std::vector<Acquisition>& acquisitions) {
  AcquisitionRecord record{};
  std::vector<float> trajectory, data;
  for (;;) {
    std::uint8_t more = no_more;
    if (!receive(pipe, more)) return false;
    if (more == no_more) return true;
    if (!receive(pipe, record.head) || !receive_floats(pipe, memory, trajectory, record.traj) ||
        !receive_floats(pipe, memory, data, record.data))
      return false;
    acquisitions.push_back(to_acquisition(record, static_cast<Index>(acquisitions.size())));
  }
}

}  // namespace spinloom::mrd
