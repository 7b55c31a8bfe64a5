#include "fourier/reference/dft.hpp"

#include <cmath>
#include <numbers>

#include "spinloom/core/interrupt.hpp"

namespace spinloom::reference {
namespace {

/// k.r of sample m and voxel n, in turns, less whole turns axis by axis so that no digits are lost. k is the
/// trajectory's array [dims, samples].
double turns(const double* k, Index samples, const Shape& matrix, Index m, Index n) {
  double sum = 0;
  for (std::size_t d = matrix.size(); d-- > 0;) {
    const Index extent = matrix[d];
    const double r = double(n % extent - extent / 2) / double(extent);
    const double part = k[static_cast<Index>(d) * samples + m] * r;
    sum += part - std::rint(part);
    n /= extent;
  }
  return sum;
}

cdouble unit(double t) { return std::polar(1.0, 2 * std::numbers::pi * t); }

}  // namespace

cdouble dft_forward_at(const Trajectory& k, const Shape& matrix, View<const cdouble> image, Index sample) {
  const double* positions = k.view().data;
  const Index samples = k.samples(), voxels = count(matrix);
  cdouble sum = 0;
  check_interrupt();
  for (Index n = 0; n < voxels; ++n) sum += image[n] * unit(-turns(positions, samples, matrix, sample, n));
  return sum;
}

cdouble dft_adjoint_at(const Trajectory& k, const Shape& matrix, View<const cdouble> kspace, Index voxel) {
  const double* positions = k.view().data;
  const Index samples = k.samples();
  cdouble sum = 0;
  check_interrupt();
  for (Index m = 0; m < samples; ++m) sum += kspace[m] * unit(turns(positions, samples, matrix, m, voxel));
  return sum;
}

void dft_forward(const Trajectory& k, const Shape& matrix, View<const cdouble> image, View<cdouble> kspace) {
  for (Index c = 0; c < image.shape[0]; ++c)
    for (Index m = 0; m < k.samples(); ++m) kspace.slice(c)[m] = dft_forward_at(k, matrix, image.slice(c), m);
}

void dft_adjoint(const Trajectory& k, const Shape& matrix, View<const cdouble> kspace, View<cdouble> image) {
  for (Index c = 0; c < image.shape[0]; ++c)
    for (Index n = 0; n < count(matrix); ++n)
      image.slice(c)[n] = dft_adjoint_at(k, matrix, kspace.slice(c), n);
}

}  // namespace spinloom::reference
