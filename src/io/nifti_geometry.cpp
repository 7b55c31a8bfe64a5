#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/nifti_header.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

/// Millimetres per unit of space. Files that name no unit mean millimetres.
double millimetres(int xyzt_units) {
  switch (xyzt_units & 7) {
    case NIFTI_UNITS_METER: return 1000;
    case NIFTI_UNITS_MICRON: return 0.001;
    default: return 1;
  }
}

bool is_usable(const Geometry& g) {
  const auto& m = g.matrix;
  for (const auto& row : m)
    for (const double v : row)
      if (!std::isfinite(v)) return false;
  const double volume = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                        m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                        m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  const auto size = g.voxel_size();
  // Axes that lie in one plane to single precision place voxels on top of each other.
  return std::abs(volume) > 1e-6 * size[0] * size[1] * size[2];
}

/// pixdim[axis + 1], or 1 where the file has none: axes that it does not have, zeros, NaN.
double step(const nifti_2_header& h, int axis) {
  const double size = std::abs(h.pixdim[axis + 1]);
  return std::isfinite(size) && size > 0 ? size : 1;
}

Geometry from_sform(const nifti_2_header& h) {
  Geometry g;
  for (std::size_t column = 0; column < 4; ++column) {
    g.matrix[0][column] = h.srow_x[column];
    g.matrix[1][column] = h.srow_y[column];
    g.matrix[2][column] = h.srow_z[column];
  }
  return g;
}

Geometry from_qform(const nifti_2_header& h) {
  const nifti_dmat44 m =
      nifti_quatern_to_dmat44(h.quatern_b, h.quatern_c, h.quatern_d, h.qoffset_x, h.qoffset_y, h.qoffset_z,
                              step(h, 0), step(h, 1), step(h, 2), h.pixdim[0] < 0 ? -1 : 1);
  Geometry g;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column) g.matrix[row][column] = m.m[row][column];
  return g;
}

}  // namespace

Geometry nifti_geometry(const std::string& path, const nifti_2_header& h, const Log& log) {
  Geometry g;
  const char* form = nullptr;
  if (h.sform_code > 0) {
    g = from_sform(h);
    if (is_usable(g))
      form = "sform";
    else
      warn(log, path + ": the sform matrix is singular or not finite and is not used");
  }
  if (form == nullptr && h.qform_code > 0) {
    g = from_qform(h);
    if (is_usable(g))
      form = "qform";
    else
      warn(log, path + ": the qform is not finite and is not used");
  }
  if (form == nullptr) {
    g = {};
    for (std::size_t axis = 0; axis < 3; ++axis) g.matrix[axis][axis] = step(h, static_cast<int>(axis));
  }
  const auto size = g.voxel_size();
  for (std::size_t axis = 0; axis < 3 && form != nullptr; ++axis) {
    const double stated = std::abs(h.pixdim[axis + 1]);
    // pixdim is single precision, and older tools rounded it to a few digits.
    if (static_cast<Index>(axis) < h.dim[0] && !(std::abs(stated - size[axis]) <= 1e-2 * size[axis]))
      warn(log, fmt::format("{}: pixdim[{}] is {:g} but the {} matrix has voxels of {:g}; the matrix is used",
                            path, axis + 1, stated, form, size[axis]));
  }
  const double unit = millimetres(h.xyzt_units);
  for (auto& row : g.matrix)
    for (double& v : row) v *= unit;
  if (unit != 1) note(log, fmt::format("{}: positions converted to millimetres by {:g}", path, unit));
  g.is_known = form != nullptr;
  return g;
}

double nifti_time_step(const nifti_2_header& h) {
  const double step = h.pixdim[4];
  if (h.dim[0] < 4 || !std::isfinite(step) || step <= 0) return 0;
  switch (h.xyzt_units & 0x38) {
    case NIFTI_UNITS_SEC: return step;
    case NIFTI_UNITS_MSEC: return step * 1e-3;
    case NIFTI_UNITS_USEC: return step * 1e-6;
    default: return 0;  // hertz, ppm, radians, or nothing said
  }
}

void set_nifti_geometry(nifti_2_header& h, const Geometry& g) {
  if (!is_usable(g))
    throw ArgumentError("the image's geometry is singular or not finite, so that NIfTI cannot hold it");
  nifti_dmat44 m{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column) m.m[row][column] = g.matrix[row][column];
  m.m[3][3] = 1;
  double dx, dy, dz;
  nifti_dmat44_to_quatern(m, &h.quatern_b, &h.quatern_c, &h.quatern_d, &h.qoffset_x, &h.qoffset_y,
                          &h.qoffset_z, &dx, &dy, &dz, &h.pixdim[0]);
  const auto size = g.voxel_size();
  std::copy(size.begin(), size.end(), h.pixdim + 1);
  std::copy(g.matrix[0].begin(), g.matrix[0].end(), h.srow_x);
  std::copy(g.matrix[1].begin(), g.matrix[1].end(), h.srow_y);
  std::copy(g.matrix[2].begin(), g.matrix[2].end(), h.srow_z);
  // Both codes say what the form in use said; a position that is known but unlabelled is the scanner's.
  const int code = !g.is_known        ? NIFTI_XFORM_UNKNOWN
                   : h.sform_code > 0 ? h.sform_code
                   : h.qform_code > 0 ? h.qform_code
                                      : NIFTI_XFORM_SCANNER_ANAT;
  h.sform_code = h.qform_code = code;
}

}  // namespace spinloom
