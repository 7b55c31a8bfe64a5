#pragma once
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/domain_stepper.hpp"
#include "spinloom/stencil/stepper.hpp"

/// The heat equation on a grid shared by ranks and on the grid of one, for the benches of both on the host and on GPUs.
namespace spinloom::bench_ranks {

namespace st = spinloom::stencil;

inline constexpr const char* measured = "7-point";

template <class T>
T value(Index z, Index y, Index x) {
  return T(1 + 0.01 * double((7 * z + 3 * y + x) % 101));
}

template <class Stepper>
void set_params(Stepper& s) {
  int p = 0;
  for (const auto& [_, number] : st::find_builtin(measured).params) s.set(p++, number);
}

/// A grid shared by all ranks, and what advances it.
template <class T>
struct Shared {
  std::vector<st::Kernel<T>> chain = st::builtin_kernels<T>(measured);
  st::Domain domain;
  st::DomainGrid<T> u;
  st::DomainStepper<T> stepper;
  Shared(const Shape& shape, const Communicator& c, const char* schedule, int between, st::Exchanging how,
         Device device = {}, const st::DomainOptions& split = {})
      : domain(shape, c, st::rim_of(chain, between), split),
        u(domain, st::dirichlet(1), device),
        stepper((u.fill(value<T>), chain), {u}, st::parse_schedule(schedule), how) {
    set_params(stepper);
  }
};

/// The same on one rank.
template <class T>
struct Alone {
  st::Grid<T> u;
  st::Stepper<T> stepper;
  Alone(const Shape& shape, const char* schedule, Device device = {})
      : u(shape, st::Halo(1), st::dirichlet(1), device),
        stepper(st::builtin_kernels<T>(measured), {u}, st::parse_schedule(schedule)) {
    u.fill(value<T>);
    set_params(stepper);
  }
};

/// Throws when the ranks' grid after some steps is not, bit for bit, what one rank on the host makes of it.
template <class T>
void check_against_one(Shared<T>& several, const Communicator& c, const Shape& shape,
                       const std::string& what) {
  several.stepper.run(30);
  const auto got = several.u.gather();
  c.agree([&] {
    if (c.rank() != 0) return;
    Alone<T> one(shape, "naive");
    one.stepper.run(30);
    const auto expected = one.u.to_array();
    if (std::memcmp(got.data(), expected.data(), sizeof(T) * static_cast<std::size_t>(got.size())) != 0)
      throw NotConverged(fmt::format("bench ranks: {} ranks, {}, differ from one", c.size(), what));
  });
}

}  // namespace spinloom::bench_ranks
