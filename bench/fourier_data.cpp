#include "fourier_data.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <random>

#include "spinloom/core/error.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"

using namespace spinloom;

namespace {

constexpr int checked = 48;

/// k[m].r[n] less whole turns, in double.
double turns(const Trajectory& k, const Shape& matrix, Index m, Index n) {
  double sum = 0;
  for (std::size_t d = matrix.size(); d-- > 0; n /= matrix[d]) {
    const double r = double(n % matrix[d] - matrix[d] / 2) / double(matrix[d]);
    const double part = k.view().data[static_cast<Index>(d) * k.samples() + m] * r;
    sum += part - std::rint(part);
  }
  return sum;
}

/// sum_i in[i] exp(sign 2 pi i turns(i, j)) against out[j] at some j.
template <class Turns>
double error_at_some(const Array<cfloat>& in, const Array<cfloat>& out, int sign, const Turns& phase) {
  std::mt19937_64 bits(23);
  std::vector<Index> where;
  for (int i = 0; i < checked; ++i)
    where.push_back(static_cast<Index>(bits() % static_cast<std::uint64_t>(out.size())));
  std::vector<cdouble> sums(where.size());
  parallel_blocks(checked, 1, [&](Index i, Index, int) {
    cdouble sum = 0;
    for (Index n = 0; n < in.size(); ++n)
      sum += cdouble(in[n]) *
             std::polar(1.0, sign * 2 * std::numbers::pi * phase(n, where[static_cast<std::size_t>(i)]));
    sums[static_cast<std::size_t>(i)] = sum;
  });
  double error = 0, size = 0;
  for (std::size_t i = 0; i < where.size(); ++i) {
    error += std::norm(cdouble(out[where[i]]) - sums[i]);
    size += std::norm(sums[i]);
  }
  return std::sqrt(error / size);
}

}  // namespace

std::shared_ptr<const Trajectory> even_trajectory(const Shape& matrix, Index samples) {
  std::mt19937_64 bits(17);
  Array<double> k({static_cast<Index>(matrix.size()), samples});
  for (Index d = 0; d < k.shape()[0]; ++d)
    for (Index m = 0; m < samples; ++m)
      k[d * samples + m] =
          (double(bits() >> 11) * 0x1p-53 - 0.5) * double(matrix[static_cast<std::size_t>(d)]);
  return std::make_shared<Trajectory>(std::move(k));
}

double error_at_samples(const Trajectory& k, const Shape& matrix, const Array<cfloat>& x,
                        const Array<cfloat>& fx) {
  return error_at_some(x, fx, -1, [&](Index n, Index m) { return turns(k, matrix, m, n); });
}

double error_at_voxels(const Trajectory& k, const Shape& matrix, const Array<cfloat>& y,
                       const Array<cfloat>& fhy) {
  return error_at_some(y, fhy, +1, [&](Index m, Index n) { return turns(k, matrix, m, n); });
}

double error_of_normal(const std::shared_ptr<const Trajectory>& k, const Shape& matrix, View<const cfloat> x,
                       View<const cfloat> y, double tolerance) {
  const auto pair = normal(make_nufft<double>(k, matrix, 1, {.tolerance = 0.01 * tolerance}));
  Array<cdouble> wide(pair->domain()), expected(pair->range()), got(pair->range());
  std::copy(x.data, x.data + x.size(), wide.begin());
  std::copy(y.data, y.data + y.size(), got.begin());
  pair->forward(wide.view(), expected.view());
  return distance<cdouble>(got, expected) / norm<cdouble>(expected);
}

void require_error(const std::string& bench, const std::string& figure, double error, double bound) {
  if (!(error <= bound))
    throw NotConverged(
        fmt::format("bench {}: {} has a relative error of {:.2g}, expected at most {:.2g}; it is not timed",
                    bench, figure, error, bound));
}
