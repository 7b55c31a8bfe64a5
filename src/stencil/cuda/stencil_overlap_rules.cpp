#include <fmt/format.h>

#include <algorithm>

#include "stencil/cuda/stencil_overlapped.hpp"

/// What a stencil must be like for several of its levels to be taken in one pass.
namespace spinloom::cuda {

using namespace stencil;
using Kind = Boundary::Kind;

namespace {

constexpr std::size_t most_evolving = 2;

}  // namespace

EvolvingFields evolving_fields(const ProgramView& p) {
  EvolvingFields all;
  Read list[max_reads];
  const int count = p.list_reads(list);
  for (int o = 0; o < p.output_count; ++o)
    for (int r = 0; r < count; ++r)
      if (list[r].field == p.outputs[o].field && list[r].level == TimeLevel::current) {
        all.read.push_back(r);
        all.output.push_back(o);
        all.field.push_back(p.outputs[o].field);
      }
  return all;
}

bool is_diagonal(const ProgramView& p, const EvolvingFields& evolving) {
  for (int n = 0; n < p.count; ++n) {
    const Node& a = p.code[n];
    if (a.op != Op::access ||
        std::find(evolving.field.begin(), evolving.field.end(), int(a.field)) == evolving.field.end())
      continue;
    int low = 0, high = 0;
    p.shift_range(n, low, high);
    const bool along_x = a.x + low != 0 || a.x + high != 0;
    if ((a.z != 0) + (a.y != 0) + along_x > 1) return true;
  }
  return false;
}

bool is_flush(const std::vector<Boundaries>& faces, const EvolvingFields& evolving) {
  for (const int f : evolving.field) {
    const Boundaries& b = faces[static_cast<std::size_t>(f)];
    for (const Kind kind : {b.low[1].kind, b.high[1].kind})
      if (kind == Kind::none || kind == Kind::unset || kind == Kind::periodic) return false;
  }
  return true;
}

std::optional<std::string> why_no_overlap(const std::vector<Definition>& chain,
                                          const std::vector<Boundaries>& fields, const GridLayout& layout,
                                          const Schedule& schedule) {
  if (chain.size() != 1) return "cuda overlapped: one stencil a step, and this is a chain; use cuda";
  const Definition& d = chain[0];
  const ProgramView p = d.view();
  const EvolvingFields evolving = evolving_fields(p);
  if (p.reduction_count > 0) return "a sum that rides along needs all points of one step at a time: use cuda";
  for (int o = 0; o < p.output_count; ++o) {
    const int f = p.outputs[o].field;
    if (p.reads(f, TimeLevel::previous))
      return fmt::format("cuda overlapped keeps one step per level, and prev(u{}) needs two: use cuda", f);
    if (!p.reads(f, TimeLevel::current))
      return fmt::format("cuda overlapped carries fields from step to step, and {} only writes u{}: use cuda",
                         d.name, f);
  }
  if (evolving.field.size() > most_evolving)
    return fmt::format(
        "{} writes {} fields, and the registers of a GPU hold the steps of {} at most: use cuda", d.name,
        evolving.field.size(), most_evolving);
  for (const int f : evolving.field)
    if (const Reach reach = p.reach(f); reach.radius() > 1)
      return fmt::format(
          "cuda overlapped has the points next to a point at hand, and {} reads u{} {} cells away: use "
          "cuda",
          d.name, f, reach.radius());
  const bool diagonal = is_diagonal(p, evolving);
  if (diagonal && p.rank == 3)
    return fmt::format(
        "cuda overlapped has the six points next to a point at hand, and {} reads beside them: use cuda",
        d.name);
  if (p.red_black && p.rank == 2) return "cuda overlapped: red-black is for 3D there; use cuda";
  for (std::size_t a = 0; a < 3; ++a) {
    const auto is_periodic = [&](int f) {
      return fields[static_cast<std::size_t>(f)].low[a].kind == Kind::periodic;
    };
    for (const int f : evolving.field)
      if (is_periodic(f) != is_periodic(evolving.field[0]))
        return "cuda overlapped: fields of one stencil are periodic along the same axes; use cuda";
    if (a == 2 && diagonal && is_periodic(evolving.field[0]))
      for (const int f : evolving.field)
        for (const Boundary& b :
             {fields[static_cast<std::size_t>(f)].low[0], fields[static_cast<std::size_t>(f)].high[0]})
          if (b.kind == Kind::none)
            return "cuda overlapped: x is periodic, and corners outside of y are the caller's own; use cuda";
  }
  if (layout.row_stride * 256 > 0x7fffffff || layout.n[0] > 0x3fffffff || layout.n[1] > 0x3fffffff)
    return fmt::format("cuda overlapped: rows of {} elements are too long for it; use cuda",
                       layout.row_stride);
  if (schedule.block_x > 0) {
    const bool is_whole = schedule.block_x == 32 || schedule.block_x == 64 || schedule.block_x == 128 ||
                          (layout.rank == 2 && schedule.block_x == 256);
    if (!is_whole)
      return fmt::format("block={}x{}: a tile has 32, 64 or 128 columns, in 2D also 256", schedule.block_x,
                         schedule.block_y);
    if (layout.rank == 2 && schedule.block_y != 1)
      return fmt::format("block={}x{}: a strip of a 2D grid has no rows, write block={}x1", schedule.block_x,
                         schedule.block_y, schedule.block_x);
    if (layout.rank == 3 && (schedule.block_y % 4 != 0 || schedule.block_y < 8 || schedule.block_y > 256))
      return fmt::format("block={}x{}: the rows of a tile are a multiple of 4, 8 to 256", schedule.block_x,
                         schedule.block_y);
  }
  return std::nullopt;
}

}  // namespace spinloom::cuda
