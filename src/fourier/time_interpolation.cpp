#include "fourier/time_interpolation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "fourier/memo.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

std::vector<double> chebyshev_nodes(int n) {
  std::vector<double> nodes(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) nodes[static_cast<std::size_t>(i)] = std::cos((i + 0.5) * std::numbers::pi / n);
  return nodes;
}

/// Coefficients of the polynomial that takes `values` at the Chebyshev nodes; those of rounding size at the end go.
std::vector<double> chebyshev_series(const std::vector<double>& values) {
  const auto n = values.size();
  std::vector<double> cosines(4 * n);
  for (std::size_t i = 0; i < 4 * n; ++i) cosines[i] = std::cos(double(i) * std::numbers::pi / double(2 * n));
  std::vector<double> series(n);
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i] * cosines[k * (2 * i + 1) % (4 * n)];
    series[k] = sum * (k == 0 ? 1 : 2) / double(n);
    largest = std::max(largest, std::abs(series[k]));
  }
  while (series.size() > 1 && std::abs(series.back()) < 1e-15 * largest) series.pop_back();
  return series;
}

double evaluate(const std::vector<double>& series, double x) {
  double b1 = 0, b2 = 0;
  for (std::size_t k = series.size(); k-- > 1;) {
    const double b = 2 * x * b1 - b2 + series[k];
    b2 = b1;
    b1 = b;
  }
  return x * b1 - b2 + series[0];
}

/// Least squares by Householder reflections: columns[j] of equal length, any number of right sides.
class LeastSquares {
 public:
  explicit LeastSquares(std::vector<std::vector<double>> columns) : columns_(std::move(columns)) {
    const std::size_t n = columns_.size(), rows = columns_[0].size();
    diagonal_.resize(n);
    for (std::size_t j = 0; j < n; ++j) {
      auto& v = columns_[j];
      double square = 0;
      for (std::size_t i = j; i < rows; ++i) square += v[i] * v[i];
      const double length = std::sqrt(square);
      diagonal_[j] = v[j] > 0 ? -length : length;
      v[j] -= diagonal_[j];
      for (std::size_t k = j + 1; k < n; ++k) reflect(j, columns_[k]);
    }
  }
  std::vector<double> solve(std::vector<double> right) const {
    const std::size_t n = columns_.size();
    for (std::size_t j = 0; j < n; ++j) reflect(j, right);
    std::vector<double> x(n);
    for (std::size_t j = n; j-- > 0;) {
      double sum = right[j];
      for (std::size_t k = j + 1; k < n; ++k) sum -= columns_[k][j] * x[k];
      // A column that the others span but for rounding gets nothing.
      x[j] = std::abs(diagonal_[j]) > 1e-15 * std::abs(diagonal_[0]) ? sum / diagonal_[j] : 0;
    }
    return x;
  }

 private:
  void reflect(std::size_t j, std::vector<double>& x) const {
    const auto& v = columns_[j];
    double square = 0, product = 0;
    for (std::size_t i = j; i < v.size(); ++i) {
      square += v[i] * v[i];
      product += v[i] * x[i];
    }
    if (square == 0) return;
    for (std::size_t i = j; i < v.size(); ++i) x[i] -= 2 * product / square * v[i];
  }
  std::vector<std::vector<double>> columns_;  ///< reflections from the diagonal on, the triangle above it
  std::vector<double> diagonal_;
};

TimeInterpolation find_whole_window(double theta, double tolerance) {
  // The number of prolate functions that the product of the ranges holds is where to begin.
  const int least = std::max(1, static_cast<int>(2 * theta / std::numbers::pi));
  constexpr double damping = 0.1;
  double best = 1;
  for (int taps = least; taps < 3 * least + 40; taps += 1 + least / 32) {
    TimeInterpolation one(taps, taps == 1 ? 1.0 : 1.0 / (taps - 1), theta, TimeInterpolation::Factor::one,
                          taps == 1 ? 0 : damping * tolerance);
    if (one.error() <= tolerance) return one;
    best = std::min(best, one.error());
  }
  throw ArgumentError(fmt::format(
      "off-resonance: a tolerance of {:g} cannot be reached, the best error is {:.1g}", tolerance, best));
}

}  // namespace

TimeInterpolation::TimeInterpolation(int taps, double spacing, double theta, Factor factor, double damping)
    : taps_(taps), spacing_(spacing), theta_(theta), damping_(damping) {
  // Enough nodes for functions of bandwidth theta, whose series fall off faster than exponentially beyond it.
  const auto nodes = chebyshev_nodes(24 + 2 * taps + static_cast<int>(std::ceil(1.5 * theta)));
  std::vector<double> g(nodes.size(), 1.0);
  fit_weights(nodes, g);
  std::vector<double> a(static_cast<std::size_t>(taps_));
  for (int turn = 0; factor == Factor::fitted && turn < 4; ++turn) {
    std::vector<double> product(nodes.size(), 0.0), square(nodes.size(), 0.0);
    for (const double u : nodes) {
      weights(u, a.data());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        std::complex<double> sum = 0;
        for (int j = 0; j < taps_; ++j)
          sum += a[static_cast<std::size_t>(j)] * std::polar(1.0, -theta_ * position(j) * nodes[i]);
        product[i] += (std::conj(sum) * std::polar(1.0, -theta_ * u * nodes[i])).real();
        square[i] += std::norm(sum);
      }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) g[i] = square[i] > 0 ? product[i] / square[i] : 1;
    fit_weights(nodes, g);
  }
  factor_series_ = chebyshev_series(g);
  error_ = find_error();
}

