#pragma once
#include <vector>

#include "spinloom/recon/assemble.hpp"

namespace spinloom::assembly {

/// An acquisition in use, and the part of its samples that is kept.
struct Line {
  const Acquisition* acquisition;
  Index index;  ///< in the file
  Index begin, end;
  Index size() const { return end - begin; }
};

struct Selection {
  std::vector<Line> image, noise;
  int encoding = 0;
};

/// Decides which acquisitions are image and noise, and counts the others by the reason they were left out.
Selection select_lines(const RawScan& scan, const AssembleOptions& options, AssemblyReport& report,
                       const Log& log);

/// Kept samples of `lines` side by side, [coils, samples]. FormatError for a value that is not finite, with
/// its place.
Array<cfloat> gather(const std::vector<Line>& lines);

/// Throws FormatError naming the first acquisition whose channel count differs from the first one's.
void require_equal_channels(const std::vector<Line>& lines, const char* what);

}  // namespace spinloom::assembly
