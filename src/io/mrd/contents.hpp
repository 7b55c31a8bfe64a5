#pragma once
#include <string>
#include <vector>

#include "io/hdf5.hpp"

namespace spinloom::mrd {

/// What an HDF5 file holds, as far as it matters for telling what it is.
struct Contents {
  struct Item {
    std::string path;  ///< without the leading slash
    std::string kind;  ///< "[2, 3, 8, 8] numbers", for people
    bool is_acquisitions = false, is_image_heads = false;
  };
  std::vector<Item> datasets;
  std::vector<std::string> groups;
  bool is_mrd2 = false;
  bool is_cut = false;  ///< there are more

  bool has(const std::string& path) const;
  std::vector<std::string> scan_groups() const;   ///< groups with acquisitions; "" is the root
  std::vector<std::string> image_groups() const;  ///< groups with a header and data of images
  std::string listing() const;                    ///< "/kspace [2, 3, 8, 8] compound, /ismrmrd_header text"
};

Contents list_contents(hid_t file);

/// "a/b" of "/a//b/"; of "" and "/" it is "".
std::string normalized(const std::string& group);
std::string joined(const std::string& group, const std::string& name);

}  // namespace spinloom::mrd
