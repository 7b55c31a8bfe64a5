#include "nlm/cpu/tile.hpp"

#include <algorithm>

#include "nlm/reflect.hpp"

namespace spinloom::cpu {
namespace {

Index round_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

TilePlan plan_tiles(const NlmProblem& problem, const Axes& target, Index lanes) {
  TilePlan plan;
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    const Index tiles = (problem.extent[a] + target[a] - 1) / target[a];
    plan.size[a] = (problem.extent[a] + tiles - 1) / tiles;
    plan.before[a] = problem.distance[a] - problem.first_sample(a);
    plan.after[a] = problem.distance[a] + problem.first_sample(a) + problem.samples(a) - 1;
  }
  plan.size[3] = round_up(plan.size[3], lanes);
  // Voxel 0 of a row is aligned; vectors may be read up to a vector beyond what counts.
  const Index left = round_up(plan.before[3], lanes);
  plan.stride[3] = 1;
  plan.stride[2] = round_up(left + plan.size[3] + plan.after[3] + lanes, lanes);
  plan.stride[1] = plan.stride[2] * (plan.before[2] + plan.size[2] + plan.after[2]);
  plan.stride[0] = plan.stride[1] * (plan.before[1] + plan.size[1] + plan.after[1]);
  plan.elements = plan.stride[0] * (plan.before[0] + plan.size[0] + plan.after[0]);
  plan.origin = plan.before[0] * plan.stride[0] + plan.before[1] * plan.stride[1] +
                plan.before[2] * plan.stride[2] + left;
  return plan;
}

template <class Real>
void load_tile(const NlmProblem& problem, const TilePlan& plan, const Tile& tile, const Planes<Real>& image,
               Index channels, Index channel, Real scale, Real* buffer) {
  const Axes &n = problem.extent, &at = tile.at;
  const Index row_begin = -plan.before[3], row_end = tile.size[3] + plan.after[3];
  // The part of a row that needs no reflection.
  const Index plain_begin = std::clamp<Index>(-at[3], row_begin, row_end);
  const Index plain_end = std::clamp<Index>(n[3] - at[3], plain_begin, row_end);
  Axes p;
  for (p[0] = -plan.before[0]; p[0] < tile.size[0] + plan.after[0]; ++p[0])
    for (p[1] = -plan.before[1]; p[1] < tile.size[1] + plan.after[1]; ++p[1])
      for (p[2] = -plan.before[2]; p[2] < tile.size[2] + plan.after[2]; ++p[2]) {
        Index row = 0;
        for (std::size_t a = 0; a < 3; ++a) {
          Index i = reflect(at[a] + p[a], n[a]);
          if (static_cast<Index>(a) == image.axis) i -= image.first;
          row = row * n[a] + i;
        }
        const Real* from = image.data + row * n[3] * channels + channel;
        Real* to =
            buffer + plan.origin + p[0] * plan.stride[0] + p[1] * plan.stride[1] + p[2] * plan.stride[2];
        for (Index x = row_begin; x < plain_begin; ++x)
          to[x] = scale * from[reflect(at[3] + x, n[3]) * channels];
        if (channels == 1)
          for (Index x = plain_begin; x < plain_end; ++x) to[x] = scale * from[at[3] + x];
        else
          for (Index x = plain_begin; x < plain_end; ++x) to[x] = scale * from[(at[3] + x) * channels];
        for (Index x = plain_end; x < row_end; ++x) to[x] = scale * from[reflect(at[3] + x, n[3]) * channels];
      }
}

template void load_tile(const NlmProblem&, const TilePlan&, const Tile&, const Planes<float>&, Index, Index,
                        float, float*);
template void load_tile(const NlmProblem&, const TilePlan&, const Tile&, const Planes<double>&, Index, Index,
                        double, double*);

}  // namespace spinloom::cpu
