#include "fft/cpu/lane_plan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "spinloom/core/error.hpp"

namespace spinloom::cpu {
namespace {

std::vector<int> factorise(Index n) {
  std::vector<int> radices;
  for (const int radix : {8, 5, 3, 4, 2})
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  // 8 x 2 costs one stage more loads than 4 x 4 for the same length.
  if (radices.size() > 1 && radices.back() == 2 && radices.front() == 8) radices.front() = radices.back() = 4;
  if (n != 1) throw ArgumentError(fmt::format("FFT: length has the factor {}, expected 2, 3 and 5 only", n));
  return radices;
}

}  // namespace

template <class Real>
LanePlan<Real>::LanePlan(Index length) : n(length), radices(factorise(length)) {
  Index remaining = n;
  for (const int radix : radices) {
    const Index m = remaining / radix;
    std::vector<Real> stage;
    stage.reserve(static_cast<std::size_t>(2 * m * (radix - 1)));
    for (Index j = 0; j < m; ++j)
      for (Index k = 1; k < radix; ++k) {
        const double angle = -2 * std::numbers::pi * double((j * k) % remaining) / double(remaining);
        stage.push_back(static_cast<Real>(std::cos(angle)));
        stage.push_back(static_cast<Real>(std::sin(angle)));
      }
    twiddles.push_back(std::move(stage));
    remaining = m;
  }
}

Index next_smooth(Index n) {
  for (Index candidate = n < 1 ? 1 : n;; ++candidate) {
    Index rest = candidate;
    for (const int factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return candidate;
  }
}

template struct LanePlan<float>;
template struct LanePlan<double>;

}  // namespace spinloom::cpu
