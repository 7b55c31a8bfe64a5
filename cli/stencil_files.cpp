#include "stencil_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"

namespace stencil_command {

using spinloom::Array;
using spinloom::Image;
using spinloom::Shape;
using spinloom::Tensor;

namespace {

/// The definitions of a source; which fields they read and write does not depend on the elements.
std::vector<st::Definition> chain_of(const Source& source) {
  if (!source.chain.empty()) return source.chain;
  std::vector<st::Definition> chain;
  for (const auto& kernel : source.kernels<double>()) chain.push_back(*kernel.definition);
  return chain;
}

Image without_elements(const Image& image) {
  Image head;
  head.geometry = image.geometry;
  head.time_step = image.time_step;
  head.nifti = image.nifti;
  head.format = image.format;
  return head;
}

}  // namespace

FieldFiles::FieldFiles(const Options& o, const Console& console)
    : source_(find_source(o.name, o.expression)), outputs_(o.existing()), log_(console.log()) {
  reserve(o);
  load(o, console);
  if (inputs_.empty()) shape_ = o.shape();
}

void FieldFiles::reserve(const Options& o) {
  const auto chain = chain_of(source_);
  for (const std::string& text : o.outputs) {
    const auto [field, file] = field_and_file("--output", source_, text);
    const int f = static_cast<int>(field);
    if (std::none_of(chain.begin(), chain.end(), [&](const auto& d) { return d.view().writes(f); }))
      throw CLI::ValidationError(
          "--output", fmt::format("'{}': {} does not write {}", text, source_.name, source_.fields[field]));
    if (!spinloom::can_save_image(file) || file.ends_with(".png"))
      throw CLI::ValidationError("--output", fmt::format("'{}': expected a name that ends in .npy, .nii, "
                                                         ".nii.gz or .cfl",
                                                         file));
    if (to_.count(f) != 0)
      throw CLI::ValidationError("--output", fmt::format("{} is written twice", source_.fields[field]));
    to_[f] = file.ends_with(".cfl") ? outputs_.add_cfl(file.substr(0, file.size() - 4)) : outputs_.add(file);
  }
}

void FieldFiles::load(const Options& o, const Console& console) {
  const auto chain = chain_of(source_);
  const std::size_t rank = static_cast<std::size_t>(chain[0].rank);
  for (const std::string& text : o.inputs) {
    const auto [field, file] = field_and_file("--input", source_, text);
    const int f = static_cast<int>(field);
    if (inputs_.count(f) != 0)
      throw CLI::ValidationError("--input", fmt::format("{} is given twice", source_.fields[field]));
    Image image = spinloom::load_image(file, {.log = console.log()});
    Shape shape = image.data.shape;
    while (shape.size() > rank && shape[0] == 1) shape.erase(shape.begin());
    if (shape.size() != rank)
      throw spinloom::ShapeError(fmt::format("{}: has shape {}, and {} is written for {} axes", file,
                                             spinloom::to_string(image.data.shape), source_.name, rank));
    if (inputs_.empty()) {
      shape_ = shape;
      file_shape_ = image.data.shape;
      head_ = without_elements(image);
      if (!o.matrix.empty() && parse_matrix("--matrix", o.matrix) != shape)
        throw CLI::ValidationError("--matrix", fmt::format("is {}, and {} has shape {}; leave it out",
                                                           o.matrix, file, spinloom::to_string(shape)));
    } else if (shape != shape_) {
      throw spinloom::ShapeError(fmt::format("{}: has shape {}, the field before it {}", file,
                                             spinloom::to_string(shape), spinloom::to_string(shape_)));
    }
    if (spinloom::is_complex(image.data.dtype) || spinloom::is_colour(image.data.dtype))
      throw spinloom::FormatError(
          fmt::format("{}: holds {}, expected real numbers; 'spinloom convert' takes a part", file,
                      to_string(image.data.dtype)));
    inputs_.emplace(f, std::move(image));
  }
  if (inputs_.empty()) return;
  for (std::size_t f = 0; f < source_.fields.size(); ++f)
    if (inputs_.count(static_cast<int>(f)) == 0 &&
        std::any_of(chain.begin(), chain.end(), [&](const auto& d) {
          return d.view().reads(static_cast<int>(f), st::TimeLevel::current);
        }))
      throw CLI::ValidationError("--input", fmt::format("{} reads {}; add --input {}=FILE", source_.name,
                                                        source_.fields[f], source_.fields[f]));
}

template <class T>
std::map<int, Array<T>> FieldFiles::take() {
  std::map<int, Array<T>> values;
  for (auto& [field, image] : inputs_) {
    image.data.reshape(shape_);
    values.emplace(field, image.data.template to<T>());
    image.data = Tensor();
  }
  return values;
}

template <class T>
void FieldFiles::write(int field, const Array<T>& values) {
  const auto found = to_.find(field);
  if (found == to_.end()) return;
  Image image = without_elements(head_);
  image.data = Tensor::copy_of(values);
  if (!file_shape_.empty()) image.data.reshape(file_shape_);
  const spinloom::Log renamed = [this](spinloom::Severity severity, const std::string& text) {
    if (log_) log_(severity, outputs_.by_final_names(text));
  };
  try {
    save_image(found->second, image, spinloom::OutputFile::Existing::replace, {.log = renamed});
  } catch (const spinloom::FileError& e) {
    throw spinloom::FileError(outputs_.by_final_names(e.what()));
  }
}

template std::map<int, Array<float>> FieldFiles::take();
template std::map<int, Array<double>> FieldFiles::take();
template void FieldFiles::write(int, const Array<float>&);
template void FieldFiles::write(int, const Array<double>&);

}  // namespace stencil_command
