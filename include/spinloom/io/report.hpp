#pragma once
#include <string>
#include <utility>
#include <vector>

#include "spinloom/io/output_file.hpp"

namespace spinloom {

/// What a run has to show for itself, as one HTML page that needs no other file and no network.
struct Report {
  struct Table {
    std::string title;
    std::vector<std::pair<std::string, std::string>> rows;  ///< name and value
  };
  struct Picture {
    std::string caption;
    std::string png;  ///< the bytes of a PNG file
  };
  /// A quantity per iteration, drawn on a logarithmic axis. Values that are not positive and finite leave a
  /// gap.
  struct Curve {
    std::string title;
    std::string quantity;  ///< label of the vertical axis: "relative residual"
    std::vector<double> values;
    int first = 0;  ///< iteration number of values[0]
  };

  std::string title;
  std::string summary;  ///< one line below the title
  std::vector<std::string> warnings;
  std::vector<Picture> pictures;
  std::vector<Curve> curves;
  std::vector<Table> tables;
};

/// The page. Every text is escaped; bytes that are not UTF-8 become replacement characters.
std::string to_html(const Report& report);

/// Writes `folder`/index.html, making the folder (and those above it) when it is missing; returns the file's
/// path. Errors   FileError as OutputFile, and when the folder cannot be made
std::string write_report(const std::string& folder, const Report& report, OutputFile::Existing existing);

}  // namespace spinloom
