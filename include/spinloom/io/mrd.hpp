#pragma once
#include <string>

#include "spinloom/core/log.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom/io/raw_scan.hpp"

namespace spinloom {

/// Reads an ISMRMRD (MRD version 1) HDF5 file. Members are matched by name, so every writer's record layout is read.
///
/// group    the HDF5 group that holds the scan; empty: the only one there is
/// Errors   FileError, FormatError; the message names the acquisition and the numbers that disagree
RawScan read_mrd(const std::string& path, const std::string& group = "", const Log& log = {});

/// Writes `scan` as an ISMRMRD HDF5 file, group "dataset". When header_xml is empty a header is made from the fields.
void write_mrd(const std::string& path, const RawScan& scan, OutputFile::Existing existing);

}  // namespace spinloom
