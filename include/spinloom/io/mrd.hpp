#pragma once
#include <string>
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/io/geometry.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom/io/raw_scan.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Reads an ISMRMRD (MRD version 1) HDF5 file. Members are matched by name, so every writer's record layout
/// is read.
///
/// group    the HDF5 group that holds the scan; empty: the only one there is
/// Errors   FileError, FormatError; the message names the acquisition and the numbers that disagree
RawScan read_mrd(const std::string& path, const std::string& group = "", const Log& log = {});

/// Writes `scan` as an ISMRMRD HDF5 file, group "dataset". When header_xml is empty a header is made from the
/// fields. The file is made in memory first, so that a full disk is an error like any other.
///
/// Errors   FileError; ArgumentError naming the acquisition for what the format has no room for (65535 samples)
void write_mrd(const std::string& path, const RawScan& scan, OutputFile::Existing existing);

/// Images of one series of an MRD file.
struct MrdImages {
  Array<cfloat> pixels;  ///< [images, channels, z, y, x]; imaginary parts are 0 unless is_complex
  bool is_complex = false;
  std::vector<Geometry> geometries;  ///< per image
};

/// Reads a series, a group with `header` and `data`. Integers, floats, doubles and complex numbers become
/// cfloat. Single slices that differ in their slice counter alone are joined into one volume.
///
/// series   path of the group ("images/image_1"); empty: the only one there is
/// Errors   FileError, FormatError; the message lists the series that the file holds
MrdImages read_mrd_images(const std::string& path, const std::string& series = "", const Log& log = {});

/// Writes a series, group "dataset/image_0": floats, or complex floats when is_complex.
void write_mrd_images(const std::string& path, const MrdImages& images, OutputFile::Existing existing);

}  // namespace spinloom
