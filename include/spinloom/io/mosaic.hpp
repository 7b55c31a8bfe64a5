#pragma once
#include <optional>
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// The values that are drawn black and white; those between are spread evenly, those beyond are clipped.
struct Window {
  double low = 0, high = 1;
};

struct MosaicOptions {
  int axis = 0;       ///< cut across z (0), y (1) or x (2)
  Index slice = -1;   ///< this slice alone; below 0: all, or 36 evenly spaced ones
  Index columns = 0;  ///< slices side by side; 0: near a square
  bool phase = false;
  std::optional<Window>
      window;  ///< without it the 1st and 99.5th percentile of the slices drawn; for phase -pi to pi
};

struct Mosaic {
  Tensor pixels;  ///< uint8 or rgb24 [y, x]
  std::vector<Index> slices;
  Window window;
};

/// Slices of an image [y, x] or [z, y, x] side by side, row by row; of more axes the first volume is drawn,
/// with a note. Complex images show magnitude or phase, colour is drawn as it is, values that are not finite
/// are black, with a warning. Errors   ArgumentError for a slice that the image lacks, or for the phase of a
/// real image; ShapeError when empty
Mosaic make_mosaic(const Tensor& image, const MosaicOptions& options = {}, const Log& log = {});

}  // namespace spinloom
