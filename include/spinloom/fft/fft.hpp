#pragma once
#include <complex>
#include <memory>

#include "spinloom/core/view.hpp"

namespace spinloom {

/// Discrete Fourier transform of arrays of one shape over all axes, through FFTW:
///   forward  y[k] = sum_n x[n] exp(-2 pi i sum_d n_d k_d / N_d)
///   inverse  x[n] = sum_k y[k] exp(+2 pi i sum_d n_d k_d / N_d)
///
/// Shapes   any shape of at least one element; indices start at 0 on every axis, nothing is shifted
/// Scaling  none: inverse(forward(x)) = count(shape) x
/// Bits     one plan per length is measured in a process and kept, lines are independent and every line goes
/// the same
///          way: the same input gives the same bits within a process for any thread count. Across processes
///          they are the same as long as FFTW's wisdom is kept, in $SPINLOOM_CACHE_DIR, else
///          $XDG_CACHE_HOME/spinloom, else
///          ~/.cache/spinloom. A cache that is absent, broken or read-only is only a miss.
/// Errors   ArgumentError for an empty shape; ShapeError when applied
/// Threads  immutable, may be shared
/// Source   Frigo & Johnson 2005, Proc. IEEE 93(2):216
template <class Real>
class Fft {
 public:
  using Complex = std::complex<Real>;
  explicit Fft(Shape shape);

  void forward(View<Complex> x) const;  ///< in place
  void inverse(View<Complex> x) const;  ///< in place

 private:
  struct Plans;
  Shape shape_;
  std::shared_ptr<const Plans> plans_;
};

}  // namespace spinloom
