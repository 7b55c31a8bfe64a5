#include "stencil/cuda/stencil_stage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"
#include "stencil/cuda/stencil_blocks.hpp"
#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_gather.hpp"
#include "stencil/cuda/stencil_tile.hpp"

namespace spinloom::cuda {

using namespace stencil;

namespace {

constexpr int longest_access = 16;     // bytes
constexpr int most_box_rows = 256;     // of one bulk copy
constexpr int most_handing_lanes = 8;  // at either end of a warp
constexpr int most_threads = 2048;     // of a multiprocessor

StencilStage gathering(const Definition& d, StencilNumbers numbers, const GridLayout& layout,
                       const Schedule& s) {
  const GatherKernel made =
      gather_kernel(d, numbers, layout.n, s.block_x > 0 ? s.block_x : 64, s.block_y > 0 ? s.block_y : 4);
  StencilStage stage;
  if (d.view().reduction_count > 0) stage.kernel = "gather_reduced";
  stage.march.block_x = made.block_x, stage.march.block_y = made.block_y;
  stage.is_flat = made.is_flat, stage.is_long = made.is_long;
  stage.instance = made.instance;
  return stage;
}

void tiling(StencilStage& stage, const Definition& d, StencilNumbers numbers, const GridLayout& layout,
            const Schedule& s) {
  stage.kernel = "tile";
  const TileShape tile{.points = stage.march.points,
                       .rows = stage.march.rows,
                       .depth = s.depth > 0 ? s.depth : 4,
                       .block_x = stage.march.block_x,
                       .block_y = stage.march.block_y,
                       .shuffle = stage.march.shuffle,
                       .wide = layout.plane_stride * stage.element_bytes >= Index{0xf0000000},
                       .blocks = stage.march.blocks};
  stage.depth = tile.depth;
  stage.instance = &tile_instance(d, numbers, tile);
}

void marching(StencilStage& stage, const Definition& d, StencilNumbers numbers, const Schedule& s,
              const DeviceFacts& facts, const HandedValues& handed) {
  MarchShape& shape = stage.march;
  if (shape.ring && facts.capability < 90)
    throw ArgumentError(
        fmt::format("{}: {} lacks the bulk copies that cuda ring needs; use cuda march", d.name, facts.name));
  if (!shape.ring && shape.ahead > 1 && facts.capability < 80)
    throw ArgumentError(fmt::format("{}: ahead={} takes asynchronous copies, which {} lacks; use ahead=1",
                                    d.name, shape.ahead, facts.name));
  if (!shape.ring && shape.ahead > 1 && stage.element_bytes * shape.points < 4)
    throw ArgumentError(
        fmt::format("{}: ahead={} takes copies of at least 4 bytes, and a thread's points have {}; use more "
                    "points or ahead=1",
                    d.name, shape.ahead, stage.element_bytes * shape.points));
  shape.edge = handing_lanes(shape, stage.element_bytes, handed.reach);
  if (shape.edge > 0) shape.handed = handed.values;
  // Short ways keep blocks close to one another in memory; with long reaches they would read too much twice.
  stage.depth = s.depth > 0 ? s.depth : d.view().reach().radius(0) > 1 ? 128 : 48;
  stage.kernel = shape.ring ? "ring" : "march";
  const MarchKernel made = march_kernel(d, numbers, shape);
  stage.instance = made.instance;
  stage.shared_bytes = made.shared_bytes;
  stage.boxes = made.boxes;
  stage.word_bytes = made.word_bytes;
  if (stage.shared_bytes > facts.shared_memory_bytes)
    throw ArgumentError(
        fmt::format("{}: a block of '{}' needs {} bytes of shared memory, {} has {}; choose a smaller block, "
                    "fewer rows or ahead=1",
                    d.name, to_string(s), stage.shared_bytes, facts.name, facts.shared_memory_bytes));
  for (const MarchKernel::Box& box : stage.boxes)
    if (box.rows > most_box_rows)
      throw ArgumentError(fmt::format(
          "{}: a block of '{}' reads {} rows of a plane, and one copy brings {}; choose fewer rows", d.name,
          to_string(s), box.rows, most_box_rows));
}

}  // namespace

int handing_lanes(const MarchShape& shape, int element_bytes, int reach) {
  if (!shape.ring || !shape.shuffle || shape.block_x != 32) return 0;
  // Boxes begin at multiples of 16 bytes.
  const int unit = std::max(shape.points, 16 / element_bytes);
  const int lanes = (reach + unit - 1) / unit * (unit / shape.points);
  return lanes <= most_handing_lanes ? lanes : 0;
}

StencilStage stencil_stage(const Definition& d, StencilNumbers numbers, const GridLayout& layout,
                           const Schedule& s, const DeviceFacts& facts, const HandedValues& handed) {
  if (s.kind == Schedule::Kind::gather) return gathering(d, numbers, layout, s);
  StencilStage stage;
  stage.element_bytes = stencil_bytes(numbers);
  stage.march = march_shape(s, stage.element_bytes, layout.rank == 2);
  if (stage.march.points * stage.element_bytes > longest_access)
    throw ArgumentError(fmt::format(
        "{}: points={} of {} bytes each, and a thread takes its points by accesses of {} bytes at most; use "
        "points={}",
        d.name, stage.march.points, stage.element_bytes, longest_access,
        longest_access / stage.element_bytes));
  const int threads = stage.march.block_x * stage.march.block_y;
  if (stage.march.blocks * threads > most_threads)
    throw ArgumentError(fmt::format(
        "{}: blocks={} of {} threads each, and a multiprocessor has room for {} threads; use blocks={} or a "
        "smaller block",
        d.name, stage.march.blocks, threads, most_threads, most_threads / threads));
  if (s.kind == Schedule::Kind::tile)
    tiling(stage, d, numbers, layout, s);
  else
    marching(stage, d, numbers, s, facts, handed);
  if (s.kind != Schedule::Kind::march)
    stage.band =
        s.band > 0 ? blocks_of(s.band, Index{stage.march.block_y} * stage.march.rows) : Index{1} << 30;
  return stage;
}

}  // namespace spinloom::cuda
