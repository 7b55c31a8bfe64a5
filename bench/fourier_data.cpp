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

/// k[m].r less whole turns of position `at` along axis d, in double.
double turns(const Trajectory& k, const Shape& matrix, Index m, std::size_t d, Index at) {
  const double r = double(at - matrix[d] / 2) / double(matrix[d]);
  const double part = k.view().data[static_cast<Index>(d) * k.samples() + m] * r;
  return part - std::rint(part);
}

cdouble wave(double turns) { return std::polar(1.0, 2 * std::numbers::pi * turns); }

/// sum_n x[n] exp(-2 pi i k[m].r[n]), its waves as products over the axes.
template <class Complex>
cdouble forward_at(const Trajectory& k, const Shape& matrix, const Array<Complex>& x, Index m) {
  std::vector<std::vector<cdouble>> waves(matrix.size());
  for (std::size_t d = 0; d < matrix.size(); ++d)
    for (Index at = 0; at < matrix[d]; ++at) waves[d].push_back(wave(-turns(k, matrix, m, d, at)));
  const Index row = matrix.back();
  cdouble sum = 0;
  for (Index first = 0; first < x.size(); first += row) {
    double re = 0, im = 0;
    for (Index at = 0; at < row; ++at) {
      const cdouble v(x[first + at]), w = waves.back()[static_cast<std::size_t>(at)];
      re += v.real() * w.real() - v.imag() * w.imag();
      im += v.real() * w.imag() + v.imag() * w.real();
    }
    cdouble part(re, im);
    Index rest = first / row;
    for (std::size_t d = matrix.size() - 1; d-- > 0; rest /= matrix[d])
      part *= waves[d][static_cast<std::size_t>(rest % matrix[d])];
    sum += part;
  }
  return sum;
}

/// sum_m y[m] exp(2 pi i k[m].r[n]).
template <class Complex>
cdouble adjoint_at(const Trajectory& k, const Shape& matrix, const Array<Complex>& y, Index n) {
  cdouble sum = 0;
  for (Index m = 0; m < y.size(); ++m) {
    double phase = 0;
    Index rest = n;
    for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d])
      phase += turns(k, matrix, m, d, rest % matrix[d]);
    sum += cdouble(y[m]) * wave(phase);
  }
  return sum;
}

/// Of out[i] against exact(i) for some i.
template <class Complex, class Exact>
double error_at_some(const Array<Complex>& out, const Exact& exact) {
  std::mt19937_64 bits(23);
  std::vector<Index> where;
  for (int i = 0; i < checked; ++i)
    where.push_back(static_cast<Index>(bits() % static_cast<std::uint64_t>(out.size())));
  std::vector<cdouble> sums(where.size());
  parallel_blocks(checked, 1, [&](Index i, Index, int) {
    sums[static_cast<std::size_t>(i)] = exact(where[static_cast<std::size_t>(i)]);
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
  return error_at_some(fx, [&](Index m) { return forward_at(k, matrix, x, m); });
}

double error_at_voxels(const Trajectory& k, const Shape& matrix, const Array<cfloat>& y,
                       const Array<cfloat>& fhy) {
  return error_at_some(fhy, [&](Index n) { return adjoint_at(k, matrix, y, n); });
}

double error_of_normal(const std::shared_ptr<const Trajectory>& k, const Shape& matrix, View<const cfloat> x,
                       View<const cfloat> y, double tolerance, Device device) {
  const auto f = make_nufft<double>(k, matrix, 1, {.tolerance = 0.01 * tolerance}, device);
  Array<cdouble> wide(f->domain());
  std::copy(x.data, x.data + x.size(), wide.begin());
  const auto wide_there = Array<cdouble>::copy_of(wide.view(), device);
  Array<cdouble> samples_there(f->range(), device);
  f->forward(wide_there.view(), samples_there.view());
  const auto samples = Array<cdouble>::copy_of(samples_there.view(), Device{});
  require_error("normal", "the NUFFT in double that it is held against",
                error_at_some(samples, [&](Index m) { return forward_at(*k, matrix, wide, m); }),
                0.1 * tolerance);
  return error_at_some(Array<cfloat>::copy_of(y),
                       [&](Index n) { return adjoint_at(*k, matrix, samples, n); });
}

void require_error(const std::string& bench, const std::string& figure, double error, double bound) {
  if (!(error <= bound))
    throw NotConverged(
        fmt::format("bench {}: {} has a relative error of {:.2g}, expected at most {:.2g}; it is not timed",
                    bench, figure, error, bound));
}
