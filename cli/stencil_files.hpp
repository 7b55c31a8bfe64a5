#pragma once
#include <map>

#include "output_set.hpp"
#include "spinloom/io/image.hpp"
#include "stencil_command.hpp"

namespace stencil_command {

/// The files of `stencil run`: what fields start from, and where they go. All names are checked and outputs reserved
/// when this is made; without --input there is nothing to read, and fields start from what Grids gives them.
class FieldFiles {
 public:
  FieldFiles(const Options& o, const Console& console);

  /// The shape of the images without leading axes of one element, else that of --matrix.
  const spinloom::Shape& shape() const { return shape_; }
  /// The values of the fields given, once.
  template <class T>
  std::map<int, spinloom::Array<T>> take();
  /// To where --output says, with the first input's header; nothing for other fields.
  template <class T>
  void write(int field, const spinloom::Array<T>& values);
  void commit() { outputs_.commit(); }

 private:
  void load(const Options& o, const Console& console);
  void reserve(const Options& o);

  Source source_;
  spinloom::Shape shape_;
  std::map<int, spinloom::Image> inputs_;
  spinloom::Image head_;  ///< of the first input, without its elements
  spinloom::Shape file_shape_;
  OutputSet outputs_;
  std::map<int, std::string> to_;  ///< temporary names
  spinloom::Log log_;
};

}  // namespace stencil_command
