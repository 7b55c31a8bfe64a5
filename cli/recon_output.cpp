#include "recon_output.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"
#include "spinloom/io/mosaic.hpp"
#include "spinloom/io/png.hpp"
#include "spinloom/io/report.hpp"

using namespace spinloom;

std::string without_ending(const std::string& path) {
  for (const char* ending : {".nii.gz", ".nii", ".npy", ".cfl", ".hdr", ".png", ".h5", ".mrd"})
    if (path.ends_with(ending)) return path.substr(0, path.size() - std::string(ending).size());
  return path;
}

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(spinloom::to_path(path), std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

Report::Table table_of(const std::string& title, const Json& object) {
  Report::Table table{title, {}};
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() || (value.is_array() && value.size() > 8)) continue;
    table.rows.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return table;
}

}  // namespace

ReconReport::Folder::Folder(const std::string& p) : path(p) {
  std::error_code error, ignored;
  is_new = std::filesystem::create_directories(spinloom::to_path(path), error);
  if (!std::filesystem::is_directory(spinloom::to_path(path), ignored))
    throw FileError(fmt::format("{}: cannot be made as a folder for the report: {}", path,
                                error ? error.message() : std::string("a file of that name is in the way")));
}

ReconReport::Folder::~Folder() {
  std::error_code ignored;
  if (is_new && std::filesystem::is_empty(spinloom::to_path(path), ignored))
    std::filesystem::remove(spinloom::to_path(path), ignored);
}

ReconReport::ReconReport(const std::string& folder, OutputFile::Existing existing)
    : folder_(folder), picture_(folder + "/image.png", existing), existing_(existing) {
  OutputFile page(folder + "/index.html", existing);
}

ReconReport::~ReconReport() = default;

std::string ReconReport::write(const Image& image, const Json& facts,
                               const std::vector<std::vector<double>>& histories,
                               const std::vector<std::string>& warnings) {
  Report report;
  report.title = "Reconstruction of " + facts.at("scan").get<std::string>();
  report.summary =
      fmt::format("{} image(s), {}", facts.at("images").size(), facts.at("reason").get<std::string>());
  report.warnings = warnings;
  const Mosaic mosaic = make_mosaic(image.data);
  try {
    write_png(picture_.temporary(), mosaic.pixels, OutputFile::Existing::replace);
  } catch (const FileError&) {
    throw FileError(picture_.path() + ": cannot be written");
  }
  report.pictures.push_back({fmt::format("magnitude, {} slice(s), grey from {:.4g} to {:.4g}",
                                         mosaic.slices.size(), mosaic.window.low, mosaic.window.high),
                             bytes_of(picture_.temporary())});
  for (std::size_t i = 0; i < histories.size(); ++i)
    if (histories[i].size() > 1)
      report.curves.push_back(
          {histories.size() > 1 ? fmt::format("Convergence of image {}", i) : "Convergence",
           "relative residual", histories[i], 0});
  report.tables.push_back(table_of("Result", facts));
  for (const auto& [name, value] : facts.items())
    if (value.is_object()) report.tables.push_back(table_of(name, value));
  const std::string page = write_report(folder_.path, report, existing_);
  picture_.commit();
  return page;
}
