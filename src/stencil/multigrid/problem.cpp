#include <fmt/format.h>

#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/state.hpp"

namespace spinloom::stencil {
namespace multigrid {

template <class T>
void check_problem(const PoissonProblem<T>& p) {
  const std::size_t rank = p.shape.size();
  if (rank != 2 && rank != 3)
    throw ShapeError(fmt::format("poisson: the grid has shape {}, expected [z, y, x] or [y, x]",
                                 spinloom::to_string(p.shape)));
  const Index cells = count(p.shape);
  const auto per_axis = [&](const char* what, std::size_t got) {
    if (got != 0 && got != rank)
      throw ArgumentError(fmt::format("poisson: {} {} for a grid of {} axes, expected one per axis or none",
                                      got, what, rank));
  };
  per_axis("spacings", p.spacing.size());
  per_axis("low faces", p.low.size());
  per_axis("high faces", p.high.size());
  for (const double h : p.spacing)
    if (!(h > 0 && std::isfinite(h) && std::isfinite(1 / (h * h)) && 1 / (h * h) > 0))
      throw ArgumentError(fmt::format("poisson: spacing {}, expected a positive finite length", h));
  if (!(p.screening >= 0 && std::isfinite(p.screening)))
    throw ArgumentError(fmt::format("poisson: screening {}, expected a finite number >= 0", p.screening));
  for (std::size_t a = 0; a < rank; ++a) {
    const Boundary low = p.low.empty() ? neumann(0) : p.low[a],
                   high = p.high.empty() ? neumann(0) : p.high[a];
    for (const Boundary& b : {low, high}) {
      using Kind = Boundary::Kind;
      if (b.kind != Kind::dirichlet && b.kind != Kind::neumann && b.kind != Kind::periodic)
        throw ArgumentError(fmt::format(
            "poisson: a face of axis {} is '{}', expected dirichlet, neumann or periodic", a, to_string(b)));
      if (!std::isfinite(b.value))
        throw ArgumentError(
            fmt::format("poisson: a face of axis {} has the value {}, expected a finite one", a, b.value));
    }
    if ((low.kind == Boundary::Kind::periodic) != (high.kind == Boundary::Kind::periodic))
      throw ArgumentError(
          fmt::format("poisson: axis {} is periodic on one face only; give periodic() for both or none", a));
  }
  const auto sized = [&](const char* what, std::size_t got, Index expected) {
    if (got != 0 && got != static_cast<std::size_t>(expected))
      throw ShapeError(fmt::format("poisson: {} of {} elements for a grid of shape {}, expected {}", what,
                                   got, spinloom::to_string(p.shape), expected));
  };
  sized("a mask", p.mask.size(), cells);
  sized("weights", p.weights.size(), cells * Index(rank));
  for (const T w : p.weights)
    if (!(w >= 0 && std::isfinite(w)))
      throw ArgumentError(fmt::format("poisson: a weight of {}, expected finite numbers >= 0", double(w)));
}

namespace {

/// The mean over each singular part, 0 for the others, in the order that a GPU has too: a chunk of cells in sums by
/// turns, chunks by sum_of().
template <class T>
std::vector<double> means_of(const Level<T>& l, const Parts& parts, const T* field) {
  const Layout& g = l.layout;
  if (parts.label.empty()) return {0, parts.singular > 0 ? sum(l, field) / double(g.cells()) : 0};
  std::vector<double> means(static_cast<std::size_t>(parts.count + 1));
  if (parts.singular == 0) return means;
  const auto part_of = [&](std::size_t p) { return std::pair(parts.first[p], parts.first[p + 1]); };
  for (std::size_t p = 1; p < means.size(); ++p) {
    const auto [first, end] = part_of(p);
    if (first == end) continue;
    std::vector<double> chunks(static_cast<std::size_t>((end - first + chunk_cells - 1) / chunk_cells));
    parallel_blocks(Index(chunks.size()), 32, [&, first = first, end = end](Index from, Index to, int) {
      for (Index c = from; c < to; ++c) {
        std::array<double, chunk_lanes> part{};
        for (Index i = 0; i < chunk_cells && first + c * chunk_cells + i < end; ++i) {
          const Index cell = parts.cells[static_cast<std::size_t>(first + c * chunk_cells + i)];
          part[static_cast<std::size_t>(i % chunk_lanes)] +=
              double(field[place(g, cell / g.n[2] / g.n[1], cell / g.n[2] % g.n[1], cell % g.n[2])]);
        }
        for (std::size_t half = chunk_lanes / 2; half > 0; half /= 2)
          for (std::size_t i = 0; i < half; ++i) part[i] += part[i + half];
        chunks[static_cast<std::size_t>(c)] = part[0];
      }
    });
    means[p] = sum_of(chunks) / double(end - first);
  }
  return means;
}

}  // namespace

double removed_by(const Parts& parts, Index cells, const std::vector<double>& means) {
  double removed = 0;
  for (std::size_t p = 1; p < means.size(); ++p)
    removed += (parts.first.empty() ? double(cells) : double(parts.first[p + 1] - parts.first[p])) *
               means[p] * means[p];
  return removed;
}

template <class T>
double remove_means(const typename Multigrid<T>::State& s, T* field) {
  const Parts& parts = s.parts;
  const Layout& g = s.levels[0].layout;
  if (parts.label.empty() && parts.singular == 0) return 0;
  const std::vector<double> mean = means_of(s.levels[0], parts, field);
  const double removed = removed_by(parts, g.cells(), mean);
  parallel_blocks(g.n[0] * g.n[1], std::max<Index>(1, (Index{1} << 15) / std::max<Index>(1, g.n[2])),
                  [&](Index begin, Index end, int) {
                    for (Index r = begin; r < end; ++r)
                      for (Index x = 0; x < g.n[2]; ++x) {
                        T& value = field[place(g, r / g.n[1], r % g.n[1], x)];
                        const std::size_t part =
                            parts.label.empty() ? 1 : parts.label[static_cast<std::size_t>(r * g.n[2] + x)];
                        value = part == 0 ? T(0) : T(double(value) - mean[part]);
                      }
                  });
  return removed;
}

template void check_problem(const PoissonProblem<float>&);
template void check_problem(const PoissonProblem<double>&);
template double remove_means<float>(const Multigrid<float>::State&, float*);
template double remove_means<double>(const Multigrid<double>::State&, double*);

}  // namespace multigrid

template <class Real>
Multigrid<Real>::State::State(PoissonProblem<Real> p) : problem(std::move(p)) {
  multigrid::check_problem(problem);
  levels = multigrid::make_levels(problem);
  parts = multigrid::find_parts(problem, levels[0]);
  using Work = multigrid::Workspace<Real>;
  cycles = std::make_shared<ScratchPool>(Work::bytes(levels, 0));
  gradients = std::make_shared<ScratchPool>(Work::bytes(levels, 3));
}

template <class Real>
Multigrid<Real>::Multigrid(PoissonProblem<Real> problem)
    : state_(std::make_shared<const State>(std::move(problem))) {}

template <class Real>
const Shape& Multigrid<Real>::shape() const {
  return state_->problem.shape;
}

template <class Real>
std::vector<Shape> Multigrid<Real>::levels() const {
  std::vector<Shape> all;
  for (const auto& l : state_->levels) {
    const auto& n = l.layout.n;
    all.push_back(shape().size() == 2 ? Shape{n[1], n[2]} : Shape{n[0], n[1], n[2]});
  }
  return all;
}

template <class Real>
std::vector<Real> face_weights(const Shape& shape, View<const Real> quality) {
  if (shape.size() != 2 && shape.size() != 3)
    throw ShapeError(
        fmt::format("face_weights: shape {}, expected [z, y, x] or [y, x]", spinloom::to_string(shape)));
  require_shape("face_weights", "quality", quality.shape, shape);
  const Index cells = count(shape);
  std::vector<Real> weights(static_cast<std::size_t>(cells * Index(shape.size())));
  Index stride = cells;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    stride /= std::max<Index>(1, shape[a]);
    for (Index i = 0; i < cells; ++i) {
      const Index at = i / stride % shape[a], next = at + 1 < shape[a] ? i + stride : i - at * stride;
      const Real low = quality[i] * quality[i], high = quality[next] * quality[next];
      weights[static_cast<std::size_t>(Index(a) * cells + i)] = low < high ? low : high;
    }
  }
  return weights;
}

template Multigrid<float>::State::State(PoissonProblem<float>);
template Multigrid<double>::State::State(PoissonProblem<double>);
template Multigrid<float>::Multigrid(PoissonProblem<float>);
template Multigrid<double>::Multigrid(PoissonProblem<double>);
template const Shape& Multigrid<float>::shape() const;
template const Shape& Multigrid<double>::shape() const;
template std::vector<Shape> Multigrid<float>::levels() const;
template std::vector<Shape> Multigrid<double>::levels() const;
template std::vector<float> face_weights(const Shape&, View<const float>);
template std::vector<double> face_weights(const Shape&, View<const double>);

}  // namespace spinloom::stencil
