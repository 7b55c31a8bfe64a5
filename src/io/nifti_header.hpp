#pragma once
#include <nifti2_io.h>

#include "io/byte_source.hpp"
#include "spinloom/core/log.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/io/nifti.hpp"

namespace spinloom {

/// A NIfTI header of either version, widened to a NIfTI-2 record in native byte order. Nothing in it is
/// checked yet.
struct RawNiftiHeader {
  nifti_2_header fields{};
  int version = 1;
  bool is_swapped = false;  ///< the file's byte order is not the machine's
  bool is_single = true;    ///< voxels in the same file; false: in an .img beside it
  int glmin = 0;            ///< FreeSurfer keeps the length of a long first axis here
};

/// Does a file that starts with these bytes claim to be NIfTI (or ANALYZE)?
bool looks_like_nifti(const std::vector<std::byte>& start);

/// The name of the file that holds the header: for NAME.img(.gz) it is NAME.hdr(.gz), else the name itself.
std::string nifti_header_name(const std::string& path);

/// Takes the header's 348 or 540 bytes. Throws FormatError.
RawNiftiHeader read_nifti_header(ByteSource& source);

/// What the fields mean, checked; each throws FormatError with the file's name.
Shape nifti_shape(const std::string& path, const RawNiftiHeader& header);
DType nifti_dtype(const std::string& path, const RawNiftiHeader& header);
/// {1, 0} when the file does not scale.
std::pair<double, double> nifti_scaling(const std::string& path, const RawNiftiHeader& header, DType stored);
Geometry nifti_geometry(const std::string& path, const nifti_2_header& fields, const Log& log);
double nifti_time_step(const nifti_2_header& fields);

/// What stands before the voxels, and where they are.
struct NiftiHead {
  Image image;  ///< all but `data`, and its place: place_nifti()
  Shape shape;
  bool is_swapped = false;
  std::uint64_t bytes = 0;   ///< of the voxels
  std::uint64_t offset = 0;  ///< where they start
  std::uint64_t at = 0;      ///< where the source stands, or 0 for a file of their own
  std::string voxel_file;    ///< empty: the source itself
};
NiftiHead read_nifti_head(ByteSource& source, const Log& log);

/// Sets geometry and time step from the kept header.
void place_nifti(const std::string& path, Image& image, const Log& log);

/// The values that voxels as they are stored mean.
Tensor nifti_values(const NiftiHeader& header, Tensor stored, bool is_swapped);

/// The file up to its voxels, and the type in which those follow, of an image of this shape and type.
struct NiftiStart {
  std::vector<std::byte> bytes;
  DType stored;
};
NiftiStart nifti_start(const std::string& path, const Image& image, const Shape& shape, DType type,
                       const NiftiOptions& options);
/// Voxels of `image` or of a part of it in that type; nothing where they are so already.
std::optional<Tensor> nifti_voxels(const std::string& path, const Image& image, const Tensor& values,
                                   const NiftiOptions& options, const Log& log);

int nifti_code_of(DType type);  ///< throws ArgumentError for a type that NIfTI lacks

/// Sets affine, voxel sizes and units of `fields` from the geometry [mm].
void set_nifti_geometry(nifti_2_header& fields, const Geometry& geometry);

/// The NIfTI-1 form; the caller has checked that all dimensions fit.
nifti_1_header narrowed(const nifti_2_header& fields);

}  // namespace spinloom
