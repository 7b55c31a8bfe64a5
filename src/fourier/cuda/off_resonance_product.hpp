#pragma once
#include "fourier/cuda/dft.hpp"
#include "fourier/cuda/snapshots.hpp"
#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// The exact DFT with off-resonance as matrix products on tensor cores, one per snapshot; see dft_snapshots.cu. All arrays
/// are on the context's GPU. Every element of the outputs is written.
class OffResonanceProduct {
 public:
  OffResonanceProduct(Context& context, Shape matrix, Index coils, DftMethod method, DftProduct product,
                      const Trajectory& k, const OffResonance& b0, SnapshotChoice choice);
  void adjoint(const cfloat* kspace, cfloat* image) const;
  void forward(const cfloat* image, cfloat* kspace) const;

 private:
  void adjoint_batch(Index coils, const cfloat* kspace, cfloat* image) const;
  void forward_batch(Index coils, const cfloat* image, cfloat* kspace) const;
  Pieces cut_for_adjoint() const;
  Pieces cut_for_forward() const;
  template <class Batch>
  void in_batches(const Batch& batch) const;

  Context& context_;
  Shape matrix_;
  Index coils_, samples_;
  bool is_split_, has_warpgroups_;
  Snapshots snapshots_;
  Pieces of_snapshots_, of_windows_;
};

}  // namespace spinloom::cuda
