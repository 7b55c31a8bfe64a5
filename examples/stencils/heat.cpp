// Lesson 1: the heat equation, du/dt = lap u, in a box with cold walls.
//
// A stencil says what each point becomes; a grid says what lies outside of its faces; a schedule says how the work is
// carried out. The lesson: schedules change the time that a run takes and not one bit of it, and the error falls with the
// square of the spacing, as it must.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>

#include "spinloom/stencil/stepper.hpp"

using namespace spinloom::stencil;
using spinloom::Index;

// What: next u = u + r (sum of the 6 neighbours - 6 u), r = time step / spacing^2. Offsets are in the order z, y, x.
struct Heat {
  static constexpr Field<0> u{};
  static constexpr Param<0> r{};
  constexpr auto operator()() const {
    const auto neighbours =
        ((u(0, 0, -1) + u(0, 0, 1)) + (u(0, -1, 0) + u(0, 1, 0))) + (u(-1, 0, 0) + u(1, 0, 0));
    return next(u) = u(0, 0, 0) + r * (neighbours - 6.0 * u(0, 0, 0));
  }
};
static_assert(traits<Heat>.radius() == 1 && traits<Heat>.bytes_per_point<double>() == 16);

// sin(pi x) sin(pi y) sin(pi z) keeps its shape and decays as exp(-3 pi^2 t). Points 0 .. n - 1 lie between the walls,
// which are the cells -1 and n.
double solution(double time, Index n, Index z, Index y, Index x) {
  const auto wave = [n](Index i) { return std::sin(std::numbers::pi * double(i + 1) / double(n + 1)); };
  return std::exp(-3 * std::numbers::pi * std::numbers::pi * time) * wave(z) * wave(y) * wave(x);
}

struct Cooled {
  Grid<double> u;
  double error, seconds;
};
Cooled cool(Index n, double duration, const std::string& schedule) {
  const double r = 0.1, spacing = 1.0 / double(n + 1);
  const auto steps = Index(std::lround(duration / (r * spacing * spacing)));
  Grid<double> u({n, n, n}, Halo(traits<Heat>.reach()), dirichlet(0));
  u.fill([n](Index z, Index y, Index x) { return solution(0, n, z, y, x); });

  Stepper<double> heat(make_kernel<Heat, double>("heat"), {u}, parse_schedule(schedule));
  heat.set(0, r);
  const auto begin = std::chrono::steady_clock::now();
  heat.run(steps);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  double error = 0;
  const double time = double(steps) * r * spacing * spacing;
  for (Index z = 0; z < n; ++z)
    for (Index y = 0; y < n; ++y)
      for (Index x = 0; x < n; ++x)
        error = std::max(error, std::abs(u(z, y, x) - solution(time, n, z, y, x)));
  return {std::move(u), error, seconds};
}

int main() {
  bool right = true;

  const double coarse = cool(15, 0.025, "naive").error, fine = cool(31, 0.025, "naive").error;
  const double order = std::log2(coarse / fine);
  std::printf("error with spacing 1/16: %.2e, 1/32: %.2e, order %.2f\n", coarse, fine, order);
  right &= std::abs(order - 2) < 0.1;

  const Cooled plain = cool(95, 1e-3, "naive");
  const auto expected = plain.u.to_array();
  std::printf("%-40s %6.3f s\n", "naive", plain.seconds);
  for (const char* schedule :
       {"sweep rows=16 planes=4", "overlapped steps=4 rows=32 planes=4", "diamond width=16 planes=4"}) {
    const Cooled other = cool(95, 1e-3, schedule);
    const auto values = other.u.to_array();
    const bool same =
        std::memcmp(values.data(), expected.data(), sizeof(double) * std::size_t(values.size())) == 0;
    std::printf("%-40s %6.3f s, %s\n", schedule, other.seconds, same ? "the same bits" : "OTHER BITS");
    right &= same;
  }
  return right ? 0 : 1;
}
