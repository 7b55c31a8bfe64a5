#include "output_set.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"

namespace fs = std::filesystem;

std::string OutputSet::add(const std::string& path) {
  files_.push_back(std::make_unique<spinloom::OutputFile>(path, existing_));
  return files_.back()->temporary();
}

std::string OutputSet::add_cfl(const std::string& base) {
  const std::string data = add(base + ".cfl"), header = add(base + ".hdr");
  const std::string written = data.substr(0, data.size() - 4) + ".hdr";
  pairs_.push_back({written, header});
  return data;
}

void OutputSet::commit() {
  std::error_code error;
  for (const Pair& pair : pairs_) {
    fs::rename(spinloom::to_path(pair.written_header), spinloom::to_path(pair.temporary_header), error);
    if (error) {
      fs::remove(spinloom::to_path(pair.written_header), error);
      throw spinloom::FileError(
          fmt::format("{}: cannot be renamed: {}", pair.written_header, error.message()));
    }
  }
  std::vector<std::string> created;
  try {
    for (const auto& file : files_) {
      const bool is_new = !fs::exists(spinloom::to_path(file->path()), error);
      file->commit();
      if (is_new) created.push_back(file->path());
    }
  } catch (...) {
    for (const std::string& path : created) fs::remove(spinloom::to_path(path), error);
    throw;
  }
}

std::string OutputSet::by_final_names(std::string text) const {
  for (const auto& file : files_)
    for (std::size_t at; (at = text.find(file->temporary())) != std::string::npos;)
      text.replace(at, file->temporary().size(), file->path());
  return text;
}

std::vector<std::string> OutputSet::paths() const {
  std::vector<std::string> list;
  for (const auto& file : files_) list.push_back(file->path());
  return list;
}
