#include "spinloom/io/image_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/byte_order.hpp"
#include "io/byte_sink.hpp"
#include "io/nifti_header.hpp"
#include "io/npy_header.hpp"
#include "runtime/os/file.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

bool starts_with(ByteSource& source, std::string_view magic) {
  const auto& start = source.peek(magic.size());
  return start.size() >= magic.size() && std::memcmp(start.data(), magic.data(), magic.size()) == 0;
}

class PlainReader final : public ImageReader {
 public:
  PlainReader(std::string path, std::uint64_t offset, Image head, Shape shape, DType stored, bool is_swapped)
      : path_(std::move(path)),
        offset_(offset),
        stored_(stored),
        is_swapped_(is_swapped),
        file_(path_, os::File::Mode::read) {
    if (!file_.is_open()) fail("cannot be opened", os::problem());
    head_ = std::move(head);
    shape_ = std::move(shape);
  }

  Tensor read(Index first, Index count) override {
    Tensor part(stored_, {count});
    auto* to = part.bytes.data();
    std::uint64_t at = offset_ + static_cast<std::uint64_t>(first * item_size(stored_));
    std::size_t left = static_cast<std::size_t>(part.bytes.size());
    while (left > 0) {
      check_interrupt();
      const std::ptrdiff_t got = file_.read_at(at, to, std::min(left, std::size_t{1} << 24));
      if (got < 0) fail("cannot be read", os::problem());
      if (got == 0) fail("cannot be read", "it was cut short meanwhile");
      to += got;
      at += static_cast<std::uint64_t>(got);
      left -= static_cast<std::size_t>(got);
    }
    if (head_.nifti) return nifti_values(*head_.nifti, std::move(part), is_swapped_);
    if (is_swapped_) swap_byte_order(part);
    return part;
  }

 private:
  [[noreturn]] void fail(const char* what, const std::string& why) const {
    throw FileError(fmt::format("{}: {}: {}", path_, what, why));
  }
  std::string path_;
  std::uint64_t offset_;
  DType stored_;
  bool is_swapped_;
  os::File file_;
};

/// Throws FormatError unless exactly (or, for NIfTI, at least) these bytes follow.
bool is_complete(std::optional<std::uint64_t> limit, std::uint64_t bytes, bool allows_more) {
  return limit && (allows_more ? *limit >= bytes : *limit == bytes);
}

}  // namespace

std::unique_ptr<ImageReader> ImageReader::open(const std::string& path, const Log& log) {
  const auto source = open_bytes(nifti_header_name(path));
  if (!source->is_exact() || starts_with(*source, "\x1f\x8b")) return nullptr;
  if (starts_with(*source, "\x93NUMPY")) {
    const NpyHead head = read_npy_head(*source);
    // A file that is not whole is left to the reader that says so.
    if (head.header.fortran_order || !is_complete(source->limit(), head.bytes, false)) return nullptr;
    Image image;
    image.format = "npy";
    return std::make_unique<PlainReader>(path, head.offset, std::move(image), head.header.shape,
                                         head.header.dtype, head.header.is_swapped);
  }
  if (!looks_like_nifti(source->peek(4))) return nullptr;
  NiftiHead head = read_nifti_head(*source, log);
  place_nifti(source->path(), head.image, log);
  const DType stored = head.image.nifti->stored;
  std::string voxels = source->path();
  std::uint64_t before = head.offset - head.at;
  auto limit = source->limit();
  if (!head.voxel_file.empty()) {
    voxels = head.voxel_file;
    const auto apart = open_bytes(voxels);
    if (!apart->is_exact() || starts_with(*apart, "\x1f\x8b")) return nullptr;
    limit = apart->limit();
  }
  if (!is_complete(limit, before + head.bytes, true)) return nullptr;
  return std::make_unique<PlainReader>(voxels, head.offset, std::move(head.image), head.shape, stored,
                                       head.is_swapped);
}

struct ImageWriter::State {
  State(const std::string& path, Image head_, Index elements, DType type_, OutputFile::Existing existing,
        const SaveOptions& options_)
      : head(std::move(head_)), options(options_), type(type_), left(elements), file(path, existing) {}
  Image head;
  SaveOptions options;
  DType type;
  Index left;
  OutputFile file;
  bool is_nifti = false;
  std::unique_ptr<ByteSink> sink;
};

ImageWriter::ImageWriter(const std::string& path, const Image& head, const Shape& shape, DType type,
                         OutputFile::Existing existing, const SaveOptions& options) {
  const bool is_npy = path.ends_with(".npy"), is_packed = path.ends_with(".nii.gz");
  if (!is_npy && !is_packed && !path.ends_with(".nii"))
    throw ArgumentError(fmt::format(
        "{}: is written whole only, where a part at a time is asked for; name it .npy, .nii or .nii.gz",
        path));
  Image header;
  header.geometry = head.geometry;
  header.time_step = head.time_step;
  header.nifti = head.nifti;
  // What cannot be written is found before anything is.
  std::string start;
  if (is_npy) {
    start = npy_start(path, shape, type);
    if (head.geometry.is_known)
      warn(options.log,
           fmt::format("{}: this format has no place for voxel size and position; they are lost", path));
  } else {
    const NiftiStart nifti = nifti_start(path, header, shape, type, options.nifti);
    start.assign(reinterpret_cast<const char*>(nifti.bytes.data()), nifti.bytes.size());
  }
  state_ = std::make_unique<State>(path, std::move(header), count(shape), type, existing, options);
  state_->is_nifti = !is_npy;
  state_->sink = is_packed ? gzip_sink(state_->file) : plain_sink(state_->file);
  state_->sink->write(start.data(), start.size());
}

ImageWriter::~ImageWriter() = default;

void ImageWriter::write(const Tensor& part) {
  if (part.dtype != state_->type || part.size() > state_->left)
    throw ShapeError(fmt::format("{}: a part of {} {} elements arrived, expected at most {} of {}",
                                 state_->file.path(), part.size(), to_string(part.dtype), state_->left,
                                 to_string(state_->type)));
  std::optional<Tensor> converted;
  if (state_->is_nifti)
    converted =
        nifti_voxels(state_->file.path(), state_->head, part, state_->options.nifti, state_->options.log);
  const Tensor& stored = converted ? *converted : part;
  state_->sink->write(stored.bytes.data(), static_cast<std::size_t>(stored.bytes.size()));
  state_->left -= part.size();
}

void ImageWriter::commit() {
  if (state_->left != 0)
    throw ShapeError(fmt::format("{}: {} elements are missing", state_->file.path(), state_->left));
  state_->sink->finish();
  state_->file.commit();
}

}  // namespace spinloom
