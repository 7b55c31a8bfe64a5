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

}  // namespace

Schedule chosen_schedule(const ProgramView& p, Index element_bytes, const GridLayout& g,
                         const DeviceFacts& facts) {
  const auto take = [](const char* text) { return parse_schedule(text); };
  if (why_no_march(p) || g.plane_stride >= (Index{1} << 31)) return take("cuda gather");
  if (g.rank == 2) return take("cuda tile block=128x1 depth=8");
  const bool is_float = element_bytes <= 4;
  if (p.reach().radius() > 1) {
    if (p.reads() == 1 && is_float && ring_fits(p, 36, 3, facts))
      return take("cuda ring rows=3 block=32x12 ahead=2");
    if (p.reads() == 1 && ring_fits(p, 16, 3, facts)) return take("cuda ring rows=4 block=32x4 ahead=2");
    if (ring_fits(p, 32, 2, facts)) return take("cuda ring rows=2 block=32x16 ahead=1");
    return take("cuda march rows=2 shuffle");
  }
  bool has_corners = false;  // of the cube around a point
  for (int n = 0; n < p.count; ++n)
    has_corners =
        has_corners || (p.code[n].op == stencil::Op::access && p.code[n].z != 0 && p.code[n].y != 0);
  if (has_corners) {
    if (!is_float && ring_fits(p, 16, 3, facts, 2))
      return take("cuda ring rows=2 block=64x8 ahead=2 depth=48");
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
