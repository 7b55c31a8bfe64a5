#include "fourier/reference/off_resonance.hpp"

#include <cmath>
#include <numbers>

#include "spinloom/core/interrupt.hpp"

namespace spinloom::reference {
namespace {

/// k.r + f t of sample m and voxel n in turns, less whole turns term by term.
double turns(const Trajectory& k, const OffResonance& b0, Index m, Index n) {
  const View<const double> map = b0.map_hz();
  double sum = map[n] * b0.times_s()[m];
  sum -= std::rint(sum);
  for (std::size_t d = map.shape.size(); d-- > 0;) {
    const Index extent = map.shape[d];
    const double r = double(n % extent - extent / 2) / double(extent);
    const double part = k.view()[static_cast<Index>(d) * k.samples() + m] * r;
    sum += part - std::rint(part);
    n /= extent;
  }
  return sum;
}

cdouble unit(double t) { return std::polar(1.0, 2 * std::numbers::pi * t); }

}  // namespace

cdouble dft_forward_at(const Trajectory& k, const OffResonance& b0, View<const cdouble> image, Index sample) {
  cdouble sum = 0;
  check_interrupt();
  for (Index n = 0, voxels = image.size(); n < voxels; ++n) sum += image[n] * unit(-turns(k, b0, sample, n));
  return sum;
}

cdouble dft_adjoint_at(const Trajectory& k, const OffResonance& b0, View<const cdouble> kspace, Index voxel) {
  cdouble sum = 0;
  check_interrupt();
  for (Index m = 0, samples = k.samples(); m < samples; ++m) sum += kspace[m] * unit(turns(k, b0, m, voxel));
  return sum;
}

void dft_forward(const Trajectory& k, const OffResonance& b0, View<const cdouble> image,
                 View<cdouble> kspace) {
  for (Index c = 0; c < image.shape[0]; ++c)
    for (Index m = 0; m < k.samples(); ++m) kspace.slice(c)[m] = dft_forward_at(k, b0, image.slice(c), m);
}

void dft_adjoint(const Trajectory& k, const OffResonance& b0, View<const cdouble> kspace,
                 View<cdouble> image) {
  const Index voxels = b0.map_hz().size();
  for (Index c = 0; c < image.shape[0]; ++c)
    for (Index n = 0; n < voxels; ++n) image.slice(c)[n] = dft_adjoint_at(k, b0, kspace.slice(c), n);
}

}  // namespace spinloom::reference
