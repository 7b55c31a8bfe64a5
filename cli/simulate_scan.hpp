#pragma once
#include <string>

#include "console.hpp"
#include "output_set.hpp"
#include "spinloom/io/geometry.hpp"
#include "spinloom/mri/coils.hpp"

/// What `simulate` writes.
struct SimulatedScan {
  spinloom::Shape matrix;
  std::vector<double> fov_mm;
  spinloom::Geometry geometry;
  spinloom::Readouts readouts;
  std::string kind;                          ///< trajectory word of the MRD header
  double dwell_us = 5;                       ///< between samples, where the format has a place for it
  spinloom::Array<spinloom::cfloat> kspace;  ///< [coils, samples], noise included
  spinloom::Array<spinloom::cfloat> noise;   ///< [coils, samples] of a noise scan, or empty
  spinloom::Array<spinloom::cfloat> maps;    ///< [coils, matrix...]
  spinloom::Array<spinloom::cdouble> truth;  ///< [matrix...]
  bool truth_is_real = true;                 ///< the object is: its truth is written as real numbers
};

enum class ScanFormat { mrd, cfl, npy };

/// Format by the ending of `path`. Throws CLI::ValidationError for another ending.
ScanFormat scan_format(const std::string& path);

/// The trajectory as the format's numbers hold it (float, in its own unit), so that data computed at it fits the file
/// to the last digit.
spinloom::Readouts as_stored(const spinloom::Readouts& readouts, const spinloom::Shape& matrix,
                             ScanFormat format);

/// Names and reserves all files; write() fills them. Nothing appears before OutputSet::commit().
class ScanWriter {
 public:
  ScanWriter(const std::string& path, bool with_noise, OutputSet& files);
  void write(const SimulatedScan& scan) const;

 private:
  ScanFormat format_;
  std::string scan_, trajectory_, maps_, noise_, truth_;  ///< temporary names
};
