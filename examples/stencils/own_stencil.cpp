// Lesson 3: a stencil of your own, with a coefficient that differs from place to place and sums that ride along.
//
// Two rooms, a hot and a cold one, and a wall between them that lets little heat through. Heat flows between neighbours
// in proportion to their difference and to the mean of their conductivities, so what leaves one cell enters the other: the
// total must stay. It and the largest change of a step are computed beside the step, from values that are in registers
// anyway. A sum needs all points of one step at a time, so most steps are taken by a plain twin of the stencil, whose
// schedule may go through several steps per pass, and only every hundredth one is watched.
#include <cmath>
#include <cstdio>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/stepper.hpp"

using namespace spinloom::stencil;
using spinloom::Index;

struct Rooms {
  static constexpr Field<0> u{};
  static constexpr Field<1> k{};
  static constexpr Param<0> dt{};

  static constexpr auto flow(int z, int y, int x) {
    return 0.5 * (k(z, y, x) + k(0, 0, 0)) * (u(z, y, x) - u(0, 0, 0));
  }
  static constexpr auto change() {
    return dt * (((flow(0, 0, -1) + flow(0, 0, 1)) + (flow(0, -1, 0) + flow(0, 1, 0))) +
                 (flow(-1, 0, 0) + flow(1, 0, 0)));
  }
  constexpr auto operator()() const { return next(u) = u(0, 0, 0) + change(); }
};
struct WatchedRooms : Rooms {
  constexpr auto operator()() const {
    return together(next(u) = u(0, 0, 0) + change(), sum(u(0, 0, 0)), max(abs(change())));
  }
};

int main() {
  const Index n = 40, wall = n / 2;
  Grid<float> u({n, n, n}, Halo(1), neumann(0)), k({n, n, n}, Halo(1), clamp());
  u.fill([=](Index, Index, Index x) { return x < wall ? 30.0f : 10.0f; });
  // Two cells thick: the face between them is as tight as they are.
  k.fill([=](Index, Index, Index x) { return x == wall - 1 || x == wall ? 0.01f : 1.0f; });

  const Kernel<float> plain = make_kernel<Rooms, float>("rooms");
  const Kernel<float> watched = make_kernel<WatchedRooms, float>("watched rooms");
  std::printf("%s\n%d operations and %d bytes a point\n", to_string(*plain.definition).c_str(),
              plain.view().flops(), plain.view().bytes_per_point(sizeof(float)));

  Stepper<float> run(plain, {u, k}, parse_schedule("diamond width=16 planes=2"));
  Stepper<float> watch(watched, {u, k}, parse_schedule("sweep rows=8 planes=2"));
  run.set(0, 0.15);
  watch.set(0, 0.15);

  bool right = true;
  const double total = 20.0 * double(n * n * n);
  for (int round = 1; round <= 5; ++round) {
    run.run(99);
    watch.run(1);
    const double heat = watch.reduced(0), change = watch.reduced(1);
    std::printf("step %4d: heat per cell %.6f, largest change %.1e\n", 100 * round, heat / double(n * n * n),
                change);
    right &= std::abs(heat / total - 1) < 1e-5;  // float: roundings of 6e-8, some of which add up
  }
  // Within each room it is as warm everywhere; the step lies in the wall.
  std::printf("along x: %.1f .. %.1f | wall | %.1f .. %.1f\n", u(9, 9, 0), u(9, 9, wall - 2),
              u(9, 9, wall + 1), u(9, 9, n - 1));
  right &= u(9, 9, wall - 2) - u(9, 9, wall + 1) > 15 && u(9, 9, 0) - u(9, 9, wall - 2) < 2;

  // What a schedule cannot do it says.
  try {
    Stepper<float>(watched, {u, k}, parse_schedule("diamond width=16"));
    right = false;
  } catch (const spinloom::ArgumentError& e) {
    std::printf("refused: %s\n", e.what());
  }
  return right ? 0 : 1;
}
