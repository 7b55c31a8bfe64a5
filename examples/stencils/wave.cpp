// Lesson 2: the wave equation by leapfrog, d^2u/dt^2 = c^2 lap u, eighth order in space.
//
// Leapfrog needs two steps of the past: the field has two grids, and the step before is where the next one is written.
// The lesson: eighth order means that 12 points per wave are plenty, and a time step a little too long means that the
// smallest error grows without end.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/stepper.hpp"

using namespace spinloom::stencil;
using spinloom::Index;

constexpr double pi = std::numbers::pi;

// Largest |u| after a cosine of 12 points per wave went along x in a periodic box for `steps` steps, and its distance from
// the wave that moves at the right speed. v = (c dt / spacing)^2.
struct Outcome {
  double largest, error;
};
Outcome travel(double v, Index steps) {
  const Index n = 24;
  const double k = 2 * pi / 12;                                 // phase from a point to the next
  const double per_step = 2 * std::asin(std::sqrt(v) * k / 2);  // what leapfrog makes of an exact Laplacian
  Grid<double> u({n, n, n}, Halo(4), periodic()), before({n, n, n}, Halo(4), periodic());
  Grid<double> speed({n, n, n}, Halo(4), periodic());
  const auto wave = [=](double step, Index x) { return std::cos(k * double(x) - per_step * step); };
  u.fill([=](Index, Index, Index x) { return wave(0, x); });
  before.fill([=](Index, Index, Index x) { return wave(-1, x); });
  speed.fill(v);
  u(5, 6, 7) += 1e-9;  // the smallest error

  Stepper<double> stepper(builtin_kernels<double>("wave"), {{u, before}, speed},
                          parse_schedule("sweep rows=8 planes=4 prefetch"));
  stepper.run(steps);

  Outcome outcome{0, 0};
  for (Index z = 0; z < n; ++z)
    for (Index y = 0; y < n; ++y)
      for (Index x = 0; x < n; ++x) {
        outcome.largest = std::max(outcome.largest, std::abs(u(z, y, x)));
        outcome.error = std::max(outcome.error, std::abs(u(z, y, x) - wave(double(steps), x)));
      }
  return outcome;
}

int main() {
  // The stencil weighs the shortest wave, +1 -1 +1 -1, by -(205/72 + 2 (8/5 + 1/5 + 8/315 + 1/560)) along each axis, and
  // 2 - v |weight| must not pass -2.
  const double weight = 3 * (205.0 / 72 + 2 * (8.0 / 5 + 1.0 / 5 + 8.0 / 315 + 1.0 / 560));
  const double limit = 4 / weight;
  std::printf("steps are stable up to (c dt / spacing)^2 = %.4f\n", limit);

  const Outcome below = travel(0.98 * limit, 400), above = travel(1.02 * limit, 400);
  std::printf("2 %% below: |u| <= %.3f, error %.1e after 400 steps\n", below.largest, below.error);
  std::printf("2 %% above: |u| <= %.1e\n", above.largest);
  return below.error < 1e-3 && below.largest < 1.01 && above.largest > 1e6 ? 0 : 1;
}
