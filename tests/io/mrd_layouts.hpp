#pragma once
#include <functional>

#include "io/mrd/convert.hpp"
#include "io/mrd/header.hpp"
#include "io/mrd/records.hpp"
#include "spinloom/io/raw_scan.hpp"

namespace spinloom::testing {

/// How a file of another writer stores its records and its header.
struct FileKind {
  enum class Records { packed, natural } records = Records::packed;  ///< 372 bytes as h5py, 384 as Julia
  enum class Text { ascii, utf8, fixed, scalar } text = Text::ascii;
  std::string group = "dataset";
};

using Change = std::function<void(std::vector<mrd::AcquisitionRecord>&)>;

/// Adds `scan` to the file `path` (made when missing), after `change` spoilt its records.
inline void write_as(const std::string& path, const RawScan& scan, const FileKind& kind = {},
                     const Change& change = {}) {
  const hdf5::Session session;
  const bool exists = H5Fis_hdf5(path.c_str()) > 0;
  const hdf5::Handle file(exists ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                                 : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                          H5Fclose);
  const hdf5::Handle group =
      hdf5::group(H5Gcreate2(file.get(), kind.group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));

  const std::string xml = scan.header_xml.empty() ? mrd::make_header(scan) : scan.header_xml;
  const bool is_fixed = kind.text == FileKind::Text::fixed;
  const hdf5::Handle text = hdf5::type(H5Tcopy(H5T_C_S1));
  H5Tset_size(text.get(), is_fixed ? xml.size() : H5T_VARIABLE);
  if (kind.text == FileKind::Text::utf8) H5Tset_cset(text.get(), H5T_CSET_UTF8);
  const hsize_t one = 1;
  const hdf5::Handle one_space = hdf5::space(
      kind.text == FileKind::Text::scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &one, nullptr));
  const hdf5::Handle header = hdf5::dataset(
      H5Dcreate2(group.get(), "xml", text.get(), one_space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const char* first = xml.c_str();
  H5Dwrite(header.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
           is_fixed ? static_cast<const void*>(first) : static_cast<const void*>(&first));

  std::vector<mrd::AcquisitionRecord> records;
  for (const Acquisition& a : scan.acquisitions) records.push_back(mrd::to_record(a, 0));
  if (change) change(records);
  const hdf5::Handle memory = mrd::acquisition_type();
  const hdf5::Handle stored =
      kind.records == FileKind::Records::packed ? mrd::packed(memory) : hdf5::type(H5Tcopy(memory.get()));
  const hsize_t lines = records.size();
  const hdf5::Handle space = hdf5::space(H5Screate_simple(1, &lines, nullptr));
  const hdf5::Handle data = hdf5::dataset(
      H5Dcreate2(group.get(), "data", stored.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Dwrite(data.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, records.data());
}

}  // namespace spinloom::testing
