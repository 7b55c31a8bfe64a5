#pragma once
#include <complex>

#include "spinloom/core/types.hpp"

namespace spinloom {

/// A single-threaded FFTW plan for `lines` lines of length n in place: element i of line l stands at
/// i * stride + l * distance. Plans are measured once per process and shape, behind a lock, and never freed.
template <class Real>
class FftwLines {
 public:
  FftwLines(Index n, Index stride, Index lines, Index distance, bool inverse);
  /// Runs it on other data of the same layout; any thread, any number at once. data is aligned to 16 bytes or
  /// not, the plan minds neither.
  void operator()(std::complex<Real>* data) const;

 private:
  void* plan_;
};

}  // namespace spinloom
