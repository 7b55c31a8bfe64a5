#include "io/cfl_header.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr const char* dim_names[cfl_dims] = {
    "read",      "phase 1",       "phase 2", "coil",   "maps",  "echo",  "coefficient", "coefficient 2",
    "iteration", "cardiac phase", "time",    "time 2", "level", "slice", "average",     "batch"};

bool is_text(const std::string& text) {
  for (const char c : text)
    if (c == '\0') return false;
  return true;
}

Shape parse_dims(const std::string& line) {
  Shape dims;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    Index value = 0;
    const auto [stop, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (status != std::errc() || stop != word.data() + word.size() || value < 1)
      throw FormatError(fmt::format("dimension {} is '{}', expected a whole number from 1 to 2^63",
                                    dims.size(), word.substr(0, 40)));
    dims.push_back(value);
    if (dims.size() > cfl_dims) throw FormatError(fmt::format("there are more than {} dimensions", cfl_dims));
  }
  if (dims.empty()) throw FormatError("the section '# Dimensions' is empty, expected up to 16 whole numbers");
  dims.resize(cfl_dims, 1);
  return dims;
}

std::string trimmed(const std::string& line) {
  const auto first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

}  // namespace

CflHeader parse_cfl_header(const std::string& text) {
  if (!is_text(text)) throw FormatError("is not a BART header: expected text with a line '# Dimensions'");
  CflHeader header;
  std::istringstream lines(text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line);
    if (!line.empty() && line[0] == '#') {
      section = trimmed(line.substr(1));
      if (section == "SizesDimensions" || section == "MultiDimensions")
        throw FormatError(
            "the file holds several arrays ('# MultiDimensions'), expected one; save them one by one");
      continue;
    }
    if (line.empty()) continue;
    if (section == "Dimensions" && header.dims.empty()) header.dims = parse_dims(line);
    if (section == "Data" && header.data_file.empty()) header.data_file = line;
  }
  if (header.dims.empty())
    throw FormatError("is not a BART header: the line '# Dimensions' with numbers below it is missing");
  return header;
}

std::string format_dims(const Shape& dims) {
  std::size_t last = dims.size();
  while (last > 1 && dims[last - 1] == 1) --last;
  return fmt::format("{}", fmt::join(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(last), " x "));
}

void require_dims_of(const std::string& path, const char* what, const Shape& dims, std::size_t allowed,
                     const char* order) {
  std::string extra;
  for (std::size_t d = allowed; d < dims.size(); ++d)
    if (dims[d] > 1)
      extra += fmt::format("{}{} (dimension {}) of {}", extra.empty() ? "" : ", ", dim_names[d], d, dims[d]);
  if (!extra.empty())
    throw FormatError(
        fmt::format("{}: {} has dimensions {}, expected {}; it has {}, take one of them with 'bart slice'",
                    path, what, format_dims(dims), order, extra));
}

Shape without_leading_ones_but(const Shape& shape, std::size_t keep) {
  std::size_t first = 0;
  while (first + keep < shape.size() && shape[first] == 1) ++first;
  return {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()};
}

}  // namespace spinloom
