#pragma once
#include <array>
#include <complex>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// Empty when cuFFT can be used, else why not, in words.
std::string cufft_problem();
std::string cufft_version();  ///< "12.0", empty without cuFFT
std::string cufft_file();     ///< what was opened, empty when nothing was

/// How `batch` transforms lie in memory: element i along the last axis of transform b is at
/// b * distance + i * stride. 0 asks for dense arrays, one behind the other.
struct FftLayout {
  Index stride = 1;
  Index distance = 0;
};

enum class FftSign { minus = -1, plus = 1 };  ///< of the exponent

/// Complex transforms of one size through cuFFT, in one, two or three dimensions, without scaling, in the order of
/// the context's stream. Real is float or double.
///
/// Errors   BackendUnavailable without cuFFT, DeviceError with cuFFT's reason when it refuses the size or lacks memory
/// Threads  may be shared; the work area belongs to the call
template <class Real>
class Cufft {
 public:
  using Complex = std::complex<Real>;
  /// size: one to three axes, slowest first.
  Cufft(Context& context, const std::vector<Index>& size, Index batch, FftLayout layout = {});
  ~Cufft();
  Cufft(const Cufft&) = delete;
  Cufft& operator=(const Cufft&) = delete;

  /// `in` and `out` may be the same.
  void run(const Complex* in, Complex* out, FftSign sign) const;
  std::size_t work_bytes() const { return work_bytes_; }

 private:
  Context& context_;
  int plan_ = -1;
  std::size_t work_bytes_ = 0;
  mutable std::mutex guard_;  ///< the plan holds the address of a call's work area
};

}  // namespace spinloom::cuda
