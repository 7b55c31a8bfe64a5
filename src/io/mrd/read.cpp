#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/mrd/acquisitions.hpp"
#include "io/mrd/contents.hpp"
#include "io/mrd/header.hpp"
#include "runtime/os/child_reader.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace mrd;

std::string why_not_a_scan(const Contents& contents) {
  if (contents.is_mrd2)
    return "is MRD version 2 (written by yardl), which is another format; convert it to MRD version 1 "
           "(ISMRMRD HDF5)";
  const std::string held = "the file holds " + contents.listing();
  if (!contents.image_groups().empty())
    return fmt::format("holds MRD images and no acquisitions, so there is nothing to reconstruct; {}", held);
  if (contents.has("ismrmrd_header") && contents.has("kspace"))
    return fmt::format(
        "is in the fastMRI layout (a k-space array with its header beside it), not an MRD scan; {}; a "
        "group with 'xml' and 'data' is needed, which --group names",
        held);
  return fmt::format("holds no MRD scan, which is a group with 'xml' and 'data'; {}; --group names a group",
                     held);
}

std::string choose_group(const Contents& contents, const std::string& wanted) {
  const std::vector<std::string> groups = contents.scan_groups();
  const std::string names = fmt::format("/{}", fmt::join(groups, ", /"));
  if (!wanted.empty()) {
    if (std::find(groups.begin(), groups.end(), normalized(wanted)) != groups.end())
      return normalized(wanted);
    if (groups.empty()) throw FormatError(why_not_a_scan(contents));
    throw FormatError(fmt::format("group '{}' holds no MRD scan; there is one in {}", wanted, names));
  }
  if (groups.empty()) throw FormatError(why_not_a_scan(contents));
  if (groups.size() > 1)
    throw FormatError(fmt::format("holds {} scans, in {}; choose one by --group", groups.size(), names));
  return groups.front();
}

/// In the child: all that HDF5 is needed for.
void send_scan(const std::string& path, const std::string& group, ChildPipe& pipe) {
  const hdf5::Handle file = hdf5::open_file(path);
  try {
    const Contents contents = list_contents(file.get());
    const std::string chosen = choose_group(contents, group);
    const std::string xml = joined(chosen, "xml"), data = joined(chosen, "data");
    if (!contents.has(xml))
      throw FormatError(fmt::format("group /{} has acquisitions but no header 'xml'", chosen));
    send_text(pipe, hdf5::read_string(hdf5::open_dataset(file.get(), xml).get(), fmt::format("/{}", xml)));
    try {
      send_acquisitions(hdf5::open_dataset(file.get(), data).get(), pipe);
    } catch (const FormatError& e) {
      if (std::string(e.what()).rfind("acquisition", 0) == 0) throw;
      rethrow_with_context(fmt::format("/{}", data));
    }
  } catch (const Error&) {
    rethrow_with_context(path);
  }
}

bool receive_scan(ChildPipe& pipe, std::size_t memory, RawScan& scan, const Log& log) {
  std::string xml;
  if (!receive_text(pipe, memory, xml)) return false;
  parse_header(xml, scan, log);
  for (const MeasurementDependency& dependency : scan.dependencies)
    note(log, fmt::format("header: {} data lie in another measurement, '{}', which is not read",
                          dependency.kind.empty() ? "further" : dependency.kind, dependency.measurement_id));
  return receive_acquisitions(pipe, memory, scan.acquisitions);
}

}  // namespace

RawScan read_mrd(const std::string& path, const std::string& group, const Log& log) {
  // Lists of variable length are stored as they are: what they fill in memory is in the file.
  std::error_code unknown;
  const std::size_t bytes = std::filesystem::file_size(to_path(path), unknown);
  const std::size_t memory = (std::size_t{1} << 30) + 2 * (unknown ? 0 : bytes);
  const hdf5::Session session;
  RawScan scan;
  read_in_child(
      path, "HDF5", memory, [&](ChildPipe& pipe) { send_scan(path, group, pipe); },
      [&](ChildPipe& pipe) {
        try {
          return receive_scan(pipe, memory, scan, log);
        } catch (const Error&) {
          rethrow_with_context(path);
        }
      });
  return scan;
}

}  // namespace spinloom
