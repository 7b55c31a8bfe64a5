#include <algorithm>

#include "stencil/cuda/stencil_blocks.hpp"
#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/model/gpu_counts.hpp"

namespace spinloom::stencil {

using Kind = Schedule::Kind;
using cuda::blocks_of;

GpuCut gpu_cut(const GpuPasses& in, std::size_t pass) {
  const Definition& d = in.chain[pass];
  const ProgramView p = d.view();
  const auto& n = in.layout.n;
  GpuCut cut;
  cut.schedule = in.passes[pass].schedule;
  const Schedule& s = cut.schedule;
  const bool is_2d = in.layout.rank == 2;
  if (s.kind == Kind::layered) {
    const cuda::OverlapShape shape = cuda::overlap_shape(s, p, in.element_bytes);
    const auto evolving = cuda::evolving_fields(p);
    bool periodic[3] = {};
    for (std::size_t a = 0; a < 3; ++a)
      for (const int f : evolving.field)
        periodic[a] |= in.fields.size() > static_cast<std::size_t>(f) &&
                       in.fields[static_cast<std::size_t>(f)].low[a].kind == Boundary::Kind::periodic;
    const bool is_flush =
        in.fields.size() >= static_cast<std::size_t>(p.fields()) && cuda::is_flush(in.fields, evolving);
    const cuda::OverlapCut tiles =
        cuda::overlap_cut(shape, in.layout, periodic, p.red_black, in.machine.multiprocessors, is_flush);
    cut.levels = shape.levels;
    cut.points = shape.points, cut.rows = is_2d ? 1 : shape.rows;
    cut.tile[0] = tiles.depth, cut.tile[1] = is_2d ? 1 : shape.rows * shape.warps;
    cut.tile[2] = 32 * shape.points;
    cut.tiles[0] = blocks_of(n[0], tiles.depth), cut.tiles[1] = tiles.tiles_y, cut.tiles[2] = tiles.tiles_x;
    // Planes that a block goes through, as in stencil_overlapped.cu: from a face on there is no rim.
    double planes = 0;
    for (Index z = 0; z < n[0]; z += tiles.depth) {
      const Index first = periodic[0] ? z - shape.levels : std::max<Index>(z - shape.levels, -2);
      planes += double(std::min(n[0], z + tiles.depth) + shape.levels - first);
    }
    cut.planes_per_block = planes / double(std::max<Index>(1, cut.tiles[0]));
    return cut;
  }
  if (s.kind == Kind::gather) {
    cut.tile[1] = s.block_y > 0 ? s.block_y : 4;
    cut.tile[2] = (s.block_x > 0 ? s.block_x : 64) * (p.red_black ? 2 : 1);
    if (p.reduction_count > 0) cut.tile[1] = 16, cut.tile[2] = n[2];
    cut.tiles[2] = blocks_of(n[2], cut.tile[2]);
    cut.tiles[0] = 1, cut.tiles[1] = blocks_of(n[0] * n[1], cut.tile[1]);  // rows of all planes in one line
    return cut;
  }
  const cuda::MarchShape shape = cuda::march_shape(s, in.element_bytes, is_2d);
  cut.points = shape.points, cut.rows = shape.rows;
  cut.tile[1] = Index{shape.block_y} * shape.rows, cut.tile[2] = Index{shape.block_x} * shape.points;
  cut.band = s.band;
  cut.tile[0] = s.depth > 0 ? s.depth : s.kind == Kind::tile ? 4 : p.reach().radius(0) > 1 ? 128 : 48;
  const auto& handed = in.passes[pass].handed;
  cut.edge =
      Index{cuda::handing_lanes(shape, static_cast<int>(in.element_bytes), handed.reach)} * shape.points;
  for (std::size_t a = 0; a < 3; ++a)
    cut.tiles[a] = blocks_of(n[a], cut.tile[a] - (a == 2 ? 2 * cut.edge : 0));
  return cut;
}

}  // namespace spinloom::stencil
