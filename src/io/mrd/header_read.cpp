#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <pugixml.hpp>

#include "io/mrd/header.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::mrd {
namespace {

constexpr Index largest_matrix = Index{1} << 20;

bool is_called(const pugi::xml_node& node, const char* name) {
  const char* colon = std::strchr(node.name(), ':');
  return std::strcmp(colon ? colon + 1 : node.name(), name) == 0;
}

pugi::xml_node child(const pugi::xml_node& parent, const char* name) {
  for (const pugi::xml_node& node : parent.children())
    if (is_called(node, name)) return node;
  return {};
}

std::string text(const pugi::xml_node& node) {
  std::string value = node.text().get();
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  value.erase(value.begin(), std::find_if_not(value.begin(), value.end(), is_space));
  value.erase(std::find_if_not(value.rbegin(), value.rend(), is_space).base(), value.end());
  return value;
}

/// The number in `value`; false when it is not one number and nothing else.
bool parse(const std::string& value, double& number) {
  const char* first = value.data() + (!value.empty() && value[0] == '+' ? 1 : 0);
  const char* last = value.data() + value.size();
  const auto [stop, status] = std::from_chars(first, last, number);
  return status == std::errc() && stop == last && std::isfinite(number);
}

double number_or(const pugi::xml_node& node, double otherwise, const Log& log) {
  const std::string value = text(node);
  double number = otherwise;
  if (!value.empty() && !parse(value, number)) {
    warn(log,
         fmt::format("header: {} is '{}', expected a number; taken as {}", node.name(), value, otherwise));
    return otherwise;
  }
  return number;
}

/// 0 where the header says nothing.
Index matrix_size(const pugi::xml_node& matrix, const char* axis, const std::string& where, const Log& log) {
  const std::string value = text(child(matrix, axis));
  if (value.empty()) {
    warn(log, fmt::format("header: {} has no matrix size along {}", where, axis));
    return 0;
  }
  double number = 0;
  if (!parse(value, number))
    throw FormatError(
        fmt::format("header: {} matrix size {} is '{}', expected a whole number", where, axis, value));
  const double rounded = std::round(number);
  if (rounded < 0 || rounded > double(largest_matrix))
    throw FormatError(
        fmt::format("header: {} matrix size {} is {}, expected 1 to {}", where, axis, value, largest_matrix));
  if (rounded != number)
    warn(log, fmt::format("header: {} matrix size {} is {}; taken as {}", where, axis, value, rounded));
  if (rounded == 0) warn(log, fmt::format("header: {} matrix size {} is 0", where, axis));
  return static_cast<Index>(rounded);
}

EncodedBox read_box(const pugi::xml_node& node, const std::string& where, const Log& log) {
  EncodedBox box;
  const pugi::xml_node matrix = child(node, "matrixSize"), fov = child(node, "fieldOfView_mm");
  if (!matrix) throw FormatError(fmt::format("header: {} has no matrixSize", where));
  const char* axes[] = {"z", "y", "x"};
  bool is_zero = false, is_small = false;
  for (std::size_t d = 0; d < 3; ++d) {
    const Index voxels = matrix_size(matrix, axes[d], where, log);
    box.has_matrix = box.has_matrix && (voxels > 0 || d == 0);  // a 2D scan need not say that z is 1
    box.matrix[d] = std::max<Index>(1, voxels);
    const double mm = number_or(child(fov, axes[d]), 0, log);
    box.fov_mm[d] = std::max(0.0, mm);
    // A single slice may be any thickness, so z says nothing about the unit.
    is_zero = is_zero || !(mm > 0);
    is_small = is_small || (d > 0 && mm > 0 && mm < 5);
  }
  if (is_zero)
    warn(log, fmt::format("header: {} gives no field of view on some axis; voxels are taken as 1 mm there",
                          where));
  if (is_small)
    warn(log,
         fmt::format("header: {} field of view is {:g} x {:g} mm, which looks like metres; kept as written",
                     where, box.fov_mm[2], box.fov_mm[1]));
  return box;
}

EncodingLimit read_limit(const pugi::xml_node& node, const Log& log) {
  EncodingLimit limit;
  if (!node) return limit;
  const auto value = [&](const char* name) {
    return static_cast<int>(std::clamp(number_or(child(node, name), 0, log), -65536.0, 65536.0));
  };
  limit.minimum = value("minimum");
  limit.maximum = value("maximum");
  limit.center = value("center");
  limit.is_known = bool(child(node, "center")) && !text(child(node, "center")).empty();
  return limit;
}

std::string trajectory_kind(const pugi::xml_node& node, const Log& log) {
  std::string kind = text(node);
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* known : {"cartesian", "epi", "radial", "goldenangle", "spiral", "other"})
    if (kind == known) return kind;
  if (kind.empty())
    warn(log, "header: names no kind of trajectory; taken as other");
  else
    warn(log, fmt::format("header: trajectory is '{}', which MRD does not know; taken as other", text(node)));
  return "other";
}

