#include <limits>
#include <numeric>

#include "spinloom/core/error.hpp"
#include "stencil/multigrid/level.hpp"

namespace spinloom::stencil::multigrid {
namespace {

/// The smallest cell of the part that `cell` belongs to; shortens the way there.
unsigned root_of(std::vector<unsigned>& parent, unsigned cell) {
  while (parent[cell] != cell) cell = parent[cell] = parent[parent[cell]];
  return cell;
}
void join(std::vector<unsigned>& parent, Index a, Index b) {
  const unsigned ra = root_of(parent, static_cast<unsigned>(a)),
                 rb = root_of(parent, static_cast<unsigned>(b));
  if (ra < rb)
    parent[rb] = ra;
  else
    parent[ra] = rb;
}

/// Sorts the cells of singular parts by part.
void list_cells(Parts& parts) {
  const std::size_t labels = parts.is_singular.size();
  parts.first.assign(labels + 1, 0);
  for (const unsigned p : parts.label)
    if (parts.is_singular[p]) ++parts.first[p + 1];
  std::partial_sum(parts.first.begin(), parts.first.end(), parts.first.begin());
  parts.cells.resize(static_cast<std::size_t>(parts.first.back()));
  std::vector<Index> next(parts.first);
  for (std::size_t c = 0; c < parts.label.size(); ++c)
    if (const unsigned p = parts.label[c]; parts.is_singular[p])
      parts.cells[static_cast<std::size_t>(next[p]++)] = static_cast<unsigned>(c);
}

}  // namespace

template <class T>
Parts find_parts(const PoissonProblem<T>& problem, const Level<T>& finest) {
  Parts parts;
  const Layout& g = finest.layout;
  const auto& n = g.n;
  if (!finest.is_weighted) {
    double held = finest.screening;
    for (std::size_t a = 0; a < 3; ++a) held += finest.wall[a][0] + finest.wall[a][1];
    parts.is_singular = {0, static_cast<char>(held == 0)};
    parts.singular = held == 0 && g.cells() > 0 ? 1 : 0;
    return parts;
  }
  if (g.cells() >= Index(std::numeric_limits<unsigned>::max()))
    throw ArgumentError("poisson: a mask or weights on more than 2^32 - 2 cells; cut the problem into parts");
  std::vector<unsigned> parent(static_cast<std::size_t>(g.cells()));
  std::iota(parent.begin(), parent.end(), 0u);
  const auto face = [&](std::size_t a, Index z, Index y, Index x) {
    return finest.faces[a][static_cast<std::size_t>(place(g, z, y, x))] > 0;
  };
  const Index strides[3] = {n[1] * n[2], n[2], 1};
  const auto visit = [&](const auto& body) {
    Index cell = 0;
    for (Index z = 0; z < n[0]; ++z)
      for (Index y = 0; y < n[1]; ++y)
        for (Index x = 0; x < n[2]; ++x, ++cell) body(std::array<Index, 3>{z, y, x}, cell);
  };
  visit([&](const std::array<Index, 3>& at, Index cell) {
    for (std::size_t a = 0; a < 3; ++a) {
      if (!face(a, at[0], at[1], at[2])) continue;
      if (at[a] > 0)
        join(parent, cell, cell - strides[a]);
      else if (finest.periodic[a])
        join(parent, cell, cell + (n[a] - 1) * strides[a]);
    }
  });
  parts.label.assign(parent.size(), 0);
  parts.is_singular = {0};
  parts.count = 0;
  visit([&](const std::array<Index, 3>& at, Index cell) {
    const std::size_t c = static_cast<std::size_t>(cell);
    if (!problem.mask.empty() && problem.mask[c] == 0) return;
    const unsigned root = root_of(parent, static_cast<unsigned>(cell));
    if (root == cell) {
      parts.label[c] = static_cast<unsigned>(++parts.count);
      parts.is_singular.push_back(problem.screening == 0);
    }
    parts.label[c] = parts.label[root];
    for (std::size_t a = 0; a < 3; ++a) {
      if (finest.periodic[a]) continue;
      std::array<Index, 3> high = at;
      ++high[a];
      if ((at[a] == 0 && face(a, at[0], at[1], at[2])) ||
          (high[a] == n[a] && face(a, high[0], high[1], high[2])))
        parts.is_singular[parts.label[c]] = 0;
    }
  });
  for (const char s : parts.is_singular) parts.singular += s;
  if (parts.singular > 0) list_cells(parts);
  return parts;
}
template Parts find_parts(const PoissonProblem<float>&, const Level<float>&);
template Parts find_parts(const PoissonProblem<double>&, const Level<double>&);

}  // namespace spinloom::stencil::multigrid
