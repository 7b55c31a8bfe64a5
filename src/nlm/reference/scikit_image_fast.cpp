#include <cmath>
#include <vector>

#include "nlm/reference/padded.hpp"
#include "nlm/reference/reference.hpp"
#include "nlm/schraudolph.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::reference {
namespace {

/// A neighbour of a cell along the spatial axes that there are, and how it enters a sum.
struct Term {
  int step[nlm_axes];
  int sign;
};

// The order in which the table's recurrence takes its terms, after the new difference; steps are backwards.
const std::vector<Term> recurrence_2d = {{{0, 0, 1, 0}, 1}, {{0, 0, 0, 1}, 1}, {{0, 0, 1, 1}, -1}};
const std::vector<Term> recurrence_3d = {{{0, 1, 0, 0}, 1}, {{0, 0, 1, 0}, 1},  {{0, 0, 0, 1}, 1},
                                         {{0, 1, 1, 1}, 1}, {{0, 1, 1, 0}, -1}, {{0, 0, 1, 1}, -1},
                                         {{0, 1, 0, 1}, -1}};
const std::vector<Term> recurrence_4d = {
    {{1, 0, 0, 0}, 1},  {{0, 1, 0, 0}, 1},  {{0, 0, 1, 0}, 1},  {{0, 0, 0, 1}, 1},  {{0, 1, 1, 1}, 1},
    {{1, 0, 1, 1}, 1},  {{1, 1, 0, 1}, 1},  {{1, 1, 1, 0}, 1},  {{0, 0, 1, 1}, -1}, {{0, 1, 0, 1}, -1},
    {{0, 1, 1, 0}, -1}, {{1, 0, 0, 1}, -1}, {{1, 0, 1, 0}, -1}, {{1, 1, 0, 0}, -1}, {{1, 1, 1, 1}, -1}};

// The order of the corners of a box.
const std::vector<Term> corners_2d = {
    {{0, 0, 1, 1}, 1}, {{0, 0, -1, -1}, 1}, {{0, 0, -1, 1}, -1}, {{0, 0, 1, -1}, -1}};
const std::vector<Term> corners_3d = {{{0, 1, 1, 1}, 1},   {{0, -1, -1, -1}, -1}, {{0, -1, -1, 1}, 1},
                                      {{0, -1, 1, -1}, 1}, {{0, 1, -1, -1}, 1},   {{0, -1, 1, 1}, -1},
                                      {{0, 1, -1, 1}, -1}, {{0, 1, 1, -1}, -1}};
std::vector<Term> corners_4d() {
  std::vector<Term> all;
  for (int t : {-1, 1})
    for (int z : {-1, 1})
      for (int y : {-1, 1})
        for (int x : {-1, 1}) all.push_back({{t, z, y, x}, t * z * y * x});
  return all;
}

/// The same with offsets in cells of a padded image instead of steps.
struct Offset {
  Index cells;
  int sign;
};
std::vector<Offset> offsets(const std::vector<Term>& terms, const Padded& u, Index scale) {
  std::vector<Offset> all;
  for (const Term& term : terms) {
    Index cells = 0;
    for (std::size_t a = 0; a < nlm_axes; ++a) cells += term.step[a] * u.stride[a];
    all.push_back({cells * scale, term.sign});
  }
  return all;
}

double sum_of(const std::vector<Offset>& terms, const double* at, double sum) {
  for (const Offset& term : terms) sum = term.sign > 0 ? sum + at[term.cells] : sum - at[term.cells];
  return sum;
}

}  // namespace

template <class Real>
void scikit_image_fast(const NlmProblem& problem, View<const Real> image, View<Real> result,
                       const Progress& progress) {
  const std::size_t first = nlm_axes - static_cast<std::size_t>(problem.axes);
  const Index o = problem.patch[first] / 2, d = problem.distance[first], channels = problem.channels;
  const Padded u = pad(problem, image, o + d + 1);
  const double norm = problem.norm(problem.h);
  const double variance = problem.sigma * problem.sigma * 2 * static_cast<double>(channels);

  const auto recurrence = offsets(problem.axes == 2   ? recurrence_2d
                                  : problem.axes == 3 ? recurrence_3d
                                                      : recurrence_4d,
                                  u, -1);
  const auto corners = offsets(problem.axes == 2   ? corners_2d
                               : problem.axes == 3 ? corners_3d
                                                   : corners_4d(),
                               u, o);
  const auto cells = static_cast<std::size_t>(u.cells());
  std::vector<double> table(cells, 0.0), weights(cells, 0.0),
      values(cells * static_cast<std::size_t>(channels), 0.0);

  Index done = 0, half_window = d + 1;
  for (Index a = 1; a < problem.axes; ++a) half_window *= 2 * d + 1;
  Box window;
  for (std::size_t a = 0; a < nlm_axes; ++a) window.set(a, -problem.distance[a], problem.distance[a] + 1);
  window.low[3] = 0;
  for_each(window, [&](const Position& t) {
    check_interrupt();
    const Index shift = u.offset(t);
    const double alpha = t[3] == 0 ? 0.5 : 1.0;

    // Cells outside keep what an earlier shift left there.
    Box fresh;
    for (std::size_t a = 0; a < nlm_axes; ++a)
      if (a < first)
        fresh.set(a, 0, 1);
      else
        fresh.set(a, std::max<Index>(1, -t[a]), std::min(u.extent[a], u.extent[a] - t[a]));
    for_each(fresh, [&](const Position& x) {
      const Index at = u.offset(x);
      double difference = 0;
      for (Index c = 0; c < channels; ++c) {
        const double one = u.values[static_cast<std::size_t>(at * channels + c)] -
                           u.values[static_cast<std::size_t>((at + shift) * channels + c)];
        difference = difference + one * one;
      }
      table[static_cast<std::size_t>(at)] =
          sum_of(recurrence, &table[static_cast<std::size_t>(at)], difference - variance);
    });

    Box pairs;
    for (std::size_t a = 0; a < nlm_axes; ++a)
      if (a < first)
        pairs.set(a, 0, 1);
      else
        pairs.set(a, std::max(o, o - t[a]), std::min(u.extent[a] - o, u.extent[a] - o - t[a]));
    for_each(pairs, [&](const Position& p) {
      const auto near = static_cast<std::size_t>(u.offset(p)),
                 far = static_cast<std::size_t>(u.offset(p) + shift);
      const double* at = &table[near];
      // From -0, to which adding changes nothing.
      const double sum = sum_of(corners, at, -0.0);
      const double distance = (0.0 > sum ? 0.0 : sum) / norm;
      if (distance > nlm_cutoff) return;
      const double weight = alpha * schraudolph_exp(-distance);
      weights[near] += weight;
      weights[far] += weight;
      for (std::size_t c = 0, n = static_cast<std::size_t>(channels); c < n; ++c) {
        values[near * n + c] += weight * u.values[far * n + c];
        values[far * n + c] += weight * u.values[near * n + c];
      }
    });
    if (progress)
      progress("non-local means", static_cast<double>(++done) / static_cast<double>(half_window), "");
  });

  Real* to = result.data;
  for_each(u.inside(), [&](const Position& p) {
    const auto at = static_cast<std::size_t>(u.offset(p)), n = static_cast<std::size_t>(channels);
    for (std::size_t c = 0; c < n; ++c) *to++ = static_cast<Real>(values[at * n + c] / weights[at]);
  });
}

template void scikit_image_fast(const NlmProblem&, View<const float>, View<float>, const Progress&);
template void scikit_image_fast(const NlmProblem&, View<const double>, View<double>, const Progress&);

}  // namespace spinloom::reference
