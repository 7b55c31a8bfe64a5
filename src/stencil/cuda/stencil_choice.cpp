#include "stencil/cuda/stencil_choice.hpp"

#include <algorithm>

namespace spinloom::cuda {

using namespace stencil;

namespace {

/// Whether a block of a ring with so many rows finds place for its planes.
bool ring_fits(const ProgramView& p, Index rows, Index slots, const DeviceFacts& facts, Index warps = 1) {
  const Index plane = (rows + 2 * p.reach().radius(1)) * (warps * 512 + 64) + 128;
  return facts.capability >= 90 && p.reads() * slots * plane + 256 <= Index(facts.shared_memory_bytes);
}

/// Planes of a ring's blocks of `rows` rows and `columns` columns, one to a multiprocessor, and how long they take all of
/// them, in rows of one block: the last round of blocks should not leave multiprocessors idle, and each block begins with
/// planes that are only read.
struct Rounds {
  Index depth = 1;
  double rows = 0;
};
Rounds best_rounds(const GridLayout& g, Index rows, Index columns, Index lead, Index deepest,
                   const DeviceFacts& facts) {
  const auto parts = [](Index n, Index size) { return std::max<Index>(1, (n + size - 1) / size); };
  const Index tiles = parts(g.n[1], rows) * parts(g.n[2], columns), nz = std::max<Index>(1, g.n[0]);
  Rounds best;
  for (Index layers = parts(nz, deepest); layers <= parts(nz, 16); ++layers) {
    const Index depth = parts(nz, layers);
    const Index rounds = parts(tiles * parts(nz, depth), std::max(1, facts.multiprocessors));
    const double taken = double(rounds * (depth + lead) * rows);
    if (best.rows == 0 || taken < best.rows) best = {depth, taken};
  }
  return best;
}

}  // namespace

Schedule chosen_schedule(const ProgramView& p, Index element_bytes, const GridLayout& g,
                         const DeviceFacts& facts) {
  const auto take = [](const char* text) { return parse_schedule(text); };
  if (why_no_march(p) || g.plane_stride >= (Index{1} << 31)) return take("cuda gather");
  if (g.rank == 2) return take("cuda tile block=128x1 depth=8");
  const bool is_float = element_bytes <= 4;
  if (p.reach().radius() > 1) {
    if (p.reads() == 1 && element_bytes <= 8 && ring_fits(p, 36, 3, facts)) {
      const Index lead = 2 * p.reach().radius(0), columns = is_float ? 128 : 64;
      const Rounds wide = best_rounds(g, 36, columns, lead, 512, facts);
      const Rounds even = best_rounds(g, 32, columns, lead, 512, facts);
      // Sixteen warps have too few registers for doubles.
      Schedule s = take(wide.rows < even.rows ? "cuda ring rows=3 block=32x12 ahead=2"
                        : is_float            ? "cuda ring rows=2 block=32x16 ahead=2"
                                              : "cuda ring rows=4 block=32x8 ahead=2");
      s.depth = static_cast<int>(wide.rows < even.rows ? wide.depth : even.depth);
      return s;
    }
    if (p.reads() == 1 && ring_fits(p, 16, 3, facts)) return take("cuda ring rows=4 block=32x4 ahead=2");
    if (ring_fits(p, 32, 2, facts)) return take("cuda ring rows=2 block=32x16 ahead=1");
    return take("cuda march rows=2 shuffle");
  }
  bool has_corners = false;  // of the cube around a point
  for (int n = 0; n < p.count; ++n)
    has_corners =
        has_corners || (p.code[n].op == stencil::Op::access && p.code[n].z != 0 && p.code[n].y != 0);
  if (has_corners) {
    const auto ring = [&](const char* text, Index rows, Index deepest) {
      Schedule s = take(text);
      s.depth = static_cast<int>(best_rounds(g, rows, 128, 2, deepest, facts).depth);
      return s;
    };
    // Where the level 2 cache holds eight planes of both arrays, it still has the rims of short layers.
    const bool are_kept = 16 * g.plane_stride * element_bytes <= Index(facts.level2_bytes);
    if (is_float && !are_kept && ring_fits(p, 32, 3, facts))
      return ring("cuda ring rows=4 block=32x8 ahead=2", 32, 64);
    if (!is_float && ring_fits(p, 16, 3, facts, 2))
      return ring("cuda ring rows=2 block=64x8 ahead=2", 16, 96);
    if (ring_fits(p, 16, 3, facts))
      return take(is_float ? "cuda ring rows=4 block=32x4 ahead=2 depth=8" : "cuda ring rows=2 ahead=2");
    return take(facts.capability < 80 ? "cuda march rows=4 block=32x4 shuffle"
                                      : "cuda march rows=4 block=32x4 shuffle ahead=2");
  }
  if (p.reads() > 1)
    return take(is_float ? "cuda tile block=64x2 rows=2 depth=2 band=512 shuffle blocks=1"
                         : "cuda tile depth=2 blocks=1");
  if (is_float && g.n[2] >= 256) return take("cuda tile block=64x8 rows=4 depth=2 shuffle blocks=1");
  return take(is_float ? "cuda tile block=32x4 rows=4 depth=2 shuffle"
                       : "cuda tile block=32x4 rows=4 depth=2");
}

Schedule fused_schedule(const ProgramView& p, Index element_bytes, const GridLayout& g,
                        const DeviceFacts& facts) {
  if (why_no_march(p) || g.plane_stride >= (Index{1} << 31) || g.rank == 2)
    return chosen_schedule(p, element_bytes, g, facts);
  // Roots and quotients have branches, which leave little to do at once within a thread: more threads with fewer points.
  bool has_slow = false;
  for (int n = 0; n < p.count; ++n) has_slow |= p.code[n].op == Op::sqrt || p.code[n].op == Op::div;
  if (ring_fits(p, 16, 3, facts))
    return parse_schedule(element_bytes > 4 ? "cuda ring rows=2 block=32x8 ahead=2 shuffle"
                          : has_slow        ? "cuda ring rows=2 points=2 block=32x8 ahead=2 shuffle"
                                            : "cuda ring rows=2 block=32x8 ahead=2 unroll=4 shuffle");
  return parse_schedule("cuda tile block=32x4 rows=2 depth=2 shuffle");
}

MarchShape march_shape(const Schedule& s, Index element_bytes, bool is_2d) {
  MarchShape shape;
  shape.points =
      s.points > 0 ? s.points : static_cast<int>(std::max<Index>(1, std::min<Index>(4, 16 / element_bytes)));
  shape.rows = is_2d ? 1 : s.rows > 0 ? static_cast<int>(s.rows) : 1;
  shape.block_x = s.block_x > 0 ? s.block_x : 32;
  shape.block_y = s.block_y > 0 ? s.block_y : is_2d ? 1 : 8;
  shape.ahead = s.ahead >= 0 ? s.ahead : 1;
  shape.unroll = s.unroll > 0 ? s.unroll : 1;
  shape.shuffle = s.shuffle;
  shape.ring = s.kind == Schedule::Kind::ring;
  shape.blocks = s.blocks;
  return shape;
}

}  // namespace spinloom::cuda
