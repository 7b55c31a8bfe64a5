#include "io/mrd/contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace spinloom::mrd {
namespace {

// Hard links may form circles, so depth and number are bounded.
constexpr int deepest = 8;
constexpr std::size_t most_items = 2000;

std::string kind_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING: return "text";
    case H5T_COMPOUND: return hdf5::has_member(type, "head") ? "records {head, ...}" : "records";
    case H5T_INTEGER:
    case H5T_FLOAT: return "numbers";
    default: return "data";
  }
}

struct Walk {
  Contents& contents;
  std::string prefix;
  int depth;
};

void visit_dataset(hid_t object, const std::string& path, Contents& contents) {
  const hdf5::Handle type = hdf5::type(H5Dget_type(object));
  if (!type) return;
  Contents::Item item{path, kind_of(type.get())};
  try {
    item.kind = fmt::format("{} {}", to_string(hdf5::shape_of(object)), item.kind);
  } catch (const std::exception&) {
    // A dataset without a shape is listed by its kind alone.
  }
  item.is_acquisitions = hdf5::has_member(type.get(), "head") && hdf5::has_member(type.get(), "data") &&
                         path.size() >= 4 && path.compare(path.size() - 4, 4, "data") == 0;
  item.is_image_heads = hdf5::has_member(type.get(), "matrix_size");
  contents.datasets.push_back(item);
}

herr_t visit(hid_t group, const char* name, const H5L_info_t*, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  Contents& contents = walk.contents;
  if (contents.datasets.size() + contents.groups.size() >= most_items) {
    contents.is_cut = true;
    return 1;
  }
  const std::string path = joined(walk.prefix, name);
  if (std::string(name).find("yardl_schema") != std::string::npos) contents.is_mrd2 = true;
  const hdf5::Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
  if (!object) return 0;
  if (H5Iget_type(object.get()) == H5I_DATASET) visit_dataset(object.get(), path, contents);
  if (H5Iget_type(object.get()) != H5I_GROUP) return 0;
  contents.groups.push_back(path);
  if (H5Aexists(object.get(), "$yardl_schema") > 0) contents.is_mrd2 = true;
  if (walk.depth >= deepest) return 0;
  Walk inner{contents, path, walk.depth + 1};
  return H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, &inner) > 0 ? 1 : 0;
}

}  // namespace

std::string normalized(const std::string& group) {
  std::string result, part;
  std::istringstream parts(group);
  while (std::getline(parts, part, '/'))
    if (!part.empty()) result = joined(result, part);
  return result;
}

std::string joined(const std::string& group, const std::string& name) {
  return group.empty() ? name : fmt::format("{}/{}", group, name);
}

Contents list_contents(hid_t file) {
  Contents contents;
  Walk walk{contents, "", 0};
  H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, &walk);
  if (H5Aexists(file, "$yardl_schema") > 0) contents.is_mrd2 = true;
  return contents;
}

bool Contents::has(const std::string& path) const {
  return std::any_of(datasets.begin(), datasets.end(), [&](const Item& item) { return item.path == path; });
}

std::vector<std::string> Contents::scan_groups() const {
  std::vector<std::string> result;
  for (const Item& item : datasets) {
    const std::string group = item.path.size() > 5 ? item.path.substr(0, item.path.size() - 5) : "";
    if (item.is_acquisitions && joined(group, "data") == item.path) result.push_back(group);
  }
  return result;
}

std::vector<std::string> Contents::image_groups() const {
  std::vector<std::string> result;
  for (const Item& item : datasets) {
    const std::size_t slash = item.path.rfind('/');
    const std::string group = slash == std::string::npos ? "" : item.path.substr(0, slash);
    if (item.is_image_heads && joined(group, "header") == item.path && has(joined(group, "data")))
      result.push_back(group);
  }
  return result;
}

std::string Contents::listing() const {
  constexpr std::size_t most_listed = 12;
  std::string text;
  for (std::size_t i = 0; i < datasets.size() && i < most_listed; ++i)
    text += fmt::format("{}/{} {}", i ? ", " : "", datasets[i].path, datasets[i].kind);
  if (datasets.size() > most_listed || is_cut) text += ", ...";
  if (!datasets.empty()) return text;
  return groups.empty() ? "nothing" : "empty groups only";
}

}  // namespace spinloom::mrd
