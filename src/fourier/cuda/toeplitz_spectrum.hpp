#pragma once
#include "fourier/cuda/line_shape.hpp"
#include "runtime/cuda/kernel.hpp"
#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::cuda {

/// Makes spectra of q (see fourier/toeplitz_kernel.hpp) of one trajectory on the device, for one set of weights after
/// another; null is a set of ones.
template <class Real>
class ToeplitzSpectra {
 public:
  virtual ~ToeplitzSpectra() = default;
  virtual Array<Real> operator()(View<const double> weights) const = 0;
};

/// On a circulant grid of `cells`, over their number, in the order of a DFT. `tolerance` is that of q.
template <class Real>
std::unique_ptr<ToeplitzSpectra<Real>> toeplitz_spectra(std::shared_ptr<const Trajectory> trajectory,
                                                        const Shape& matrix,
                                                        const std::array<Index, 3>& cells, double tolerance,
                                                        Device device);

/// The most device bytes that making it takes, itself included.
template <class Real>
std::int64_t toeplitz_spectrum_bytes(const Shape& matrix, Index samples, const std::array<Index, 3>& cells,
                                     double tolerance, Device device);

/// From the order of a DFT to that of the passes of toeplitz_lines.cu: [z][y half][q, m of y][x half][4 values][t of x][4], with z as
/// [half][q][m] and the values of x as [round][m].
void pack_spectrum(Context& context, const std::array<LineShape, 3>& shape, const float* spectrum,
                   float* packed);

std::vector<KernelInstance> toeplitz_spectrum_instances();

}  // namespace spinloom::cuda
