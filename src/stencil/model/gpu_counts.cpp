#include "stencil/model/gpu_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::stencil {

using Kind = Schedule::Kind;

namespace {

constexpr Index sector = 32;  // bytes that a level 2 cache is asked for

Index blocks_of(Index count, Index size) { return (count + size - 1) / size; }
Index floor_div(Index a, Index b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// Columns beyond a point's own that are read, low <= 0 <= high.
struct Columns {
  Index low = 0, high = 0;
};
/// What one read takes, by row and plane of the point.
using Places = std::map<std::pair<int, int>, Columns>;  ///< (z, y)

std::vector<Places> places_of(const Definition& d) {
  const ProgramView p = d.view();
  Read list[max_reads];
  std::vector<Places> all(static_cast<std::size_t>(p.list_reads(list)));
  for (int n = 0; n < p.count; ++n) {
    const Node& a = p.code[n];
    if (a.op != Op::access) continue;
    std::size_t r = 0;
    while (list[r].field != a.field || list[r].level != a.level) ++r;
    int low = 0, high = 0;
    p.shift_range(n, low, high);
    Columns& c = all[r][{a.z, a.y}];
    c.low = std::min<Index>(c.low, a.x + low);
    c.high = std::max<Index>(c.high, a.x + high);
  }
  return all;
}

/// Sectors of a row whose own points begin at a sector.
double row_bytes(const Columns& c, Index points, Index element) {
  return double(
      sector * (floor_div((points + c.high) * element - 1, sector) - floor_div(c.low * element, sector) + 1));
}

/// Of one read by a block of depth x rows x columns points: every row that one of them reads, once.
double block_bytes(const Places& places, Index depth, Index rows, Index columns, Index element) {
  std::map<std::pair<Index, Index>, Columns> needed;
  for (const auto& [at, c] : places)
    for (Index z = 0; z < depth; ++z)
      for (Index y = 0; y < rows; ++y) {
        Columns& row = needed[{z + at.first, y + at.second}];
        row.low = std::min(row.low, c.low), row.high = std::max(row.high, c.high);
      }
  double bytes = 0;
  for (const auto& [_, c] : needed) bytes += row_bytes(c, columns, element);
  return bytes;
}

/// The planes of a ring come in whole boxes, as stencil_ring.cpp lays them out.
double ring_bytes(const Places& places, const GpuCut& cut, Index element) {
  Columns all;
  Index above = 0, below = 0, lowest = 1000, highest = -1000;
  for (const auto& [at, c] : places) {
    all.low = std::min(all.low, c.low), all.high = std::max(all.high, c.high);
    above = std::max<Index>(above, -at.second), below = std::max<Index>(below, at.second);
    lowest = std::min<Index>(lowest, at.first), highest = std::max<Index>(highest, at.first);
  }
  const Index unit = std::max<Index>(cut.points, 16 / element);
  const Columns box{-blocks_of(-all.low, unit) * unit, blocks_of(all.high, unit) * unit};
  return row_bytes(box, cut.tile[2], element) * double(cut.tile[1] + above + below) *
         double(cut.tile[0] + highest - lowest);
}

bool is_sweep_by_planes(Kind kind) { return kind == Kind::march || kind == Kind::ring; }

}  // namespace

cuda::StencilNumbers gpu_numbers(const GpuModelInput& in) {
  using N = cuda::StencilNumbers;
  if (in.is_complex) return in.element_bytes == 8 ? N::c32 : N::c64;
  if (in.element_bytes == 2) return N::f16_in_f32;
  if (in.element_bytes == 4) return in.in_double ? N::f32_in_f64 : N::f32;
  return N::f64;
}

GpuCut gpu_cut(const GpuModelInput& in, std::size_t stencil) {
  const Definition& d = in.chain[stencil];
  const ProgramView p = d.view();
  const auto& n = in.layout.n;
  cuda::DeviceFacts facts;
  facts.capability = in.machine.capability;
  facts.multiprocessors = in.machine.multiprocessors;
  facts.level2_bytes = static_cast<std::size_t>(in.machine.level2_bytes);
  facts.shared_memory_bytes = static_cast<std::size_t>(in.machine.shared_bytes);
  GpuCut cut;
  cut.schedule = in.schedule;
  const bool is_open = in.schedule.kind == Kind::cuda || in.schedule.kind == Kind::naive;
  if (is_open) cut.schedule = cuda::chosen_schedule(p, in.element_bytes, in.layout, facts);
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
    const cuda::OverlapCut tiles =
        cuda::overlap_cut(shape, in.layout, periodic, p.red_black, in.machine.multiprocessors);
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
  for (std::size_t a = 0; a < 3; ++a) cut.tiles[a] = blocks_of(n[a], cut.tile[a]);
  return cut;
}

Traffic gpu_level2_bytes(const GpuModelInput& in, std::size_t stencil, const GpuCut& cut) {
  const Definition& d = in.chain[stencil];
  const Index e = in.element_bytes;
  const auto places = places_of(d);
  const double points = double(cut.tile[0] * cut.tile[1] * cut.tile[2]);
  Traffic t;
  t.write = double(d.outputs.size()) * double(e);
  if (cut.schedule.kind == Kind::layered) {
    const auto evolving = cuda::evolving_fields(d.view());
    // Evolving fields once a pass, rims and all; the others at each level.
    const auto& n = in.layout.n;
    const double computed = double(cut.tiles[0] * cut.tiles[1] * cut.tiles[2]) * cut.planes_per_block *
                            double(cut.tile[1] * cut.tile[2]);
    const double fetched = computed / double(std::max<Index>(1, n[0] * n[1] * n[2])) * double(e);
    for (std::size_t r = 0; r < places.size(); ++r) {
      const bool evolves =
          std::find(evolving.read.begin(), evolving.read.end(), int(r)) != evolving.read.end();
      t.read += fetched * (evolves ? 1 : cut.levels);
    }
    return t;
  }
  for (const Places& of : places)
    t.read += (cut.schedule.kind == Kind::ring ? ring_bytes(of, cut, e)
                                               : block_bytes(of, cut.tile[0], cut.tile[1], cut.tile[2], e)) /
              points;
  return t;
}

Traffic gpu_memory_bytes(const GpuModelInput& in, std::size_t stencil, const GpuCut& cut) {
  const Definition& d = in.chain[stencil];
  const auto& n = in.layout.n;
  const double e = double(in.element_bytes), plane = double(n[1] * n[2]) * e;
  const auto places = places_of(d);
  const double arrays = double(places.size() + d.outputs.size());
  // A grid of which no part leaves the cache between steps, as on the CPU.
  if (arrays * plane * double(n[0]) <= 0.75 * double(in.machine.level2_bytes)) return {};
  // What a layer of blocks reads again of the one before is still there when all planes that a layer touches fit into half
  // of the cache; from there to all of it, ever less.
  const double rows = cut.band > 0 ? double(std::min(cut.band, n[1])) : double(n[1]);
  const double depth = double(std::min(cut.tile[0], std::max<Index>(1, n[0])));
  const auto span_of = [&](const Places& of) {
    if (cut.schedule.kind == Kind::layered) return 2.0 * cut.levels;
    int low = 0, high = 0;
    for (const auto& [at, _] : of) low = std::min(low, at.first), high = std::max(high, at.first);
    return double(high - low);
  };
  double planes = d.red_black ? 0 : double(d.outputs.size()) * depth;
  for (const Places& of : places) planes += depth + span_of(of);
  const double share = double(in.machine.level2_bytes) / 2;
  const double lost = std::clamp((planes * rows * double(n[2]) * e - share) / share, 0.0, 1.0);
  Traffic t;
  t.write = double(d.outputs.size()) * e;
  for (const Places& of : places) {
    const double again = lost * span_of(of) / depth;
    // Of the first and the last layer there is one rim alone.
    t.read += e * (1 + again * (1 - 1 / double(std::max<Index>(1, blocks_of(n[0], Index(depth))))));
  }
  return t;
}

double gpu_covered(const GpuModelInput& in, std::size_t stencil, const GpuCut& cut) {
  const auto& n = in.layout.n;
  const double across = double(cut.tiles[1] * cut.tile[1]) * double(cut.tiles[2] * cut.tile[2]);
  if (cut.schedule.kind == Kind::layered) return across * double(cut.tiles[0]) * cut.planes_per_block;
  if (!is_sweep_by_planes(cut.schedule.kind)) return across * double(cut.tiles[0] * cut.tile[0]);
  const Reach reach = in.chain[stencil].view().reach();
  return across * double(n[0] + cut.tiles[0] * (reach.low[0] + reach.high[0]));
}

double gpu_operations(const GpuModelInput& in, std::size_t stencil, const GpuCut& cut) {
  const Definition& d = in.chain[stencil];
  const Kind kind = cut.schedule.kind;
  std::map<int, int> top;  // of the planes of each read
  const auto mark = [](int r, int z, int y, int x) { return fmt::format("@{}_{}_{}_{}", r, z, y, x); };
  cuda::StencilPrinter scout(d, gpu_numbers(in), [&](int r, int z, int y, int x) {
    top.try_emplace(r, z).first->second = std::max(top[r], z);
    return mark(r, z, y, x);
  });
  for (const Output& o : d.outputs) scout.value(o.root);
  cuda::StencilPrinter::Lag lag;
  if (kind == Kind::ring) lag = [&](int r, int z) { return top[r] - z; };
  cuda::StencilPrinter printer(d, gpu_numbers(in), mark, lag);
  const bool shares = kind == Kind::tile || is_sweep_by_planes(kind);
  const int depth = kind == Kind::tile ? static_cast<int>(cut.tile[0]) : 1, rows = shares ? cut.rows : 1,
            columns = shares ? cut.points : 1;
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x) {
        for (const Output& o : d.outputs) printer.value(o.root, y, x, z);
        for (const ReductionRoot& r : d.reductions) printer.value(r.root, y, x, z);
      }
  // One line for each value: reads, numbers and parameters are no arithmetic; quotients and roots are rows of it.
  double operations = 0;
  const std::string text = printer.take_statements();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin), at = text.find(" = ", begin);
    const std::string value = text.substr(at + 3, end - at - 3);
    const bool is_same_for_all = text.compare(begin, 13, "  const Real ") == 0;
    begin = end + 1;
    if (is_same_for_all) continue;
    if (value.starts_with("quotient") || value.starts_with("root"))
      operations += 10;
    else if (value.find('(') != std::string::npos && value[0] != '(' && !value.starts_with("__"))
      operations += 1;
    else if (value.find(' ') != std::string::npos || value[0] == '!')
      operations += 1;
  }
  return operations * (in.is_complex ? 2 : 1) / (depth * rows * columns);
}

}  // namespace spinloom::stencil
