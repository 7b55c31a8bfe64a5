#pragma once
#include <array>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/context.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// What the kernels of a NUFFT are specialised for.
struct NufftKernels {
  int dims = 1;        ///< axes with a kernel, 1 to 3
  int coils = 1;       ///< of a group, which a block of type 1 takes together
  int pass = 1;        ///< coils that a block of type 2 takes together
  int width = 1;       ///< taps, and
  int degree = 0;      ///< of their polynomials
  bool staged = true;  ///< whether type 2 has a tile in shared memory
  int threads = 256;   ///< of a block of type 2
  int products = 0;  ///< TF32 products of one sum on tensor cores, 1 or 3; 0 for sums in the data's precision
  bool is_float = true;

  const KernelInstance& points() const;       ///< find_tiles, place_samples, sort_values
  const KernelInstance& spread() const;       ///< spread, add_partial_sums
  const KernelInstance& interpolate() const;  ///< interpolate
  const KernelInstance& image() const;        ///< pad, crop

  std::array<int, 3> tile() const;  ///< its cells per axis
  int spread_threads() const;
  std::size_t interpolation_bytes() const;  ///< of shared memory that is asked for, and
  std::size_t static_bytes() const;         ///< that the kernel has anyway
};

/// The instance of a source with these constants. It lives as long as the process, since kernels are found by its address.
const KernelInstance& find_instance(const KernelSource& source, const std::vector<std::string>& defines,
                                    int minimum_architecture = 75);

/// Coils side by side for this many coils, so that few of the last group are empty.
int choose_group(Index coils, bool is_float);

/// The kernels for groups of coils, a relative error and a card; what of `wanted` follows from none of them is kept.
NufftKernels choose_kernels(NufftKernels wanted, double tolerance, const DeviceFacts& card);

/// Instances of every kind that choose_kernels() may name; of the widths, which only bound loops, some.
std::vector<KernelInstance> nufft_kernel_instances();

}  // namespace spinloom::cuda
