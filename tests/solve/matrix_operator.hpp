#pragma once
#include <vector>

#include "spinloom/ops/linear_operator.hpp"

namespace spinloom::testing {

/// A dense n x n matrix as an operator, for problems whose answer is known.
template <class Real>
class MatrixOperator final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  MatrixOperator(Index n, std::vector<cdouble> entries) : n_(n), entries_(std::move(entries)) {}
  std::string name() const override { return "matrix"; }
  Shape domain() const override { return {n_}; }
  Shape range() const override { return {n_}; }
  cdouble at(Index i, Index j) const { return entries_[static_cast<std::size_t>(i * n_ + j)]; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    for (Index i = 0; i < n_; ++i) {
      cdouble sum = 0;
      for (Index j = 0; j < n_; ++j) sum += at(i, j) * cdouble(x[j]);
      y[i] = Complex(sum);
    }
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    for (Index j = 0; j < n_; ++j) {
      cdouble sum = 0;
      for (Index i = 0; i < n_; ++i) sum += std::conj(at(i, j)) * cdouble(y[i]);
      x[j] = Complex(sum);
    }
  }

  Index n_;
  std::vector<cdouble> entries_;
};

/// diag(d)
template <class Real>
MatrixOperator<Real> diagonal_matrix(const std::vector<double>& d) {
  const Index n = static_cast<Index>(d.size());
  std::vector<cdouble> entries(d.size() * d.size());
  for (std::size_t i = 0; i < d.size(); ++i) entries[i * d.size() + i] = d[i];
  return {n, std::move(entries)};
}

/// B^H B + shift I with a random B: positive definite for shift > 0.
template <class Real>
MatrixOperator<Real> random_positive_matrix(Index n, double shift, unsigned seed) {
  const auto size = static_cast<std::size_t>(n);
  Array<cdouble> b({n, n});
  fill_random(b.view(), seed);
  std::vector<cdouble> entries(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k)
        entries[i * size + j] += std::conj(b[Index(k * size + i)]) * b[Index(k * size + j)];
      if (i == j) entries[i * size + j] += shift;
    }
  return {n, std::move(entries)};
}

/// Gaussian elimination with row pivots, in double.
template <class Real>
Array<cdouble> solve_directly(const MatrixOperator<Real>& a, Array<cdouble> b) {
  const Index n = b.size();
  std::vector<std::vector<cdouble>> m(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) m[static_cast<std::size_t>(i)].push_back(a.at(i, j));
  const auto row = [&](Index i) -> std::vector<cdouble>& { return m[static_cast<std::size_t>(i)]; };
  for (Index c = 0; c < n; ++c) {
    const auto col = static_cast<std::size_t>(c);
    Index pivot = c;
    for (Index i = c; i < n; ++i)
      if (std::abs(row(i)[col]) > std::abs(row(pivot)[col])) pivot = i;
    std::swap(row(c), row(pivot));
    std::swap(b[c], b[pivot]);
    for (Index i = c + 1; i < n; ++i) {
      const cdouble factor = row(i)[col] / row(c)[col];
      for (Index j = c; j < n; ++j)
        row(i)[static_cast<std::size_t>(j)] -= factor * row(c)[static_cast<std::size_t>(j)];
      b[i] -= factor * b[c];
    }
  }
  for (Index c = n - 1; c >= 0; --c) {
    for (Index j = c + 1; j < n; ++j) b[c] -= row(c)[static_cast<std::size_t>(j)] * b[j];
    b[c] /= row(c)[static_cast<std::size_t>(c)];
  }
  return b;
}

}  // namespace spinloom::testing
