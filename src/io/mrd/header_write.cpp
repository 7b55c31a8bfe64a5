#include <cmath>
#include <pugixml.hpp>
#include <sstream>

#include "io/mrd/header.hpp"

namespace spinloom::mrd {
namespace {

template <class T>
void add(pugi::xml_node parent, const char* name, T value) {
  parent.append_child(name).text().set(value);
}

void add_box(pugi::xml_node parent, const char* name, const EncodedBox& box) {
  pugi::xml_node node = parent.append_child(name);
  pugi::xml_node matrix = node.append_child("matrixSize"), fov = node.append_child("fieldOfView_mm");
  const char* axes[] = {"x", "y", "z"};
  for (std::size_t d = 0; d < 3; ++d) {
    add(matrix, axes[d], static_cast<long long>(box.matrix[2 - d]));
    add(fov, axes[d], box.fov_mm[2 - d]);
  }
}

void add_limit(pugi::xml_node parent, const char* name, const EncodingLimit& limit) {
  if (!limit.is_known) return;
  pugi::xml_node node = parent.append_child(name);
  add(node, "minimum", limit.minimum);
  add(node, "maximum", limit.maximum);
  add(node, "center", limit.center);
}

}  // namespace

// The schema fixes the order of elements, and asks for the frequency and for both spaces.
std::string make_header(const RawScan& scan) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("ismrmrdHeader");
  root.append_attribute("xmlns") = "http://www.ismrm.org/ISMRMRD";
  add(root, "version", 8);

  if (!scan.measurement_id.empty() || !scan.dependencies.empty()) {
    pugi::xml_node measurement = root.append_child("measurementInformation");
    if (!scan.measurement_id.empty()) add(measurement, "measurementID", scan.measurement_id.c_str());
    add(measurement, "patientPosition", "HFS");
    for (const MeasurementDependency& dependency : scan.dependencies) {
      pugi::xml_node node = measurement.append_child("measurementDependency");
      add(node, "dependencyType", dependency.kind.c_str());
      add(node, "measurementID", dependency.measurement_id.c_str());
    }
  }

  Index channels = 0;
  for (const Acquisition& acquisition : scan.acquisitions)
    channels = std::max(channels, acquisition.channels);
  pugi::xml_node system = root.append_child("acquisitionSystemInformation");
  add(system, "relativeReceiverNoiseBandwidth", scan.relative_noise_bandwidth);
  add(system, "receiverChannels", static_cast<long long>(channels));
  add(root.append_child("experimentalConditions"), "H1resonanceFrequency_Hz",
      static_cast<long long>(std::llround(scan.larmor_frequency_hz)));

  for (const Encoding& encoding : scan.encodings) {
    pugi::xml_node node = root.append_child("encoding");
    add_box(node, "encodedSpace", encoding.encoded);
    add_box(node, "reconSpace", encoding.recon);
    pugi::xml_node limits = node.append_child("encodingLimits");
    add_limit(limits, "kspace_encoding_step_1", encoding.step_1);
    add_limit(limits, "kspace_encoding_step_2", encoding.step_2);
    add(node, "trajectory", encoding.trajectory.c_str());
  }
  if (!scan.echo_times_ms.empty()) {
    pugi::xml_node sequence = root.append_child("sequenceParameters");
    for (const double echo_time : scan.echo_times_ms) add(sequence, "TE", echo_time);
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace spinloom::mrd
