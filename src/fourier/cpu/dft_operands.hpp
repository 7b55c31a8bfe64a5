#pragma once
#include "fourier/cpu/dft_kernels.hpp"
#include "fourier/cpu/dft_plan.hpp"
#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::cpu {

/// Positions of one chunk of samples, filled up with zeros.
struct DftSamples {
  DftSamples(const Trajectory& trajectory, Index first);

  Index count;   ///< at most dft_chunk
  Index length;  ///< count as a multiple of 32, of every tile_columns
  alignas(64) double k[3][dft_chunk];
};

/// The factors of exp(+i k.r) for one chunk of samples, see DftPlan. A factor is two rows of dft_chunk
/// values, real and imaginary; its phase is exact to double rounding, its value rounded to Real.
template <class Real>
class DftOperands {
 public:
  DftOperands(const DftPlan& plan, const DftKernels<Real>& kernels);

  /// One factor per block along each axis that has several.
  Index row_table_size() const { return 2 * dft_chunk * row_entries_; }
  void fill_row_table(const DftSamples& samples, Real* table) const;
  /// exp(i k.q) of block `row`, the product of its entries; 1 when there is one block.
  void row(const Real* table, Index row, Index length, Real* u) const;

  /// The factor that all rows share: axes with one block, whose centre is half a voxel off when their length
  /// is even.
  void fill_base(const DftSamples& samples, Real* u) const;

  /// cos(k.o) and then sin(k.o): [plan.columns][dft_chunk].
  void fill_columns(const DftSamples& samples, Real* columns) const;

  const DftPlan& plan() const { return plan_; }
  const DftKernels<Real>& kernels() const { return kernels_; }

 private:
  void product(const Real* const* factors, int count, Index length, Real* u) const;

  DftPlan plan_;
  DftKernels<Real> kernels_;
  Index first_entry_[3];
  Index row_entries_;
};

/// Calls f(position, voxel) for the voxels of block `row` that lie in the image; position counts the block's
/// voxels.
template <class F>
void for_each_voxel(const DftPlan& plan, Index row, const F& f) {
  const auto b = plan.split(row, plan.blocks);
  Index begin[3], end[3];
  for (int d = 0; d < 3; ++d) {
    begin[d] = b[d] * plan.block[d];
    end[d] = std::min(plan.block[d], plan.matrix[d] - begin[d]);
  }
  for (Index z = 0; z < end[0]; ++z)
    for (Index y = 0; y < end[1]; ++y) {
      const Index position = (z * plan.block[1] + y) * plan.block[2];
      const Index voxel = ((begin[0] + z) * plan.matrix[1] + begin[1] + y) * plan.matrix[2] + begin[2];
      for (Index x = 0; x < end[2]; ++x) f(position + x, voxel + x);
    }
}

}  // namespace spinloom::cpu
