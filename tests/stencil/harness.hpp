#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/stepper.hpp"

/// What the tests of schedules share: random grids with NaN outside, and the bitwise comparison with the reference.
namespace spinloom::stencil::testing {

template <class T>
T random_value(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  if constexpr (std::is_same_v<T, real_of<T>>) {
    return static_cast<T>(uniform(random));
  } else {
    const auto re = static_cast<real_of<T>>(uniform(random)), im = static_cast<real_of<T>>(uniform(random));
    return {re, im};
  }
}

/// Random points, and where a face is `none` a random halo too (all of it: corners are read as well); NaN elsewhere.
template <class T>
void randomise(Grid<T>& grid, unsigned seed) {
  std::mt19937 random(seed);
  const GridLayout& g = grid.layout();
  grid.poison_outside();
  const auto holds = [](Boundary::Kind kind) { return kind == Boundary::Kind::none; };
  bool any = false;
  for (std::size_t a = 0; a < 3; ++a)
    any |= holds(grid.boundaries().low[a].kind) || holds(grid.boundaries().high[a].kind);
  const Index h = any ? 1 : 0;
  for (Index z = -h * g.halo.low[0]; z < g.n[0] + h * g.halo.high[0]; ++z)
    for (Index y = -h * g.halo.low[1]; y < g.n[1] + h * g.halo.high[1]; ++y)
      for (Index x = -h * g.halo.low[2]; x < g.n[2] + h * g.halo.high[2]; ++x)
        grid(z, y, x) = random_value<T>(random);
}

template <class T>
std::string first_difference(const Grid<T>& got, const Grid<T>& expected) {
  const auto& n = got.layout().n;
  for (Index z = 0; z < n[0]; ++z)
    for (Index y = 0; y < n[1]; ++y)
      for (Index x = 0; x < n[2]; ++x)
        if (std::memcmp(&got(z, y, x), &expected(z, y, x), sizeof(T)) != 0) {
          std::ostringstream text;
          text << "at (" << z << "," << y << "," << x << ") of (" << n[0] << "," << n[1] << "," << n[2]
               << "): " << got(z, y, x) << " instead of " << expected(z, y, x);
          return text.str();
        }
  return "";
}

/// A problem to run by a schedule and by the reference: a chain of kernels, its grids' shape and boundaries.
template <class T>
struct Problem {
  std::vector<Kernel<T>> chain;
  Shape shape;
  std::array<std::pair<Boundary, Boundary>, 3> faces;  ///< per axis of the shape
  std::vector<double> params;
  Index steps = 1;
  unsigned seed = 1;

  std::vector<Definition> definitions() const {
    std::vector<Definition> d;
    for (const auto& k : chain) d.push_back(*k.definition);
    return d;
  }
  Halo halo() const {
    Halo h;
    for (const auto& k : chain) {
      const Halo one(k.view().reach());
      for (std::size_t a = 0; a < 3; ++a) {
        h.low[a] = std::max(h.low[a], one.low[a]);
        h.high[a] = std::max(h.high[a], one.high[a]);
      }
    }
    return h;
  }
  /// Current grids of all fields, then those of the step before.
  std::vector<Grid<T>> make_grids() const {
    int fields = 0;
    for (const auto& k : chain) fields = std::max(fields, k.view().fields());
    std::vector<Grid<T>> grids;
    for (int f = 0; f < 2 * fields; ++f) {
      grids.emplace_back(shape, halo());
      for (std::size_t a = 0; a < shape.size(); ++a)
        grids.back().set_boundary(static_cast<int>(a), faces[a].first, faces[a].second);
      randomise(grids.back(), seed + static_cast<unsigned>(f));
    }
    return grids;
  }
  std::vector<FieldGrids<T>> bind(std::vector<Grid<T>>& grids) const {
    std::vector<FieldGrids<T>> fields;
    const std::size_t half = grids.size() / 2;
    for (std::size_t f = 0; f < half; ++f) {
      bool previous = false;
      for (const auto& k : chain) previous |= k.view().reads(static_cast<int>(f), TimeLevel::previous);
      fields.push_back(previous ? FieldGrids<T>(grids[f], grids[half + f]) : FieldGrids<T>(grids[f]));
    }
    return fields;
  }
  std::vector<Boundaries> boundaries() const {
    std::vector<Boundaries> b;
    for (auto& grid : make_grids()) b.push_back(grid.boundaries());
    b.resize(b.size() / 2);
    return b;
  }
  std::vector<Grid<T>> by_reference() const {
    auto grids = make_grids();
    run_reference(definitions(), bind(grids), params, steps);
    return grids;
  }
  std::vector<Grid<T>> by(const Schedule& schedule) const {
    auto grids = make_grids();
    Stepper<T> stepper(chain, bind(grids), schedule);
    for (std::size_t p = 0; p < params.size(); ++p) stepper.set(static_cast<int>(p), params[p]);
    // In two calls, so that a run that goes on is seen to be right too.
    stepper.run(steps / 2);
    stepper.run(steps - steps / 2);
    return grids;
  }
};

/// Every field equals the reference's bit by bit, halos apart.
template <class T>
void expect_equal(const std::vector<Grid<T>>& got, const std::vector<Grid<T>>& expected,
                  const std::string& what) {
  for (std::size_t f = 0; f < got.size(); ++f) {
    const std::string difference = first_difference(got[f], expected[f]);
    ASSERT_EQ(difference, "") << what << ", field " << f;
  }
}

}  // namespace spinloom::stencil::testing
