#include "simulate_scan.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "spinloom/io/cfl.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/recon/assemble.hpp"

using namespace spinloom;

namespace {

constexpr auto replace = OutputFile::Existing::replace;

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() > ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

std::string base_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

Shape volume(const Shape& matrix) { return matrix.size() == 3 ? matrix : prepend(1, matrix); }

/// Values of [coils, samples] under another shape.
Tensor shaped(const Array<cfloat>& values, Shape shape) {
  Tensor t = Tensor::copy_of(values);
  t.reshape(std::move(shape));
  return t;
}

/// Three columns (kx, ky, kz) per sample in cycles per field of view, as BART has them; kz = 0 in 2D.
Array<cfloat> columns_xyz(const Trajectory& k) {
  auto list = Array<cfloat>::zeros({k.samples(), 3});
  for (int d = 0; d < k.dims(); ++d)
    for (Index m = 0; m < k.samples(); ++m) list[m * 3 + k.dims() - 1 - d] = cfloat(float(k.axis(d)[m]));
  return list;
}

/// One column per image axis, (ky, kx) or (kz, ky, kx), as npy trajectories are everywhere here.
Array<double> columns_of_axes(const Trajectory& k) {
  Array<double> list({k.samples(), k.dims()});
  for (int d = 0; d < k.dims(); ++d)
    for (Index m = 0; m < k.samples(); ++m) list[m * k.dims() + d] = k.axis(d)[m];
  return list;
}

void write_mrd_scan(const std::string& path, const SimulatedScan& scan) {
  ScanDescription description;
  description.trajectory = scan.readouts.trajectory.get();
  description.kspace = scan.kspace.view();
  description.matrix = scan.matrix;
  description.fov_mm = scan.fov_mm;
  description.slice_thickness_mm = scan.geometry.voxel_size()[2];
  description.samples_per_line = scan.readouts.samples_per_readout;
  description.kind = scan.kind;
  description.sample_time_us = description.noise_sample_time_us = scan.dwell_us;
  if (!scan.noise.empty()) description.noise = scan.noise.view();
  description.geometry = scan.geometry;
  write_mrd(path, make_raw_scan(description), replace);
}

}  // namespace

ScanFormat scan_format(const std::string& path) {
  if (ends_with(path, ".mrd") || ends_with(path, ".h5")) return ScanFormat::mrd;
  if (ends_with(path, ".cfl")) return ScanFormat::cfl;
  if (ends_with(path, ".npy")) return ScanFormat::npy;
  throw CLI::ValidationError("-o", fmt::format("'{}' ends in none of .mrd, .h5, .cfl, .npy", path));
}

Readouts as_stored(const Readouts& readouts, const Shape& matrix, ScanFormat format) {
  if (format == ScanFormat::npy) return readouts;  // stored in double
  Array<double> k(readouts.trajectory->view().shape);
  for (int d = 0; d < readouts.trajectory->dims(); ++d) {
    const double unit = format == ScanFormat::mrd ? double(matrix[static_cast<std::size_t>(d)]) : 1.0;
    const auto axis = readouts.trajectory->axis(d);
    for (Index m = 0; m < axis.size(); ++m) k[d * axis.size() + m] = double(float(axis[m] / unit)) * unit;
  }
  Readouts stored = readouts;
  stored.trajectory = std::make_shared<const Trajectory>(std::move(k));
  return stored;
}

ScanWriter::ScanWriter(const std::string& path, bool with_noise, OutputSet& files)
    : format_(scan_format(path)) {
  const std::string base = base_of(path);
  switch (format_) {
    case ScanFormat::mrd:
      scan_ = files.add(path);
      maps_ = files.add(base + "_maps.npy");
      break;
    case ScanFormat::cfl:
      scan_ = files.add_cfl(base);
      trajectory_ = files.add_cfl(base + "_traj");
      maps_ = files.add_cfl(base + "_maps");
      if (with_noise) noise_ = files.add_cfl(base + "_noise");
      break;
    case ScanFormat::npy:
      scan_ = files.add(base + "_ksp.npy");
      trajectory_ = files.add(base + "_traj.npy");
      maps_ = files.add(base + "_maps.npy");
      if (with_noise) noise_ = files.add(base + "_noise.npy");
      break;
  }
  truth_ = files.add(base + "_truth.nii.gz");
}

void ScanWriter::write(const SimulatedScan& scan) const {
  const Trajectory& k = *scan.readouts.trajectory;
  const Index coils = scan.kspace.shape()[0], readouts = scan.readouts.readouts,
              samples = scan.readouts.samples_per_readout;
  switch (format_) {
    case ScanFormat::mrd:
      write_mrd_scan(scan_, scan);
      write_npy(maps_, Tensor::copy_of(scan.maps), replace);
      break;
    case ScanFormat::cfl: {
      // BART's order is the reverse: k-space (1, samples, readouts, coils), trajectory (3, samples, readouts).
      write_cfl(scan_, shaped(scan.kspace, {coils, readouts, samples, 1}), replace);
      const auto list = columns_xyz(k);
      write_cfl(trajectory_, shaped(list, {readouts, samples, 3}), replace);
      write_cfl(maps_, shaped(scan.maps, prepend(coils, volume(scan.matrix))), replace);
      if (!noise_.empty())
        write_cfl(noise_, shaped(scan.noise, {coils, 1, scan.noise.shape()[1], 1}), replace);
      break;
    }
    case ScanFormat::npy:
      write_npy(scan_, Tensor::copy_of(scan.kspace), replace);
      write_npy(trajectory_, Tensor::copy_of(columns_of_axes(k)), replace);
      write_npy(maps_, Tensor::copy_of(scan.maps), replace);
      if (!noise_.empty()) write_npy(noise_, Tensor::copy_of(scan.noise), replace);
      break;
  }

  Image truth;
  if (scan.truth_is_real) {
    Array<float> real(volume(scan.matrix));
    std::transform(scan.truth.begin(), scan.truth.end(), real.begin(),
                   [](cdouble v) { return float(v.real()); });
    truth.data = Tensor::copy_of(real);
  } else {
    Array<cfloat> narrow(volume(scan.matrix));
    std::transform(scan.truth.begin(), scan.truth.end(), narrow.begin(), [](cdouble v) { return cfloat(v); });
    truth.data = Tensor::copy_of(narrow);
  }
  truth.geometry = scan.geometry;
  save_image(truth_, truth, replace);
}
