#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"
#include "spinloom/mri/ellipsoids.hpp"

namespace spinloom {
namespace {

using Json = nlohmann::json;

constexpr const char* schema =
    R"(expected {"ellipsoids": [{"center": [x, y, z], "semi_axes": [a, b, c], "density": 1.0, "rotation_deg": [..]}]})";

std::string shortened(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

double number(const Json& value, const std::string& where) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    throw FormatError(fmt::format("{} is {}, expected a finite number", where, shortened(value)));
  return value.get<double>();
}

std::vector<double> numbers(const Json& entry, const char* key, const std::string& where) {
  if (!entry.contains(key)) throw FormatError(fmt::format("{} has no \"{}\"; {}", where, key, schema));
  const Json& list = entry[key];
  if (!list.is_array() || (list.size() != 2 && list.size() != 3))
    throw FormatError(fmt::format("{}: \"{}\" is {}, expected 2 (ellipse) or 3 (ellipsoid) numbers", where,
                                  key, shortened(list)));
  std::vector<double> values;
  for (const Json& value : list) values.push_back(number(value, fmt::format("{}: \"{}\"", where, key)));
  return values;
}

std::array<std::array<double, 3>, 3> rotation(const Json& value, std::size_t dims, const std::string& where) {
  const std::string name = where + ": \"rotation_deg\"";
  if (value.is_number()) return rotation_from_degrees(number(value, name));
  if (!value.is_array() || value.size() != (dims == 2 ? 1U : 3U))
    throw FormatError(
        fmt::format("{} is {}, expected {}", name, shortened(value),
                    dims == 2 ? "one angle" : "one angle about z, or [about z, about y, about x]"));
  double degrees[3] = {};
  for (std::size_t i = 0; i < value.size(); ++i) degrees[i] = number(value[i], name);
  return rotation_from_degrees(degrees[0], degrees[1], degrees[2]);
}

Ellipsoid parse_ellipsoid(const Json& entry, const std::string& where, std::size_t& dims) {
  if (!entry.is_object()) throw FormatError(fmt::format("{} is {}; {}", where, shortened(entry), schema));
  for (const auto& [key, value] : entry.items())
    if (key != "center" && key != "semi_axes" && key != "rotation_deg" && key != "density")
      throw FormatError(fmt::format("{}: {} is unknown; {}", where, shortened(Json(key)), schema));
  const auto center = numbers(entry, "center", where), semi_axes = numbers(entry, "semi_axes", where);
  if (dims == 0) dims = center.size();
  if (center.size() != dims || semi_axes.size() != dims)
    throw FormatError(
        fmt::format("{} has a center of {} and semi_axes of {} numbers, the first entry's center has {}; "
                    "all must agree",
                    where, center.size(), semi_axes.size(), dims));
  Ellipsoid e;
  e.semi_axes = {1, 1, 1};
  for (std::size_t i = 0; i < dims; ++i) {  // the file says x, y, z; arrays say z, y, x
    e.center[2 - i] = center[i];
    e.semi_axes[2 - i] = semi_axes[i];
    if (!(semi_axes[i] > 0) || semi_axes[i] > 1e3 || std::abs(center[i]) > 1e3)
      throw FormatError(
          fmt::format("{}: center {} and semi-axis {} are outside +-1000 and (0, 1000]; lengths are in "
                      "fields of view",
                      where, center[i], semi_axes[i]));
  }
  if (entry.contains("rotation_deg")) e.rotation = rotation(entry["rotation_deg"], dims, where);
  if (entry.contains("density")) e.density = number(entry["density"], where + ": \"density\"");
  return e;
}

}  // namespace

Phantom parse_phantom(const std::string& text) {
  // The parser recurses per level; nothing in the schema is deeper than four.
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > 64)
      throw FormatError(fmt::format("phantom: brackets are nested more than 64 deep; {}", schema));
  }
  Json file;
  try {
    file = Json::parse(text);
  } catch (const Json::exception& e) {
    const std::string what = e.what();  // "[json.exception...] what is wrong"
    const std::size_t words = what.find("] ");
    throw FormatError(fmt::format("phantom: not JSON ({}); {}",
                                  words == std::string::npos ? what : what.substr(words + 2), schema));
  }
  if (!file.is_object() || !file.contains("ellipsoids") || !file["ellipsoids"].is_array())
    throw FormatError(fmt::format("phantom: no list \"ellipsoids\"; {}", schema));
  for (const auto& [key, value] : file.items())
    if (key != "ellipsoids" && key != "comment")
      throw FormatError(fmt::format("phantom: {} is unknown; {}", shortened(Json(key)), schema));
  Phantom phantom;
  std::size_t dims = 0;
  const Json& list = file["ellipsoids"];
  if (list.empty()) throw FormatError(fmt::format("phantom: the list \"ellipsoids\" is empty; {}", schema));
  for (std::size_t i = 0; i < list.size(); ++i)
    phantom.ellipsoids.push_back(parse_ellipsoid(list[i], fmt::format("phantom: ellipsoid {}", i), dims));
  phantom.dims = static_cast<int>(dims);
  return phantom;
}

Phantom read_phantom(const std::string& path) {
  std::ifstream file(to_path(path), std::ios::binary);
  if (!file) throw FileError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) throw FileError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  try {
    return parse_phantom(text.str());
  } catch (const Error&) {
    rethrow_with_context(path);
  }
}

}  // namespace spinloom
