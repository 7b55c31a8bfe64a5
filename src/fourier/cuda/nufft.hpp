#pragma once
#include <memory>

#include "fourier/grid_choice.hpp"
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom::cuda {

/// What grids cost on a GPU, and the sizes that it transforms well.
template <class Real>
GridCosts nufft_grid_costs();

/// The NUFFT on a GPU: the steps of cpu::Nufft, with all coils of a batch in one launch. Arrays on the host are brought
/// over and back.
///
/// tolerance is what is asked for; where it allows, sums are made of rounded operands.
///
/// Errors   ArgumentError for sizes beyond what the kernels index, BackendUnavailable without cuFFT
template <class Real>
OperatorPtr<Real> make_nufft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                             const GridChoice& choice, double tolerance, Device device);

/// Bytes on the GPU, see spinloom::nufft_memory_bytes().
template <class Real>
std::int64_t nufft_memory_bytes(const Shape& matrix, Index samples, Index coils, const GridChoice& choice,
                                double tolerance, Device device);

}  // namespace spinloom::cuda
