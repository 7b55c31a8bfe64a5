#pragma once
#include "stencil/multigrid/level.hpp"

namespace spinloom::stencil::multigrid {

/// One thing done to a level, row by row; each needs the one before it on the rows and planes around.
struct Step {
  enum class Kind { relax, residual_to_coarse, correct, residual_norm } kind = Kind::relax;
  bool red = true, black = true;  ///< the colours that it changes or looks at; relaxation takes one
  double omega = 1;
};

/// The arrays that a pass works on; what its steps do not need may be null.
template <class T>
struct Fields {
  T* u = nullptr;
  const T* f = nullptr;
  T* coarse_f = nullptr;
  const T* coarse_u = nullptr;
  std::vector<double>* norms = nullptr;  ///< |f - A u|^2 of each row
};

/// Does all steps in one go through the memory: blocks of rows that grow and shrink from step to step (the diamonds
/// of docs/stencil.md) go through the planes, each step a plane behind the one before. Where an axis is periodic, one
/// step after the other.
///
/// corrections are interpolated, or taken as they are (`plainly`), which makes them the transpose of summing.
template <class T>
void run_pass(const Level<T>& level, const Level<T>* coarse, const std::vector<Step>& steps,
              const Fields<T>& fields, bool plainly = false);

/// What lies outside of a field: 0, or the other end of a periodic axis.
template <class T>
void fill_outside(const Level<T>& level, T* field);

/// Dense rows into a field and back; `stride` 2 takes every other number.
template <class T>
void load(const Level<T>& level, const T* dense, Index stride, T* field);
template <class T>
void store(const Level<T>& level, const T* field, T* dense, Index stride);

/// out = A p; p's outside is filled.
template <class T>
void apply(const Level<T>& level, T* p, T* out);
/// In a fixed order, the same on a GPU: sixteen sums along each half row, then those of the rows by sum_of().
template <class T>
double dot(const Level<T>& level, const T* a, const T* b);
template <class T>
double sum(const Level<T>& level, const T* a);
/// Every value is added to one of so many sums by turns, and these by halves.
constexpr Index sum_lanes = 1024;
double sum_of(const double* values, Index count);
double sum_of(const std::vector<double>& rows);
template <class T>
void axpy(const Level<T>& level, double alpha, const T* x, T* y);
template <class T>
void xpay(const Level<T>& level, const T* x, double alpha, T* y);

}  // namespace spinloom::stencil::multigrid
