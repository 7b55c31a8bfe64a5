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

/// u = the product of `factors`, or 1.
template <class Real>
void DftOperands<Real>::product(const Real* const* factors, int count, Index length, Real* u) const {
  if (count == 0) {
    std::fill_n(u, length, Real(1));
    std::fill_n(u + dft_chunk, length, Real(0));
  } else if (count == 1) {
    std::copy_n(factors[0], length, u);
    std::copy_n(factors[0] + dft_chunk, length, u + dft_chunk);
  } else {
    kernels_.multiply(factors[0], factors[1], length, u);
    if (count == 3) kernels_.multiply(factors[2], u, length, u);
  }
}

template <class Real>
void DftOperands<Real>::fill_row_table(const DftSamples& samples, Real* table) const {
  for (int d = 0; d < 3; ++d)
    for (Index b = 0; plan_.blocks[d] > 1 && b < plan_.blocks[d]; ++b)
      kernels_.unit(samples.k[d], plan_.centre(d, b), double(plan_.matrix[d]), samples.length,
                    table + 2 * dft_chunk * (first_entry_[d] + b));
}

template <class Real>
void DftOperands<Real>::row(const Real* table, Index row, Index length, Real* u) const {
  const auto b = plan_.split(row, plan_.blocks);
  const Real* factors[3];
  int count = 0;
  for (int d = 0; d < 3; ++d)
    if (plan_.blocks[d] > 1) factors[count++] = table + 2 * dft_chunk * (first_entry_[d] + b[d]);
  product(factors, count, length, u);
}

template <class Real>
void DftOperands<Real>::fill_base(const DftSamples& samples, Real* u) const {
  alignas(64) Real entries[3][2 * dft_chunk];
  const Real* factors[3];
  int count = 0;
  for (int d = 0; d < 3; ++d) {
    if (plan_.blocks[d] > 1 || plan_.centre(d, 0) == 0) continue;
    kernels_.unit(samples.k[d], plan_.centre(d, 0), double(plan_.matrix[d]), samples.length, entries[d]);
    factors[count++] = entries[d];
  }
  product(factors, count, samples.length, u);
}

template <class Real>
void DftOperands<Real>::fill_columns(const DftSamples& samples, Real* columns) const {
  Index first[3], entries = 0;
  for (int d = 0; d < 3; ++d) {
    first[d] = entries;
    if (plan_.block[d] > 1) entries += plan_.block[d];
  }
  Array<Real> table({entries, 2, dft_chunk});
  const auto entry = [&](int d, Index o) { return table.data() + 2 * dft_chunk * (first[d] + o); };
  for (int d = 0; d < 3; ++d)
    for (Index o = 0; plan_.block[d] > 1 && o < plan_.block[d]; ++o)
      kernels_.unit(samples.k[d], plan_.offset(d, o), double(plan_.matrix[d]), samples.length, entry(d, o));

  alignas(64) Real u[2 * dft_chunk];
  for (Index c = 0; c < plan_.cosines; ++c) {
    const auto o = plan_.split(c, plan_.block);
    const Real* factors[3];
    int count = 0;
    for (int d = 0; d < 3; ++d)
      if (plan_.block[d] > 1) factors[count++] = entry(d, o[d]);
    product(factors, count, samples.length, u);
    std::copy_n(u, samples.length, columns + c * dft_chunk);
    if (plan_.cosines + c < plan_.columns)
      std::copy_n(u + dft_chunk, samples.length, columns + (plan_.cosines + c) * dft_chunk);
  }
}

template class DftOperands<float>;
template class DftOperands<double>;

}  // namespace spinloom::cpu
