#include "fourier/cpu/dft_operands.hpp"

#include <algorithm>

namespace spinloom::cpu {

DftSamples::DftSamples(const Trajectory& trajectory, Index first)
    : count(std::min(dft_chunk, trajectory.samples() - first)), length((count + 31) / 32 * 32), k{} {
  const int dims = trajectory.dims();
  for (int d = 0; d < dims; ++d) std::copy_n(trajectory.axis(d).data + first, count, k[3 - dims + d]);
}

template <class Real>
DftOperands<Real>::DftOperands(const DftPlan& plan, const DftKernels<Real>& kernels)
    : plan_(plan), kernels_(kernels), row_entries_(0) {
  for (int d = 0; d < 3; ++d) {
    first_entry_[d] = row_entries_;
    if (plan_.blocks[d] > 1) row_entries_ += plan_.blocks[d];
  }
}

template <class Real>
void DftOperands<Real>::fill_row_table(const DftSamples& samples, Real* table) const {
  for (int d = 0; d < 3; ++d)
    for (Index b = 0; plan_.blocks[d] > 1 && b < plan_.blocks[d]; ++b) {
      Real* entry = table + 2 * dft_chunk * (first_entry_[d] + b);
      kernels_.unit(samples.k[d], plan_.centre(d, b), double(plan_.matrix[d]), samples.length, entry,
                    entry + dft_chunk);
    }
}

template <class Real>
void DftOperands<Real>::row(const Real* table, Index row, Index length, Real* re, Real* im) const {
  const auto b = plan_.split(row, plan_.blocks);
  bool empty = true;
  for (int d = 0; d < 3; ++d) {
    if (plan_.blocks[d] == 1) continue;
    const Real* entry = table + 2 * dft_chunk * (first_entry_[d] + b[d]);
    if (empty) {
      std::copy_n(entry, length, re);
      std::copy_n(entry + dft_chunk, length, im);
    } else {
      kernels_.multiply(entry, entry + dft_chunk, length, re, im);
    }
    empty = false;
  }
  if (empty) {
    std::fill_n(re, length, Real(1));
    std::fill_n(im, length, Real(0));
  }
}

template <class Real>
void DftOperands<Real>::fill_base(const DftSamples& samples, Real* re, Real* im) const {
  alignas(64) Real factor[2][dft_chunk];
  std::fill_n(re, samples.length, Real(1));
  std::fill_n(im, samples.length, Real(0));
  for (int d = 0; d < 3; ++d) {
    if (plan_.blocks[d] > 1 || plan_.centre(d, 0) == 0) continue;
    kernels_.unit(samples.k[d], plan_.centre(d, 0), double(plan_.matrix[d]), samples.length, factor[0],
                  factor[1]);
    kernels_.multiply(factor[0], factor[1], samples.length, re, im);
  }
}

template <class Real>
void DftOperands<Real>::fill_columns(const DftSamples& samples, Real* columns) const {
  Array<Real> table({3, dft_chunk, 2, dft_chunk});
  const auto entry = [&](int d, Index o) { return table.data() + 2 * dft_chunk * (d * dft_chunk + o); };
  for (int d = 0; d < 3; ++d)
    for (Index o = 0; plan_.block[d] > 1 && o < plan_.block[d]; ++o)
      kernels_.unit(samples.k[d], plan_.offset(d, o), double(plan_.matrix[d]), samples.length, entry(d, o),
                    entry(d, o) + dft_chunk);

  alignas(64) Real unused[dft_chunk];
  for (Index c = 0; c < plan_.cosines; ++c) {
    const auto o = plan_.split(c, plan_.block);
    Real* re = columns + c * dft_chunk;
    Real* im = plan_.cosines + c < plan_.columns ? columns + (plan_.cosines + c) * dft_chunk : unused;
    bool empty = true;
    for (int d = 0; d < 3; ++d) {
      if (plan_.block[d] == 1) continue;
      const Real* factor = entry(d, o[d]);
      if (empty) {
        std::copy_n(factor, samples.length, re);
        std::copy_n(factor + dft_chunk, samples.length, im);
      } else {
        kernels_.multiply(factor, factor + dft_chunk, samples.length, re, im);
      }
      empty = false;
    }
    if (empty) std::fill_n(re, samples.length, Real(1));
  }
}

template class DftOperands<float>;
template class DftOperands<double>;

}  // namespace spinloom::cpu
