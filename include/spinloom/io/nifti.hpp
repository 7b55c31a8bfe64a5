#pragma once
#include <string>

#include "spinloom/core/log.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/io/output_file.hpp"

namespace spinloom {

/// Reads NIfTI-1 or NIfTI-2 of any byte order: one file (.nii) or a pair (.hdr and .img, either may be
/// named), plain or gzip. Content decides, not the name, and a pipe will do.
///
/// Values    where the header scales (slope finite and not 0, and not 1 with intercept 0), slope * stored +
/// intercept: as
///           float32, or float64 for 32 and 64 bit integers and float64; complex stays complex. Else as
///           stored.
/// Geometry  from sform, else qform, else pixdim (then not `is_known`), in mm
/// Warns     about forms that are not used, pixdim that disagrees, broken extensions, bytes after the voxels
/// Errors    FileError; FormatError with the field and its value, or the expected and the found byte count
/// Source    the NIfTI-1 and NIfTI-2 data format, nifti.nimh.nih.gov
Image read_nifti(const std::string& path, const Log& log = {});

struct NiftiOptions {
  /// `tensor`: the array's own type (float16 as float32, bool as uint8), slope 1, intercept 0.
  /// `stored`: the type and scaling that image.nifti says the file had; values are rounded to nearest, and
  /// those beyond the type's range are clipped, with a warning that counts them.
  enum class Type { tensor, stored };
  Type type = Type::tensor;
};

/// Writes one file, packed when the name ends in .gz; NIfTI-2 when image.nifti is of version 2 or a dimension
/// exceeds 32767, else NIfTI-1. Position goes into sform and qform, in mm and seconds. With image.nifti the
/// other fields and the extensions are kept; those that speak of axes (intent, slice timing) only while the
/// shape is the same.
///
/// Errors   FileError; ShapeError for more than 7 axes or an empty one; ArgumentError for a singular
/// geometry, or for
///          `stored` without image.nifti or from complex values to a real type
void write_nifti(const std::string& path, const Image& image, OutputFile::Existing existing,
                 const NiftiOptions& options = {}, const Log& log = {});

}  // namespace spinloom
