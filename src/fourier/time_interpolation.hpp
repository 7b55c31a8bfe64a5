#pragma once
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom {

/// exp(-i theta u v) for u, v in [-1, 1] from its values at a few u:
///   exp(-i theta u v) ~ g(v) sum_j a_j(u) exp(-i theta s_j v),   s_j = spacing (2 j - taps + 1)
/// u is time within a window, v frequency over its range; a(u) are least squares over v at Chebyshev nodes, whose density at
/// the ends keeps the largest error near the least possible. g, even and real, is 1 or made to fit with a in turns.
///
/// spacing 1 with few taps: windows between neighbours of an even row of times, each of which serves several windows.
/// spacing 1 / (taps - 1): one window, times from its one end to the other.
class TimeInterpolation {
 public:
  enum class Factor { one, fitted };
  /// `damping` weighs |a|^2 beside the mean square of the error: values at the taps have errors of their own, which large
  /// weights of either sign would multiply.
  TimeInterpolation(int taps, double spacing, double theta, Factor factor, double damping = 0);

  int taps() const { return taps_; }
  double theta() const { return theta_; }
  double position(int j) const { return spacing_ * (2 * j - taps_ + 1); }
  /// a_0(u) ... a_(taps - 1)(u)
  void weights(double u, double* a) const;
  double factor(double v) const;
  /// Largest |difference| on a grid several times finer than anything in it.
  double error() const { return error_; }

 private:
  void fit_weights(const std::vector<double>& nodes, const std::vector<double>& g);
  double find_error() const;

  int taps_;
  double spacing_, theta_, damping_;
  std::vector<double> weight_series_;  ///< [coefficient of Chebyshev polynomials in u][tap]
  std::vector<double> factor_series_;  ///< coefficients in v
  double error_ = 0;
};

/// The widest windows (largest theta, at most `most`) that `taps` neighbouring times serve within `tolerance`; 0 if none do.
double widest_window(int taps, double tolerance, double most);

/// One window of width theta by as few taps as reach `tolerance`, g = 1; its weights stay within a few units, so that values
/// with errors of the tolerance's size do.
TimeInterpolation whole_window(double theta, double tolerance);

}  // namespace spinloom