Encoding read_encoding(const pugi::xml_node& node, std::size_t index, const Log& log) {
  Encoding encoding;
  const std::string where = index == 0 ? "" : fmt::format(" of encoding {}", index);
  const pugi::xml_node encoded = child(node, "encodedSpace"), recon = child(node, "reconSpace");
  if (!encoded && !recon)
    throw FormatError(fmt::format("header: no encodedSpace{}, so no matrix size", where));
  if (encoded) encoding.encoded = read_box(encoded, "encodedSpace" + where, log);
  if (recon) encoding.recon = read_box(recon, "reconSpace" + where, log);
  if (!encoded) {
    encoding.encoded = encoding.recon;
    warn(log, fmt::format("header: no encodedSpace{}; reconSpace is taken", where));
  }
  if (!recon) {
    encoding.recon = encoding.encoded;
    note(log, fmt::format("header: no reconSpace{}; encodedSpace is taken", where));
  }
  encoding.trajectory = trajectory_kind(child(node, "trajectory"), log);
  const pugi::xml_node limits = child(node, "encodingLimits");
  encoding.step_1 = read_limit(child(limits, "kspace_encoding_step_1"), log);
  encoding.step_2 = read_limit(child(limits, "kspace_encoding_step_2"), log);
  return encoding;
}

}  // namespace

void parse_header(const std::string& xml, RawScan& scan, const Log& log) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size());
  if (!result)
    throw FormatError(fmt::format("header: is not XML: {} at byte {} of {}", result.description(),
                                  result.offset, xml.size()));
  const pugi::xml_node root = child(document, "ismrmrdHeader");
  if (!root)
    throw FormatError(fmt::format("header: starts with <{}>, expected <ismrmrdHeader>",
                                  document.document_element().name()));

  scan.header_xml = xml;
  for (const pugi::xml_node& node : root.children())
    if (is_called(node, "encoding"))
      scan.encodings.push_back(read_encoding(node, scan.encodings.size(), log));
  if (scan.encodings.empty()) throw FormatError("header: has no <encoding>, so no matrix size");

  const pugi::xml_node system = child(root, "acquisitionSystemInformation");
  scan.relative_noise_bandwidth = number_or(child(system, "relativeReceiverNoiseBandwidth"), 1, log);
  if (!(scan.relative_noise_bandwidth > 0)) {
    warn(log, "header: relativeReceiverNoiseBandwidth is not positive; taken as 1");
    scan.relative_noise_bandwidth = 1;
  }
  scan.larmor_frequency_hz =
      number_or(child(child(root, "experimentalConditions"), "H1resonanceFrequency_Hz"), 0, log);
  for (const pugi::xml_node& node : child(root, "sequenceParameters").children())
    if (is_called(node, "TE") && !text(node).empty()) scan.echo_times_ms.push_back(number_or(node, 0, log));

  const pugi::xml_node measurement = child(root, "measurementInformation");
  scan.measurement_id = text(child(measurement, "measurementID"));
  for (const pugi::xml_node& node : measurement.children())
    if (is_called(node, "measurementDependency"))
      scan.dependencies.push_back({text(child(node, "dependencyType")), text(child(node, "measurementID"))});
}

}  // namespace spinloom::mrd
