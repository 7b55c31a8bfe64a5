#pragma once
#include <string>

#include "io/hdf5.hpp"

namespace spinloom::mrd {

/// Stores a list of one variable-length string, as ISMRMRD's own library does and can read back (it fails on
/// strings tagged UTF-8; bytes beyond ASCII pass through all the same). The status is HDF5's.
inline herr_t write_text(hid_t group, const char* name, const std::string& text) {
  const hsize_t one = 1, unlimited = H5S_UNLIMITED;
  const hdf5::Handle type = hdf5::type(H5Tcopy(H5T_C_S1));
  const hdf5::Handle space = hdf5::space(H5Screate_simple(1, &one, &unlimited));
  const hdf5::Handle creation = hdf5::property(H5Pcreate(H5P_DATASET_CREATE));
  if (H5Tset_size(type.get(), H5T_VARIABLE) < 0 || H5Pset_chunk(creation.get(), 1, &one) < 0) return -1;
  const hdf5::Handle data = hdf5::dataset(
      H5Dcreate2(group, name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  const char* first = text.c_str();
  return data ? H5Dwrite(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &first) : -1;
}

}  // namespace spinloom::mrd
