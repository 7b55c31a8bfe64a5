#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/stepper.hpp"

/// What the benches of stencils on the host and on a GPU share.
namespace spinloom::bench_stencil {

namespace st = spinloom::stencil;

/// A stencil's grids with values near 1, so that no run ends in numbers too small to be fast.
template <class T>
struct Fields {
  std::vector<st::Grid<T>> grids;
  std::vector<st::FieldGrids<T>> bound;
  Fields(const st::ProgramView& p, const Shape& shape, Device device = {}) {
    for (int f = 0; f < p.fields(); ++f)
      for (const auto level : {st::TimeLevel::current, st::TimeLevel::previous}) {
        if (level == st::TimeLevel::previous && !p.reads(f, level)) continue;
        grids.emplace_back(shape, st::Halo(p.reach()), st::dirichlet(f == 0 ? 1 : 0), device);
        const double scale = f == 0 ? 0.01 : 1e-6, base = f == 0 ? 1 : 0;
        const auto value = [=](Index z, Index y, Index x) {
          return T(base + scale * double((7 * z + 3 * y + x) % 101));
        };
        if (shape.size() == 3)
          grids.back().fill(value);
        else
          grids.back().fill([=](Index y, Index x) { return value(y, 0, x); });
      }
    std::size_t g = 0;
    for (int f = 0; f < p.fields(); ++f)
      if (p.reads(f, st::TimeLevel::previous)) {
        bound.push_back({grids[g], grids[g + 1]});
        g += 2;
      } else {
        bound.push_back({grids[g++]});
      }
  }
};

template <class T>
st::Stepper<T> make_stepper(const std::string& name, Fields<T>& fields, const std::string& schedule) {
  st::Stepper<T> s(st::builtin_kernels<T>(name), fields.bound, st::parse_schedule(schedule));
  int p = 0;
  for (const auto& [_, value] : st::find_builtin(name).params) s.set(p++, value);
  return s;
}

/// Throws unless a schedule gives, on grids of this shape on `device`, the bits of the naive one on the host.
template <class T>
void check_schedule(const std::string& name, const Shape& shape, const std::string& schedule, Index steps,
                    Device device = {}) {
  const auto kernels = st::builtin_kernels<T>(name);  // a view lives as long as these
  const auto view = kernels[0].view();
  Fields<T> expected(view, shape), got(view, shape, device);
  make_stepper<T>(name, expected, "naive").run(steps);
  make_stepper<T>(name, got, schedule).run(steps);
  for (std::size_t f = 0; f < got.grids.size(); ++f) {
    const auto a = got.grids[f].to_array(), b = expected.grids[f].to_array();
    if (std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.size())) != 0)
      throw NotConverged(fmt::format("bench stencil: {} by '{}' differs from the naive schedule on the host",
                                     name, schedule));
  }
}

}  // namespace spinloom::bench_stencil
