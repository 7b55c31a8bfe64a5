#pragma once
#include <string>

#include "spinloom/core/log.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/io/nifti.hpp"
#include "spinloom/io/output_file.hpp"

namespace spinloom {

struct LoadOptions {
  std::string group;  ///< for HDF5 files: the image group, such as "dataset/image_0"; empty: the only one
  Log log;
};

/// Reads an image of any format: NIfTI, npy, PNG, MRD images (HDF5) by their first bytes, whatever the name,
/// plain or gzip, from a file or a pipe; BART cfl by its name (NAME, NAME.cfl or NAME.hdr).
///
/// Errors   FileError; FormatError that says what the file seems to be when it is none of these
Image load_image(const std::string& path, const LoadOptions& options = {});

struct SaveOptions {
  NiftiOptions nifti;
  Log log;  ///< warned of what the format cannot hold (geometry in npy)
};

/// Writes by the ending of the name: .nii, .nii.gz, .npy, .cfl, .png (uint8, uint16 or rgb24 [y, x]).
/// Errors   ArgumentError for another ending; else those of the format's own writer
void save_image(const std::string& path, const Image& image, OutputFile::Existing existing,
                const SaveOptions& options = {});

/// The endings that save_image() knows, for messages and for a check before work begins: true when `path` has
/// one.
bool can_save_image(const std::string& path);
std::string image_endings();

}  // namespace spinloom
