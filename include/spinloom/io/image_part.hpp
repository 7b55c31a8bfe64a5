#pragma once
#include <memory>
#include <string>

#include "spinloom/io/image_file.hpp"

namespace spinloom {

/// An image file whose elements lie in it as they are, read part by part: npy in C order, NIfTI that is not packed.
///
/// Errors   FileError, FormatError, as from load_image()
/// Threads  read() may be called by one thread at a time
class ImageReader {
 public:
  virtual ~ImageReader() = default;
  /// Null for a file that can only be read whole: packed, a pipe, Fortran order, another format.
  static std::unique_ptr<ImageReader> open(const std::string& path, const Log& log = {});

  const Image& head() const { return head_; }    ///< what load_image() gives, without elements
  const Shape& shape() const { return shape_; }  ///< of the whole image
  /// Elements [first, first + count) in C order, as load_image() gives them.
  virtual Tensor read(Index first, Index count) = 0;

 protected:
  Image head_;
  Shape shape_;
};

/// Writes an image of `shape` part by part, in C order, to npy or NIfTI, as save_image() would; `head` is an
/// image without elements. The file appears with commit().
class ImageWriter {
 public:
  ImageWriter(const std::string& path, const Image& head, const Shape& shape, DType type,
              OutputFile::Existing existing, const SaveOptions& options = {});
  ~ImageWriter();
  /// Further elements, of the type that was named.
  void write(const Tensor& part);
  /// Throws ShapeError unless exactly the elements of `shape` were written.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spinloom
