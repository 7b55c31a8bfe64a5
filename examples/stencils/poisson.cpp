// A field map's background from its Laplacian, inside a mask: Poisson's equation by multigrid.
//
//   ninja -C build example_poisson && build/release/examples/stencils/example_poisson
//
// Expected output:
//
//   levels: 48 x 48 x 48, 24 x 24 x 24, 12 x 12 x 12, 6 x 6 x 6, 3 x 3 x 3, 2 x 2 x 2, 1 x 1 x 1
//   cycle 0: residual 1.0e+00
//   ...
//   converged after 8 cycles at a relative residual of 1.41e-10
//   largest error 4.7e-11 of values up to 1.7
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "spinloom/runtime/array.hpp"
#include "spinloom/stencil/poisson.hpp"

using namespace spinloom;
using namespace spinloom::stencil;

int main() {
  // The head is a ball with a cavity in it; outside of it nothing was measured.
  const Index n = 48;
  PoissonProblem<double> problem;
  problem.shape = {n, n, n};
  problem.spacing = {1, 1, 1};  // [mm]
  Array<double> field(problem.shape);
  for (Index i = 0; i < field.size(); ++i) {
    const double z = double(i / n / n) - 23.5, y = double(i / n % n) - 23.5, x = double(i % n) - 23.5;
    problem.mask.push_back(std::hypot(z, y, x) < 22 && std::hypot(z + 8, y, x) > 5);
    field[i] = std::sin(0.1 * x) * std::cos(0.07 * y) + 0.003 * z * z;
  }

  // What we pretend to know of the field: the differences of neighbours, summed up in each cell. Differences over the
  // mask's edge are not known, which is what "Neumann at the edge" means.
  Array<double> f = Array<double>::zeros(problem.shape);
  const Index strides[] = {n * n, n, 1};
  for (Index i = 0; i < field.size(); ++i)
    for (const Index stride : strides) {
      if (i / stride % n == n - 1) continue;
      const std::size_t here = std::size_t(i), next = std::size_t(i + stride);
      if (!problem.mask[here] || !problem.mask[next]) continue;
      f[i] += field[i] - field[i + stride];
      f[i + stride] -= field[i] - field[i + stride];
    }

  const auto mask = problem.mask;
  const Multigrid<double> multigrid(std::move(problem));
  std::printf("levels:");
  for (const Shape& s : multigrid.levels())
    std::printf("%s %d x %d x %d", s[0] == n ? "" : ",", int(s[0]), int(s[1]), int(s[2]));
  std::printf("\n");

  Array<double> u = Array<double>::zeros(field.shape());
  PoissonOptions options;
  options.tolerance = 1e-9;
  options.observe = [](int cycle, double residual) {
    std::printf("cycle %d: residual %.1e\n", cycle, residual);
    return true;  // go on
  };
  const PoissonResult result = multigrid.solve(f.view(), options, u.view());
  std::printf("%s\n", result.reason.c_str());

  // A constant is free: the solver makes the mean over each connected part of the mask 0.
  double mean = 0, cells = 0, worst = 0, largest = 0;
  for (Index i = 0; i < field.size(); ++i)
    if (mask[std::size_t(i)]) mean += field[i], cells += 1;
  for (Index i = 0; i < field.size(); ++i)
    if (mask[std::size_t(i)]) {
      worst = std::max(worst, std::abs(u[i] - (field[i] - mean / cells)));
      largest = std::max(largest, std::abs(u[i]));
    }
  std::printf("largest error %.1e of values up to %.1f\n", worst, largest);
  return result.converged && worst < 1e-6 ? 0 : 1;
}
