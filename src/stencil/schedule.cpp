#include "spinloom/stencil/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <tuple>

#include "spinloom/core/error.hpp"
#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/halo_rules.hpp"

namespace spinloom::stencil {
namespace {

using Kind = Schedule::Kind;
constexpr std::pair<Kind, const char*> kinds[] = {{Kind::naive, "naive"},
                                                  {Kind::sweep, "sweep"},
                                                  {Kind::overlapped, "overlapped"},
                                                  {Kind::wavefront, "wavefront"},
                                                  {Kind::diamond, "diamond"},
                                                  {Kind::cuda, "cuda"},
                                                  {Kind::gather, "cuda gather"},
                                                  {Kind::march, "cuda march"},
                                                  {Kind::ring, "cuda ring"},
                                                  {Kind::tile, "cuda tile"},
                                                  {Kind::layered, "cuda overlapped"}};

Index number(const std::string& word, std::string_view digits) {
  Index value = 0;
  const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || stop != digits.data() + digits.size() || value < 0 || value > 1'000'000'000)
    throw ArgumentError(
        fmt::format("schedule: '{}' does not end in a whole number from 0 to 1000000000", word));
  return value;
}

/// "64x4"
std::pair<int, int> block(const std::string& word, std::string_view sizes) {
  const std::size_t times = sizes.find('x');
  if (times == std::string_view::npos)
    throw ArgumentError(fmt::format("schedule: '{}' needs threads along x and y: block=64x4", word));
  return {static_cast<int>(number(word, sizes.substr(0, times))),
          static_cast<int>(number(word, sizes.substr(times + 1)))};
}

/// "2+1"
std::vector<int> sizes(const std::string& word, const std::string& text) {
  std::vector<int> all;
  std::istringstream parts(text + "+");
  for (std::string part; std::getline(parts, part, '+');) {
    all.push_back(static_cast<int>(number(word, part)));
    if (part.empty() || all.back() < 1)
      throw ArgumentError(
          fmt::format("schedule: '{}' needs the numbers of stencils that passes take: fused=2+1", word));
  }
  return all;
}

}  // namespace

bool is_for_gpu(const Schedule& s) { return s.kind >= Kind::cuda; }

std::string to_string(const Schedule& s) {
  std::string text;
  for (const auto& [kind, name] : kinds)
    if (kind == s.kind) text = name;
  const Schedule plain;
  const auto add = [&](const char* name, Index value, Index otherwise) {
    if (value != otherwise) text += fmt::format(" {}={}", name, value);
  };
  add("rows", s.rows, plain.rows);
  add("columns", s.columns, plain.columns);
  add("width", s.width, plain.width);
  add("steps", s.steps, plain.steps);
  add("planes", s.planes, plain.planes);
  add("points", s.points, plain.points);
  add("depth", s.depth, plain.depth);
  add("ahead", s.ahead, plain.ahead);
  add("unroll", s.unroll, plain.unroll);
  add("band", s.band, plain.band);
  add("blocks", s.blocks, plain.blocks);
  if (s.shuffle) text += " shuffle";
  if (!s.fused.empty())
    text += s.fused == std::vector<int>{0} ? " fused" : fmt::format(" fused={}", fmt::join(s.fused, "+"));
  if (s.separate) text += " separate";
  if (s.scratch) text += " scratch";
  if (s.block_x > 0 || s.block_y > 0) text += fmt::format(" block={}x{}", s.block_x, s.block_y);
  if (s.stream) text += " stream";
  if (s.prefetch) text += " prefetch";
  return text;
}

Schedule parse_schedule(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  Schedule s;
  bool named = false;
  while (words >> word) {
    if (!named) {
      for (const auto& [kind, name] : kinds)
        if (word == name) {
          s.kind = kind;
          named = true;
        }
      if (!named)
        throw ArgumentError(fmt::format(
            "schedule: '{}' is not one of naive, sweep, overlapped, wavefront, diamond, cuda, which a "
            "schedule begins with",
            word));
      continue;
    }
    if (s.kind == Kind::cuda) {  // a second word may say which one
      bool says_which = false;
      for (const auto& [kind, name] : kinds)
        if ("cuda " + word == name) {
          s.kind = kind;
          says_which = true;
        }
      if (says_which) continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto value = [&] {
      if (equals == std::string::npos)
        throw ArgumentError(fmt::format("schedule: '{}' needs a number: {}=N", word, word));
      return number(word, std::string_view(word).substr(equals + 1));
    };
    if (name == "rows")
      s.rows = value();
    else if (name == "columns")
      s.columns = value();
    else if (name == "width")
      s.width = value();
    else if (name == "steps")
      s.steps = static_cast<int>(value());
    else if (name == "planes")
      s.planes = static_cast<int>(value());
    else if (name == "points")
      s.points = static_cast<int>(value());
    else if (name == "depth")
      s.depth = static_cast<int>(value());
    else if (name == "ahead")
      s.ahead = static_cast<int>(value());
    else if (name == "unroll")
      s.unroll = static_cast<int>(value());
    else if (name == "band")
      s.band = static_cast<int>(value());
    else if (name == "blocks")
      s.blocks = static_cast<int>(value());
    else if (word == "shuffle")
      s.shuffle = true;
    else if (name == "block")
      std::tie(s.block_x, s.block_y) =
          block(word, equals == std::string::npos ? "" : word.substr(equals + 1));
    else if (name == "fused")
      s.fused = equals == std::string::npos ? std::vector<int>{0} : sizes(word, word.substr(equals + 1));
    else if (word == "separate")
      s.separate = true;
    else if (word == "scratch")
      s.scratch = true;
    else if (word == "stream")
      s.stream = true;
    else if (word == "prefetch")
      s.prefetch = true;
    else
      throw ArgumentError(fmt::format(
          "schedule: '{}' is not one of rows=, columns=, width=, steps=, planes=, stream, prefetch, or on a "
          "GPU block=, rows=, depth=, points=, ahead=, unroll=, band=, blocks=, shuffle, fused, separate, "
          "scratch",
          word));
  }
  if (!named) throw ArgumentError("schedule: the text is empty; 'naive' is the simplest one");
  return s;
}

namespace {

constexpr const char* axis_names[2][3] = {{"y", "", "x"}, {"z", "y", "x"}};

std::string read_at(const Definition& d, const Node& n) {
  if (d.rank == 2) return fmt::format("u{}({},{})", int(n.field), int(n.z), int(n.x));
  return fmt::format("u{}({},{},{})", int(n.field), int(n.z), int(n.y), int(n.x));
}

/// A read that leaves the grid where nothing was said about what is there, or further than its halo.
std::optional<std::string> why_unreadable(const Definition& d, const GridLayout& g,
                                          const std::vector<Boundaries>& fields) {
  const ProgramView p = d.view();
  if (p.rank != g.rank)
    return fmt::format("{} is written for {} axes, the grids have {}", d.name, p.rank, g.rank);
  for (int n = 0; n < p.count; ++n) {
    const Node& a = p.code[n];
    if (a.op != Op::access) continue;
    int low = 0, high = 0;
    p.shift_range(n, low, high);
    for (const int dx : {low, high}) {
      Node moved = a;
      moved.x = static_cast<short>(a.x + dx);
      const Index offset[3] = {moved.z, moved.y, moved.x};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (offset[axis] == 0) continue;
        const bool up = offset[axis] > 0;
        const char* name = axis_names[g.rank - 2][axis];
        const Boundaries& b = fields[static_cast<std::size_t>(a.field)];
        if ((up ? b.high : b.low)[axis].kind == Boundary::Kind::unset)
          return fmt::format(
              "{} reads {}, past the {} end of {}, and field u{} has no boundary there: call set_boundary()",
              d.name, read_at(d, moved), up ? "high" : "low", name, int(a.field));
        const Index have = (up ? g.halo.high : g.halo.low)[axis], need = up ? offset[axis] : -offset[axis];
        if (need > have)
          return fmt::format(
              "{} reads {}, {} cells along {}, and the grids have a halo of {} there: construct them with "
              "Halo({})",
              d.name, read_at(d, moved), need, name, have, need);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_illegal_on_gpu(const std::vector<Definition>& chain, const GridLayout& g,
                                              const std::vector<Boundaries>& fields, const Schedule& s) {
  if (s.kind == Kind::layered) {
    Schedule rest = s;
    rest.kind = Kind::naive;
    rest.steps = 1;
    rest.block_x = rest.block_y = 0;
    if (rest != Schedule{})
      return fmt::format("'{}': cuda overlapped has steps= and block= alone", to_string(s));
    return cuda::why_no_overlap(chain, fields, g, s);
  }
  if (s.separate && (s.kind != Kind::cuda || !s.fused.empty()))
    return fmt::format("'{}': separate is for cuda, which chooses between that and fused", to_string(s));
  if (s.scratch && s.fused.empty())
    return fmt::format("'{}': scratch says which fields fused passes leave out", to_string(s));
  if (!s.fused.empty()) {
    try {
      cut(chain, s.fused);
    } catch (const ArgumentError& e) {
      return e.what();
    }
  }
  const bool tiles = s.kind == Kind::tile, marches = s.kind == Kind::march || s.kind == Kind::ring || tiles;
  if (s.band > 0 && !tiles && s.kind != Kind::ring) return "band is for cuda tile and cuda ring";
  if (tiles && (s.depth > 16 || s.ahead >= 0 || s.unroll > 0))
    return fmt::format("'{}': a tile has up to 16 planes, and neither ahead nor unroll", to_string(s));
  if (s.columns > 0 || s.width > 0 || s.steps != 1 || s.planes != 1 || s.stream || s.prefetch)
    return fmt::format(
        "'{}': columns, width, steps, planes, stream and prefetch are for the host's schedules",
        to_string(s));
  if ((s.block_x > 0) != (s.block_y > 0) || s.block_x * Index{s.block_y} > 1024)
    return fmt::format("block={}x{}: expected 1 to 1024 threads in all", s.block_x, s.block_y);
  if (!marches) {
    if (s.rows > 0 || s.depth > 0 || s.points > 0 || s.ahead >= 0 || s.unroll > 0 || s.blocks > 0 ||
        s.shuffle)
      return fmt::format("'{}': rows, depth, points, ahead, unroll and shuffle are for cuda march",
                         to_string(s));
    return std::nullopt;
  }
  if (s.block_x % 32 != 0)
    return fmt::format("block={}x{}: march takes whole warps of 32 along x", s.block_x, s.block_y);
  if (g.rank == 2 && s.rows > 1)
    return fmt::format("rows={}: planes of 2D grids have one row; depth says how many a thread takes",
                       s.rows);
  if (s.kind == Kind::ring && s.shuffle && (s.fused.empty() || s.block_x > 32))
    return fmt::format(
        "'{}': shuffle lets the lanes of a ring's warps hand on what the stencils of a fused chain share: it "
        "goes with fused and block=32xN",
        to_string(s));
  if (s.rows > 8 || s.ahead > 4 || s.unroll > 12 ||
      (s.points != 0 && s.points != 1 && s.points != 2 && s.points != 4))
    return fmt::format("'{}': expected up to 8 rows, 1, 2 or 4 points, 4 planes ahead, unroll=12",
                       to_string(s));
  if (s.kind == Kind::ring && s.ahead == 0)
    return "ahead=0: a ring is filled at least one plane before its use";
  if (s.kind == Kind::ring && (s.block_x > 64 || s.block_y * std::max<Index>(1, s.rows) > 240))
    return fmt::format(
        "block={}x{}: a ring has rows of one or two warps, block=32xN or 64xN, and up to 240 of them",
        s.block_x, s.block_y);
  if (s.blocks > 16) return fmt::format("blocks={}: expected up to 16", s.blocks);
  if (g.plane_stride > (Index{1} << 31) - 1)
    return fmt::format(
        "march counts within a plane by 32 bits, and these planes have {} elements: use cuda gather",
        g.plane_stride);
  for (const Definition& d : chain)
    if (const auto why = cuda::why_no_march(d.view())) return fmt::format("{}: {}", d.name, *why);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_illegal(const std::vector<Definition>& chain, const GridLayout& g,
                                       const std::vector<Boundaries>& fields, const Schedule& s) {
  if (chain.empty()) return "there is no stencil to run";
  for (const Definition& d : chain) {
    if (d.view().fields() > static_cast<int>(fields.size()))
      return fmt::format("{} has {} fields, {} grids were given", d.name, d.view().fields(), fields.size());
    if (auto why = why_unreadable(d, g, fields)) return why;
  }
  for (const Boundaries& b : fields)
    if (auto why = why_out_of_reach(g, b)) return why;
  const auto is = [&](Kind kind) { return s.kind == kind; };
  if (const bool on_gpu = g.device.kind == DeviceKind::cuda; on_gpu != is_for_gpu(s) && !is(Kind::naive))
    return on_gpu ? fmt::format(
                        "'{}' is for grids of the host, and these lie on {}: use a schedule that begins "
                        "with cuda",
                        to_string(s), spinloom::to_string(g.device))
                  : fmt::format(
                        "'{}' is for grids on a GPU, and these lie on the host: construct them with a device "
                        "(--device cuda)",
                        to_string(s));
  if (is_for_gpu(s)) {
    if (auto why = why_illegal_on_gpu(chain, g, fields, s)) return why;
  } else if (s.block_x > 0 || s.block_y > 0 || s.depth > 0 || s.points > 0 || s.ahead >= 0 || s.unroll > 0 ||
             s.band > 0 || s.blocks > 0 || s.shuffle || !s.fused.empty() || s.separate || s.scratch) {
    return "block, points, depth, ahead, unroll, band, blocks, shuffle, fused, separate and scratch are for "
           "GPUs; blocks of other "
           "kinds have rows "
           "and columns";
  }
  if (s.planes != 1 && s.planes != 2 && s.planes != 4 && s.planes != 8)
    return fmt::format("planes={}: a row kernel computes 1, 2, 4 or 8 planes at once", s.planes);
  if (s.rows < 0 || s.columns < 0 || s.width < 0) return "rows, columns and width are not negative";
  if (s.steps < 1 || s.steps > 1024) return fmt::format("steps={}: expected 1 to 1024", s.steps);
  if (s.steps > 1 && !is(Kind::overlapped) && !is(Kind::wavefront) && !is(Kind::layered))
    return fmt::format(
        "steps={}: several steps in one pass need overlapped or wavefront; a diamond's follow from its width",
        s.steps);
  if (is(Kind::naive) && (s.rows > 0 || s.columns > 0 || s.planes > 1 || s.stream || s.prefetch))
    return "naive has no options; use sweep";
  if (s.width > 0 && !is(Kind::diamond)) return "width is for diamonds; blocks of other kinds have rows";
  if (s.stream && !is(Kind::sweep) && !is(Kind::overlapped))
    return "stream: what a temporal block writes is read again from the caches; only sweep and the last step "
           "of overlapped may go past them";

  int radius[3] = {0, 0, 0};
  bool reduces = false, in_place = false, has_previous = false;
  for (const Definition& d : chain) {
    const ProgramView p = d.view();
    for (int a = 0; a < 3; ++a) radius[a] = std::max(radius[a], p.reach().radius(a));
    reduces |= p.reduction_count > 0;
    in_place |= p.red_black;
    for (const Node& n : d.code) has_previous |= n.op == Op::access && n.level == TimeLevel::previous;
  }
  bool periodic[3] = {false, false, false}, kept[3] = {false, false, false};
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::size_t a = 0; a < 3; ++a) {
      periodic[a] |= fields[f].low[a].kind == Boundary::Kind::periodic;
      for (const Boundary& b : {fields[f].low[a], fields[f].high[a]})
        kept[a] |= b.kind == Boundary::Kind::none;
    }
  for (std::size_t a = 0; a < 3; ++a)
    if (in_place && periodic[a] && radius[a] > 0 && g.n[a] % 2 != 0)
      return fmt::format(
          "red-black: {} is periodic with {} points, and an odd number brings two points of one colour "
          "together",
          axis_names[g.rank - 2][a], g.n[a]);
  if (s.stream && in_place) return "stream: a red-black update reads what it has just written";
  if (is(Kind::naive) || is(Kind::sweep) || is_for_gpu(s)) {
    if (reduces && s.columns > 0)
      return "columns: a sum that rides along is kept per row, so rows stay whole";
    return std::nullopt;
  }
  if (reduces) return "a sum that rides along needs all points of one step at a time: use sweep";
  if (chain.size() > 16) return "more than 16 stencils in a chain: use sweep";
  const char* slow = axis_names[g.rank - 2][0];
  if (is(Kind::wavefront) || is(Kind::diamond)) {
    if (periodic[0] && radius[0] > 0)
      return fmt::format(
          "a wavefront along {0} cannot start where {0} is periodic: use overlapped, or lay the periodic "
          "axis along another axis",
          slow);
  }
  if (is(Kind::diamond)) {
    if (g.rank == 2)
      return "a diamond lies across rows of planes, and 2D has no y beside its wavefront: use overlapped";
    const Index least = 2 * std::max(1, radius[1]);
    if (s.width < least)
      return fmt::format("width={}: a diamond of radius {} needs at least {} rows", s.width,
                         std::max(1, radius[1]), least);
    if (periodic[1] && radius[1] > 0 && g.n[1] < least)
      return fmt::format("y is periodic with {} rows, fewer than the {} of the smallest diamond: use sweep",
                         g.n[1], least);
  }
  if (is(Kind::wavefront)) {
    if (s.columns > 0) return "columns: the wavefront takes whole rows";
    if (periodic[1] && radius[1] > 0)
      return "a skewed block cannot start where y is periodic: use diamond or overlapped";
  }
  if (is(Kind::overlapped)) {
    if (in_place)
      return "overlapped blocks compute their rims twice, which in place would be seen: use diamond";
    if (has_previous) return "overlapped blocks keep one step per level, and prev(u) needs two: use diamond";
    for (const Definition& d : chain)
      for (const Output& o : d.outputs)
        if (!d.view().evolves(o.field))
          return fmt::format(
              "overlapped blocks carry fields from step to step, and {} only writes u{}: use sweep or "
              "diamond",
              d.name, int(o.field));
    for (std::size_t c = 1; c < chain.size(); ++c)
      for (int f = 0; f < static_cast<int>(fields.size()); ++f)
        if (chain[c].view().writes(f) != chain[0].view().writes(f))
          return "overlapped: all stencils of a chain write the same fields; use sweep or diamond";
    // A rim that runs past the end of a periodic axis has no place for cells that only the caller knows.
    const bool cut[3] = {false, s.rows > 0 && s.rows<g.n[1], s.columns> 0 && s.columns < g.n[2]};
    for (std::size_t a = 1; a < 3; ++a)
      for (std::size_t slower = 0; slower < a; ++slower)
        if (cut[a] && periodic[a] && radius[a] > 0 && kept[slower])
          return fmt::format(
              "overlapped: {} is periodic and cut into blocks, and corners outside of {} are the caller's "
              "own: leave {} whole",
              axis_names[g.rank - 2][a], axis_names[g.rank - 2][slower], a == 1 ? "rows" : "columns");
    if (s.rows > 0 && s.rows < radius[1])
      return fmt::format("rows={}: a block has at least as many rows as the radius, {}", s.rows, radius[1]);
    if (s.columns > 0 && s.columns < radius[2])
      return fmt::format("columns={}: a block has at least as many columns as the radius, {}", s.columns,
                         radius[2]);
  }
  return std::nullopt;
}

}  // namespace spinloom::stencil
