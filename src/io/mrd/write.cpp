#include <fmt/format.h>

#include <algorithm>

#include "io/mrd/convert.hpp"
#include "io/mrd/header.hpp"
#include "io/mrd/stored_text.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace mrd;
using hdf5::require_written;

constexpr Index lines_per_block = 64;

void write_acquisitions(hid_t group, const std::vector<Acquisition>& acquisitions, const std::string& path) {
  const hdf5::Handle memory_type = acquisition_type();
  const hdf5::Handle stored_type = packed(memory_type);
  const hsize_t lines = acquisitions.size(), unlimited = H5S_UNLIMITED;
  const hsize_t chunk = std::clamp<hsize_t>(lines, 1, lines_per_block);
  const hdf5::Handle space = hdf5::space(H5Screate_simple(1, &lines, &unlimited));
  const hdf5::Handle creation = hdf5::property(H5Pcreate(H5P_DATASET_CREATE));
  require_written(H5Pset_chunk(creation.get(), 1, &chunk), path);
  const hdf5::Handle data = hdf5::dataset(
      H5Dcreate2(group, "data", stored_type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  require_written(data ? 0 : -1, path);

  std::vector<AcquisitionRecord> block;
  for (hsize_t begin = 0; begin < lines; begin += block.size()) {
    check_interrupt();
    block.clear();
    for (hsize_t i = begin; i < std::min<hsize_t>(lines, begin + lines_per_block); ++i)
      block.push_back(to_record(acquisitions[i], static_cast<Index>(i)));
    const hsize_t length = block.size();
    const hdf5::Handle memory_space = hdf5::space(H5Screate_simple(1, &length, nullptr));
    require_written(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &begin, nullptr, &length, nullptr),
                    path);
    require_written(
        H5Dwrite(data.get(), memory_type.get(), memory_space.get(), space.get(), H5P_DEFAULT, block.data()),
        path);
  }
}

}  // namespace

void write_mrd(const std::string& path, const RawScan& scan, OutputFile::Existing existing) {
  OutputFile output(path, existing);
  const hdf5::Session session;
  std::size_t bytes = 0;
  for (const Acquisition& a : scan.acquisitions)
    bytes += sizeof(AcquisitionRecord) + a.data.size() * sizeof(cfloat) + a.trajectory.size() * sizeof(float);
  hdf5::FileInMemory file(bytes + bytes / 16);
  {
    const hdf5::Handle group =
        hdf5::group(H5Gcreate2(file.get(), "dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    require_written(group ? 0 : -1, path);
    require_written(
        write_text(group.get(), "xml", scan.header_xml.empty() ? make_header(scan) : scan.header_xml), path);
    write_acquisitions(group.get(), scan.acquisitions, path);
  }
  file.write_to(output);
  output.commit();
}

}  // namespace spinloom
