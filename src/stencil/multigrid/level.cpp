#include "stencil/multigrid/level.hpp"

#include <algorithm>

#include "spinloom/runtime/threads.hpp"

namespace spinloom::stencil::multigrid {
namespace {

using Place = std::array<Index, 3>;

/// Coupling through the lower face of a cell along axis a; index n stands for the upper face of the last cell.
template <class T>
T face_of(const Level<T>& l, std::size_t a, const Place& at) {
  if (l.is_weighted) return l.faces[a][static_cast<std::size_t>(place(l.layout, at[0], at[1], at[2]))];
  if (l.periodic[a] || (at[a] > 0 && at[a] < l.layout.n[a])) return T(l.coupling[a]);
  return T(l.wall[a][at[a] == 0 ? 0 : 1]);
}

/// Calls body(z, y) for all rows of a box, of `length` cells each.
template <class Body>
void for_rows(Index planes, Index rows, Index length, const Body& body) {
  parallel_blocks(planes * rows, std::max<Index>(1, (Index{1} << 13) / std::max<Index>(1, length)),
                  [&](Index begin, Index end, int) {
                    for (Index r = begin; r < end; ++r) body(r / rows, r % rows);
                  });
}

/// Calls body(axis, cell) for every face: the lower ones of all cells and the upper ones of the last.
template <class Body>
void for_faces(const Layout& l, const Body& body) {
  for (std::size_t a = 0; a < 3; ++a)
    for_rows(l.n[0] + (a == 0), l.n[1] + (a == 1), l.n[2], [&](Index z, Index y) {
      for (Index x = 0; x < l.n[2] + (a == 2); ++x) body(a, Place{z, y, x});
    });
}

template <class T>
void finish_uniform(Level<T>& l) {
  const Layout& g = l.layout;
  l.diagonal.assign(static_cast<std::size_t>(16 * g.row), T(0));
  l.inverse = l.diagonal;
  const auto both = [&](std::size_t a, bool first, bool end) {
    const double c = l.coupling[a];
    return (first && !l.periodic[a] ? l.wall[a][0] : c) + (end && !l.periodic[a] ? l.wall[a][1] : c);
  };
  for (Index kind = 0; kind < 16; ++kind)
    for (Index x = 0; x < g.n[2]; ++x) {
      const double d = both(0, (kind & 4) != 0, (kind & 8) != 0) + both(1, (kind & 1) != 0, (kind & 2) != 0) +
                       both(2, x == 0, x == g.n[2] - 1) + l.screening;
      const std::size_t i = static_cast<std::size_t>(kind * g.row + g.guard + (x & 1) * g.half + x / 2);
      l.diagonal[i] = T(d);
      l.inverse[i] = d > 0 ? T(1 / d) : T(0);
    }
}

/// Diagonal and links of a level whose faces are known.
template <class T>
void finish_weighted(Level<T>& l) {
  const Layout& g = l.layout;
  l.diagonal.assign(static_cast<std::size_t>(g.size), T(0));
  l.inverse = l.diagonal;
  for_rows(g.n[0], g.n[1], g.n[2], [&](Index z, Index y) {
    for (Index x = 0; x < g.n[2]; ++x) {
      const auto at = [&](Index dz, Index dy, Index dx) {
        return static_cast<std::size_t>(place(g, z + dz, y + dy, x + dx));
      };
      const std::size_t i = at(0, 0, 0);
      const double d = (double(l.faces[0][i]) + double(l.faces[0][at(1, 0, 0)])) +
                       (double(l.faces[1][i]) + double(l.faces[1][at(0, 1, 0)])) +
                       (double(l.faces[2][i]) + double(l.faces[2][at(0, 0, 1)])) +
                       (l.mass.empty() ? 0.0 : double(l.mass[i]));
      l.diagonal[i] = T(d);
      l.inverse[i] = d > 0 ? T(1 / d) : T(0);
    }
  });
  for (auto& link : l.links)
    link.assign(static_cast<std::size_t>((g.n[0] + 1) * (g.n[1] + 1) * l.link_row()), T(0));
  for_faces(g, [&](std::size_t a, const Place& at) {
    l.links[a][static_cast<std::size_t>(l.link_at(at[0], at[1]) + at[2])] =
        face_of(l, a, at) > 0 ? T(1) : T(0);
  });
}

template <class T>
Level<T> make_finest(const PoissonProblem<T>& p) {
  Level<T> l;
  const std::size_t rank = p.shape.size(), first = 3 - rank;
  std::array<Index, 3> n{1, 1, 1};
  std::copy(p.shape.begin(), p.shape.end(), n.begin() + static_cast<std::ptrdiff_t>(first));
  l.layout = Layout(n, sizeof(T));
  for (std::size_t a = first; a < 3; ++a) {
    const double h = p.spacing.empty() ? 1 : p.spacing[a - first];
    const Boundary low = p.low.empty() ? neumann(0) : p.low[a - first],
                   high = p.high.empty() ? neumann(0) : p.high[a - first];
    l.coupling[a] = 1 / (h * h);
    l.periodic[a] = low.kind == Boundary::Kind::periodic && n[a] > 1;
    if (low.kind == Boundary::Kind::dirichlet) l.wall[a][0] = 2 * l.coupling[a];
    if (high.kind == Boundary::Kind::dirichlet) l.wall[a][1] = 2 * l.coupling[a];
  }
  l.screening = p.screening;
  const bool all_in = std::all_of(p.mask.begin(), p.mask.end(), [](unsigned char m) { return m != 0; });
  if (all_in && p.weights.empty()) {
    finish_uniform(l);
    return l;
  }
  const auto is_in = [&](const Place& at) {
    return p.mask.empty() || p.mask[static_cast<std::size_t>((at[0] * n[1] + at[1]) * n[2] + at[2])] != 0;
  };
  std::array<std::vector<T>, 3> faces;
  for (auto& f : faces) f.assign(static_cast<std::size_t>(l.layout.size), T(0));
  for_faces(l.layout, [&](std::size_t a, const Place& at) {
    Place cell = at, before = at;
    if (at[a] == n[a]) cell[a] = l.periodic[a] ? 0 : n[a] - 1;
    before[a] = at[a] > 0 ? at[a] - 1 : l.periodic[a] ? n[a] - 1 : 0;
    if (!is_in(cell) || !is_in(before)) return;
    const bool is_wall = !l.periodic[a] && (at[a] == 0 || at[a] == n[a]);
    double w = face_of(l, a, at);
    if (!is_wall && !p.weights.empty())
      w *= double(p.weights[static_cast<std::size_t>(
          (((Index(a) - Index(first)) * n[0] + before[0]) * n[1] + before[1]) * n[2] + before[2])]);
    faces[a][static_cast<std::size_t>(place(l.layout, at[0], at[1], at[2]))] = T(w);
  });
  if (p.screening > 0) {
    l.mass.assign(static_cast<std::size_t>(l.layout.size), T(0));
    for_rows(n[0], n[1], n[2], [&](Index z, Index y) {
      for (Index x = 0; x < n[2]; ++x)
        if (is_in({z, y, x})) l.mass[static_cast<std::size_t>(place(l.layout, z, y, x))] = T(p.screening);
    });
  }
  l.faces = std::move(faces);
  l.is_weighted = true;
  finish_weighted(l);
  return l;
}

/// Chooses the axes to halve; false when the level is the last.
template <class T>
bool choose_axes(Level<T>& l) {
  double strongest = 0;
  for (std::size_t a = 0; a < 3; ++a)
    if (l.layout.n[a] > 1) strongest = std::max(strongest, l.coupling[a]);
  bool any = false;
  // Relaxation smooths along an axis that couples a few times weaker than the strongest hardly at all: there the
  // resolution is kept until the others have caught up.
  for (std::size_t a = 0; a < 3; ++a)
    any |= l.coarsening[a].halves = l.layout.n[a] > 1 && l.coupling[a] >= 0.25 * strongest;
  return any;
}

template <class T>
void tabulate(Level<T>& l, std::size_t a) {
  Coarsening<T>& c = l.coarsening[a];
  const Index n = l.layout.n[a], coarse = c.halves ? (n + 1) / 2 : n;
  c.toward.assign(static_cast<std::size_t>(n), T(0));
  c.shorter.assign(static_cast<std::size_t>(coarse + 1), 1.0);
  if (!c.halves) return;
  const auto fine_width = [&](Index i) { return i == n - 1 ? l.last[a] : 1.0; };
  const auto width = [&](Index i) {
    return fine_width(2 * i) + (2 * i + 1 < n ? fine_width(2 * i + 1) : 0.0);
  };
  const bool closes = l.periodic[a] && coarse > 1;
  for (Index i = 0; i <= coarse; ++i) {
    double& s = c.shorter[static_cast<std::size_t>(i)];
    if (i > 0 && i < coarse)
      s = (fine_width(2 * i - 1) + fine_width(2 * i)) / (width(i - 1) + width(i));
    else if (l.periodic[a])  // a ring of one cell no longer couples to itself
      s = closes ? (fine_width(n - 1) + fine_width(0)) / (width(coarse - 1) + width(0)) : 0.0;
    else
      s = i == 0 ? fine_width(0) / width(0) : fine_width(n - 1) / width(coarse - 1);
  }
  for (Index i = 0; i < n; ++i) {
    const bool upper = i % 2 != 0;
    const Index sibling = upper ? i - 1 : i + 1, own = i / 2, other = upper ? own + 1 : own - 1;
    if (sibling >= n) continue;  // alone in its coarse cell, at its centre
    const double off = fine_width(sibling) / 2;
    double distance = 0;
    if (other >= 0 && other < coarse)
      distance = (width(own) + width(other)) / 2;
    else if (closes)
      distance = (width(own) + width(upper ? 0 : coarse - 1)) / 2;
    else if (l.is_weighted || l.wall[a][upper ? 1 : 0] > 0)  // with weights, links tell which walls there are
      distance = width(own) / 2;
    if (distance > 0) c.toward[static_cast<std::size_t>(i)] = T(off / distance);
  }
}

template <class T>
Level<T> make_coarser(const Level<T>& fine) {
  Level<T> l;
  const auto& n = fine.layout.n;
  std::array<Index, 3> m{};
  double cells = 1;  // fine cells of a coarse one
  bool is_uniform = !fine.is_weighted;
  for (std::size_t a = 0; a < 3; ++a) {
    const bool halves = fine.coarsening[a].halves;
    m[a] = halves ? (n[a] + 1) / 2 : n[a];
    l.last[a] = !halves ? fine.last[a] : n[a] % 2 == 0 ? (1 + fine.last[a]) / 2 : fine.last[a] / 2;
    if (halves) cells *= 2;
    is_uniform &= l.last[a] == 1;
    l.periodic[a] = fine.periodic[a] && m[a] > 1;
  }
  l.layout = Layout(m, sizeof(T));
  for (std::size_t a = 0; a < 3; ++a) {
    const double scale = fine.coarsening[a].halves ? cells / 4 : cells;
    l.coupling[a] = fine.coupling[a] * scale;
    l.wall[a] = {fine.wall[a][0] * scale, fine.wall[a][1] * scale};
  }
  l.screening = fine.screening * cells;
  if (is_uniform) {
    finish_uniform(l);
    return l;
  }
  l.is_weighted = true;
  // The fine cells of coarse cell i along axis a, or the one beyond all.
  const auto children = [&](std::size_t a, Index i) -> std::array<Index, 2> {
    return fine.coarsening[a].halves ? std::array<Index, 2>{2 * i, std::min(2 * i + 2, n[a])}
                                     : std::array<Index, 2>{i, i + 1};
  };
  for (auto& f : l.faces) f.assign(static_cast<std::size_t>(l.layout.size), T(0));
  for_faces(l.layout, [&](std::size_t a, const Place& at) {
    std::array<std::array<Index, 2>, 3> range;
    for (std::size_t b = 0; b < 3; ++b) range[b] = children(b, at[b]);
    const Index first = at[a] == m[a] ? n[a] : range[a][0];
    range[a] = {first, first + 1};
    double sum = 0;
    for (Index z = range[0][0]; z < range[0][1]; ++z)
      for (Index y = range[1][0]; y < range[1][1]; ++y)
        for (Index x = range[2][0]; x < range[2][1]; ++x) sum += double(face_of(fine, a, {z, y, x}));
    l.faces[a][static_cast<std::size_t>(place(l.layout, at[0], at[1], at[2]))] =
        T(sum * fine.coarsening[a].shorter[static_cast<std::size_t>(at[a])]);
  });
  if (l.screening > 0) {
    l.mass.assign(static_cast<std::size_t>(l.layout.size), T(0));
    for_rows(m[0], m[1], m[2], [&](Index z, Index y) {
      const auto zs = children(0, z), ys = children(1, y);
      for (Index x = 0; x < m[2]; ++x) {
        const auto xs = children(2, x);
        double sum = 0;
        for (Index k = zs[0]; k < zs[1]; ++k)
          for (Index j = ys[0]; j < ys[1]; ++j)
            for (Index i = xs[0]; i < xs[1]; ++i)
              sum += fine.is_weighted
                         ? double(fine.mass[static_cast<std::size_t>(place(fine.layout, k, j, i))])
                         : fine.screening;
        l.mass[static_cast<std::size_t>(place(l.layout, z, y, x))] = T(sum);
      }
    });
  }
  finish_weighted(l);
  return l;
}

}  // namespace

template <class T>
std::vector<Level<T>> make_levels(const PoissonProblem<T>& problem) {
  std::vector<Level<T>> levels;
  levels.push_back(make_finest(problem));
  while (levels.back().layout.cells() > 0 && choose_axes(levels.back())) {
    for (std::size_t a = 0; a < 3; ++a) tabulate(levels.back(), a);
    levels.push_back(make_coarser(levels.back()));
  }
  return levels;
}
template std::vector<Level<float>> make_levels(const PoissonProblem<float>&);
template std::vector<Level<double>> make_levels(const PoissonProblem<double>&);

}  // namespace spinloom::stencil::multigrid
