#pragma once
#include <array>
#include <memory>
#include <vector>

#include "fourier/cuda/nufft_points.hpp"
#include "runtime/cuda/cufft.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {

/// The transform between image and grid, with the division by the kernel's transform: through passes of our own, which
/// leave out what is zero, where both the grid's size and the coils of a group suit them; else through cuFFT.
///
///   forward  grid = F (factor x image), the image padded
///   inverse  image = scale x factor x F^H grid, cut
///
/// image [coils, z, y, x], coils at most groups x group; grid as in nufft_grid.cuh.
template <class Real>
class NufftFft {
 public:
  using Complex = std::complex<Real>;
  /// voxels and factor: per grid axis; 1 / psi_hat of each voxel.
  NufftFft(Context& context, const NufftGrid& grid, const std::array<Index, 3>& voxels,
           const NufftKernels& kernels, const std::array<std::vector<Real>, 3>& factor);

  /// Whether there are passes for every axis of a grid; then a group's coils may lie in several parts.
  static bool has_own_passes(const Shape& grid);

  void forward(const Complex* image, Index coils, Index groups, Complex* grid) const;
  void inverse(Complex* grid, Index coils, Index groups, Real scale, Complex* image) const;

  /// Complex numbers of scratch memory for each group.
  static Index work_size(const NufftGrid& grid, const std::array<Index, 3>& voxels,
                         const NufftKernels& kernels);

 private:
  /// One axis; x is from and to the planar image.
  void pass(std::size_t axis, bool is_inverse, Index coils, Index groups, Real scale, const Complex* in,
            Complex* out) const;
  void through_cufft(Complex* grid, Index groups, FftSign sign) const;
  Index group_cells() const;

  Context& context_;
  NufftGrid grid_;
  std::array<Index, 3> voxels_;
  NufftKernels kernels_;
  std::array<Array<Real>, 3> factor_;
  std::array<Array<Complex>, 3> turns_;  ///< of the passes, per axis
  std::unique_ptr<Cufft<Real>> cufft_;   ///< null where passes of our own are used
};

/// The kernel of one axis of `cells`, of a grid that has_own_passes().
const KernelInstance& fft_instance(const NufftKernels& kernels, Index cells, bool is_inverse, bool is_planar);

/// Kernels of the passes for a few sizes, which stand for all.
std::vector<KernelInstance> nufft_fft_instances();

}  // namespace spinloom::cuda
