#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/poisson.hpp"
#include "spinloom/stencil/stepper.hpp"

/// How long does a Poisson problem take from zero to a residual of 1e-8, and how many plain 7-point sweeps over the same
/// grid is one cycle worth? The sweeps are timed in the same rounds.
namespace {

using namespace spinloom;
namespace st = spinloom::stencil;

/// The right side that bench/peers/hypre_pfmg.c solves for as well.
double right_side(Index i) {
  return double((static_cast<std::uint64_t>(i) * 2654435761u >> 8) & 0xffff) / 65536 - 0.5;
}

/// |f - A u| / |f| on a grid with h = 1 and zero faces or, where `is_neumann`, none of the mean; by the formula.
template <class T>
double plain_residual(const Shape& shape, const std::vector<unsigned char>& mask, bool is_neumann,
                      View<const T> f, View<const T> u) {
  const Index n[3] = {shape[0], shape[1], shape[2]}, stride[3] = {n[1] * n[2], n[2], 1};
  const auto is_in = [&](Index i) { return mask.empty() || mask[std::size_t(i)] != 0; };
  double mean = 0, cells = 0, gap = 0, size = 0;
  for (Index i = 0; i < f.size() && is_neumann; ++i)
    if (is_in(i)) mean += double(f[i]), cells += 1;
  if (is_neumann) mean /= cells;
  for (Index i = 0; i < f.size(); ++i) {
    if (!is_in(i)) continue;
    double r = double(f[i]) - mean;
    size += r * r;
    const Index at[3] = {i / stride[0], i / stride[1] % n[1], i % n[2]};
    for (int a = 0; a < 3; ++a)
      for (const Index side : {-1, 1}) {
        const Index next = i + side * stride[a];
        if (at[a] + side < 0 || at[a] + side >= n[a])
          r -= is_neumann ? 0 : 2 * double(u[i]);
        else if (is_in(next))
          r -= double(u[i]) - double(u[next]);
      }
    gap += r * r;
  }
  return std::sqrt(size > 0 ? gap / size : gap);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class T>
Json bench_case(const std::string& name, const Shape& shape, double tolerance, int rounds) {
  st::PoissonProblem<T> p;
  p.shape = shape;
  const bool is_neumann = name != "dirichlet";
  p.low.assign(3, is_neumann ? st::neumann(0) : st::dirichlet(0));
  p.high = p.low;
  if (name == "ball")
    for (Index z = 0; z < shape[0]; ++z)
      for (Index y = 0; y < shape[1]; ++y)
        for (Index x = 0; x < shape[2]; ++x) {
          const auto part = [&](Index i, std::size_t a) {
            return (double(i) + 0.5) / double(shape[a]) - 0.5;
          };
          p.mask.push_back(std::hypot(part(z, 0), part(y, 1), part(x, 2)) < 0.45);
        }
  Array<T> f(shape), u = Array<T>::zeros(shape);
  for (Index i = 0; i < f.size(); ++i) f[i] = T(right_side(i));
  const std::vector<unsigned char> mask = p.mask;
  std::vector<double> setup{time_once([&] { st::Multigrid<T> once(p); }).seconds};
  const st::Multigrid<T> m(std::move(p));
  st::PoissonResult result;
  const auto solve = [&] {
    std::fill(u.begin(), u.end(), T(0));
    return time_once([&] { result = m.solve(f.view(), {.tolerance = tolerance}, u.view()); }).seconds;
  };
  solve();
  const double residual = plain_residual<T>(shape, mask, is_neumann, f, u);
  if (!result.converged || !(residual <= 1.1 * tolerance + 10 * std::numeric_limits<T>::epsilon()))
    throw NotConverged(
        fmt::format("bench poisson: {} left a residual of {:.2e}: {}", name, residual, result.reason));

  const auto kernels = st::builtin_kernels<T>("7-point");
  st::Grid<T> grid(shape, st::Halo(kernels[0].view().reach()), st::dirichlet(1));
  grid.fill([](Index z, Index y, Index x) { return T(1 + 0.01 * double((7 * z + 3 * y + x) % 101)); });
  st::Stepper<T> sweep(kernels, {grid}, st::parse_schedule("sweep rows=64 planes=4 stream prefetch"));
  sweep.set(0, 0.4);
  sweep.set(1, 0.1);
  std::vector<double> seconds, sweeps, ratios;
  for (int round = -1; round < rounds; ++round) {
    const double one = solve(), four = time_once([&] { sweep.run(4); }).seconds;
    if (round < 0) continue;
    seconds.push_back(one);
    sweeps.push_back(four / 4);
    ratios.push_back(one / double(std::max(1, result.cycles)) / (four / 4));
  }
  double answer = 0;
  for (Index i = 0; i < f.size(); ++i) answer += double(u[i]) * double(f[i]);
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  return {{"name", name},
          {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
          {"size", shape},
          {"threads", thread_count()},
          {"tolerance", tolerance},
          {"seconds", median(seconds)},
          {"spread", (*high - *low) / median(seconds)},
          {"repetitions", rounds},
          {"setup_seconds", setup[0]},
          {"cycles", result.cycles},
          {"residual", residual},
          {"seconds_per_cycle", median(seconds) / double(std::max(1, result.cycles))},
          {"sweep_seconds", median(sweeps)},
          {"sweeps_per_cycle", median(ratios)},
          {"answer", answer}};
}

}  // namespace

BenchResult bench_poisson(const BenchRequest& request) {
  const Shape shape = request.matrix.empty() ? Shape{256, 256, 256} : request.matrix;
  if (shape.size() != 3)
    throw ArgumentError(fmt::format("bench poisson: --matrix has {} sizes, expected Z,Y,X", shape.size()));
  const int rounds = request.repetitions > 0 ? request.repetitions : 3;
  BenchResult result;
  result.columns = {"name",   "dtype",    "seconds",           "spread",          "setup_seconds",
                    "cycles", "residual", "seconds_per_cycle", "sweeps_per_cycle"};
  for (const char* name : {"dirichlet", "neumann", "ball"}) {
    if (request.progress) request.progress("poisson", double(result.figures.size()) / 4, name);
    result.figures.push_back(bench_case<double>(name, shape, 1e-8, rounds));
  }
  if (request.progress) request.progress("poisson", 0.75, "single precision");
  result.figures.push_back(bench_case<float>("dirichlet", shape, 1e-5, rounds));
  return result;
}
