#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"
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

/// Seconds of a cycle by itself: what a solve of more cycles takes longer. With the speed of a copy in the same rounds,
/// and the share of it that a cycle which read u and f and wrote u once on its way down and once up would have.
template <class T>
void measure_cycle(const st::Multigrid<T>& m, View<const T> f, View<T> u, bool by_gradients, int rounds,
                   Json& figure) {
  using Method = st::PoissonOptions::Method;
  st::PoissonOptions options;
  options.tolerance = 0;
  options.method = by_gradients ? Method::conjugate_gradients : Method::cycles;
  const auto seconds_of = [&](int cycles) {
    options.cycles = cycles;
    zero_bytes(reinterpret_cast<std::byte*>(u.data), u.device, std::size_t(u.size()) * sizeof(T));
    return time_once([&] {
             m.solve(f, options, u);
             synchronize(u.device);
           })
        .seconds;
  };
  const Index copied = Index{1} << 29;
  const auto from = Array<std::byte>::zeros({copied}, u.device);
  Array<std::byte> to({copied}, u.device);
  std::vector<double> cycles, rates;
  for (int round = -1; round < rounds; ++round) {
    const double few = seconds_of(1), more = seconds_of(4);
    const double copy = time_once([&] {
                          transfer<std::byte>(from.view(), to.view());
                          synchronize(u.device);
                        }).seconds;
    if (round < 0) continue;
    cycles.push_back((more - few) / 3);
    rates.push_back(2 * double(copied) / copy);
  }
  const double cycle = median(cycles), bytes = 50.0 / 8 * sizeof(T) * 8 / 7 * double(f.size());
  figure["cycle_seconds"] = cycle;
  figure["copy_bytes_per_second"] = median(rates);
  figure["share_of_floor"] = bytes / median(rates) / cycle;
}

template <class T>
Json bench_case(const std::string& name, const Shape& shape, double tolerance, int rounds, Device device) {
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
  const bool on_gpu = device.kind == DeviceKind::cuda;
  Array<T> f_there, u_there;
  if (on_gpu) {
    f_there = Array<T>::copy_of(std::as_const(f).view(), device);
    u_there = Array<T>::zeros(shape, device);
  }
  const View<const T> right = on_gpu ? std::as_const(f_there).view() : std::as_const(f).view();
  const View<T> solution = on_gpu ? u_there.view() : u.view();
  const auto solve = [&] {
    zero_bytes(reinterpret_cast<std::byte*>(solution.data), device, std::size_t(solution.size()) * sizeof(T));
    synchronize(device);
    return time_once([&] {
             result = m.solve(right, {.tolerance = tolerance}, solution);
             synchronize(device);
           })
        .seconds;
  };
  solve();
  if (on_gpu) transfer<T>(std::as_const(u_there).view(), u.view());
  const double residual = plain_residual<T>(shape, mask, is_neumann, f, u);
  if (!result.converged || !(residual <= 1.1 * tolerance + 10 * std::numeric_limits<T>::epsilon()))
    throw NotConverged(
        fmt::format("bench poisson: {} left a residual of {:.2e}: {}", name, residual, result.reason));

  const auto kernels = st::builtin_kernels<T>("7-point");
  st::Grid<T> grid(shape, st::Halo(kernels[0].view().reach()), st::dirichlet(1), device);
  grid.fill([](Index z, Index y, Index x) { return T(1 + 0.01 * double((7 * z + 3 * y + x) % 101)); });
  st::Stepper<T> sweep(kernels, {grid},
                       st::parse_schedule(on_gpu ? "cuda" : "sweep rows=64 planes=4 stream prefetch"));
  sweep.set(0, 0.4);
  sweep.set(1, 0.1);
  std::vector<double> seconds, sweeps, ratios;
  for (int round = -1; round < rounds; ++round) {
    const double one = solve(), four = time_once([&] {
                                         sweep.run(4);
                                         synchronize(device);
                                       }).seconds;
    if (round < 0) continue;
    seconds.push_back(one);
    sweeps.push_back(four / 4);
    ratios.push_back(one / double(std::max(1, result.cycles)) / (four / 4));
  }
  double answer = 0;
  for (Index i = 0; i < f.size(); ++i) answer += double(u[i]) * double(f[i]);
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  Json figure{{"name", name},
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
  if (on_gpu) measure_cycle<T>(m, right, solution, !mask.empty(), rounds, figure);
  return figure;
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
  if (request.device.kind == DeviceKind::cuda)
    result.columns.insert(result.columns.end(), {"cycle_seconds", "share_of_floor"});
  for (const char* name : {"dirichlet", "neumann", "ball"}) {
    if (request.progress) request.progress("poisson", double(result.figures.size()) / 4, name);
    result.figures.push_back(bench_case<double>(name, shape, 1e-8, rounds, request.device));
  }
  if (request.progress) request.progress("poisson", 0.75, "single precision");
  result.figures.push_back(bench_case<float>("dirichlet", shape, 1e-5, rounds, request.device));
  return result;
}
