#pragma once
#include <memory>
#include <string>
#include <vector>

#include "spinloom/io/geometry.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// One header extension of a NIfTI file: its code and its content, padding included.
struct NiftiExtension {
  int code = 0;
  std::vector<std::byte> content;
};

/// What a NIfTI file says beside its voxels, kept so that a result can be written back with it.
struct NiftiHeader {
  int version = 1;            ///< 1 or 2
  DType stored = DType::f32;  ///< the voxels' type in the file
  double slope = 1,
         intercept = 0;  ///< value = slope * stored + intercept; 1 and 0 when the file does not scale
  std::vector<NiftiExtension> extensions;
  std::vector<std::byte> fields;  ///< the header as a NIfTI-2 record in native byte order
};

/// An image with what its file says about it.
struct Image {
  /// C order, last axis x: [z, y, x], frames or components before it. Axes are those of the file: none is
  /// dropped, so that a NIfTI file of 64 x 64 x 21 x 1 is [1, 21, 64, 64].
  Tensor data;
  Geometry geometry;
  double time_step = 0;                      ///< seconds between frames; 0: the file does not say
  std::shared_ptr<const NiftiHeader> nifti;  ///< null for other formats
  std::string format;                        ///< "nifti", "npy", "cfl", "png", "mrd"
};

/// The shape without the leading axes of one element: [1, 21, 64, 64] -> [21, 64, 64]. Inner ones stay.
/// Formats with a fixed or padded number of axes (NIfTI, cfl) write such axes without meaning them.
Shape without_leading_ones(const Shape& shape);

}  // namespace spinloom