void TimeInterpolation::fit_weights(const std::vector<double>& nodes, const std::vector<double>& g) {
  const std::size_t n = nodes.size(), rows = 2 * n + static_cast<std::size_t>(damping_ > 0 ? taps_ : 0);
  std::vector<std::vector<double>> columns;
  for (int j = 0; j < taps_; ++j) {
    auto& column = columns.emplace_back(rows);
    if (damping_ > 0) column[2 * n + static_cast<std::size_t>(j)] = damping_ * std::sqrt(double(n));
    for (std::size_t i = 0; i < n; ++i) {
      column[i] = g[i] * std::cos(theta_ * position(j) * nodes[i]);
      column[n + i] = g[i] * std::sin(theta_ * position(j) * nodes[i]);
    }
  }
  const LeastSquares system(std::move(columns));
  std::vector<std::vector<double>> values(static_cast<std::size_t>(taps_), std::vector<double>(n));
  for (std::size_t at = 0; at < n; ++at) {
    std::vector<double> right(rows);
    for (std::size_t i = 0; i < n; ++i) {
      right[i] = std::cos(theta_ * nodes[at] * nodes[i]);
      right[n + i] = std::sin(theta_ * nodes[at] * nodes[i]);
    }
    const auto a = system.solve(std::move(right));
    for (std::size_t j = 0; j < a.size(); ++j) values[j][at] = a[j];
  }
  std::vector<std::vector<double>> series;
  for (const auto& of_tap : values) series.push_back(chebyshev_series(of_tap));
  std::size_t longest = 0;
  for (const auto& of_tap : series) longest = std::max(longest, of_tap.size());
  weight_series_.assign(longest * series.size(), 0.0);
  for (std::size_t j = 0; j < series.size(); ++j)
    for (std::size_t k = 0; k < series[j].size(); ++k) weight_series_[k * series.size() + j] = series[j][k];
}

void TimeInterpolation::weights(double u, double* a) const {
  // T_0 = 1, T_1 = u, T_(k+1) = 2 u T_k - T_(k-1), for all taps at once.
  const double* row = weight_series_.data();
  const double* const end = row + weight_series_.size();
  double t = 1, next = u;
  std::fill(a, a + taps_, 0.0);
  for (; row != end; row += taps_) {
    for (int j = 0; j < taps_; ++j) a[j] += t * row[j];
    const double after = 2 * u * next - t;
    t = next;
    next = after;
  }
}

double TimeInterpolation::factor(double v) const { return evaluate(factor_series_, v); }

double TimeInterpolation::find_error() const {
  const int steps = 64 + 4 * taps_ + static_cast<int>(4 * theta_);
  // Denser towards the ends, where errors are largest and change fastest.
  const auto point = [&](int i) { return std::cos(i * std::numbers::pi / steps); };
  std::vector<double> a(static_cast<std::size_t>(taps_));
  std::vector<std::complex<double>> at_tap;  // [v][tap]
  for (int i = 0; i <= steps; ++i)
    for (int j = 0; j < taps_; ++j)
      at_tap.push_back(factor(point(i)) * std::polar(1.0, -theta_ * position(j) * point(i)));
  double largest = 0;
  for (int at = 0; at <= steps; ++at) {
    weights(point(at), a.data());
    for (int i = 0; i <= steps; ++i) {
      std::complex<double> gap = -std::polar(1.0, -theta_ * point(at) * point(i));
      for (int j = 0; j < taps_; ++j)
        gap += a[static_cast<std::size_t>(j)] * at_tap[static_cast<std::size_t>(i * taps_ + j)];
      largest = std::max(largest, std::norm(gap));
    }
  }
  return std::sqrt(largest);
}

double widest_window(int taps, double tolerance, double most) {
  const auto serves = [&](double theta) {
    return TimeInterpolation(taps, 1, theta, TimeInterpolation::Factor::fitted).error() <= tolerance;
  };
  // Neighbouring times may differ by half a turn at most, or two frequencies look alike.
  double high = std::min(most, std::numbers::pi / 2), low = high * 1e-6;
  if (serves(high)) return high;
  if (!serves(low)) return 0;
  while (high > 1.01 * low) {
    const double middle = std::sqrt(low * high);
    (serves(middle) ? low : high) = middle;
  }
  return low;
}

TimeInterpolation whole_window(double theta, double tolerance) {
  static Memo<std::pair<double, double>, TimeInterpolation> memo;
  return memo({theta, tolerance}, [&] { return find_whole_window(theta, tolerance); });
}

}  // namespace spinloom
