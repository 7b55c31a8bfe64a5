#include "stencil/cuda/stencil_overlapped.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_overlapped_source, stencil_strips_source;

using namespace stencil;
using Kind = Boundary::Kind;

namespace {

int round_up(int value, int to) { return (value + to - 1) / to * to; }

int code_of(const Boundary& b) {
  switch (b.kind) {
    case Kind::periodic: return 1;
    case Kind::clamp: return 2;
    case Kind::reflect: return 3;
    case Kind::neumann: return 4;
    default: return 0;
  }
}

std::string list(const std::vector<int>& values) { return fmt::format("{{{}}}", fmt::join(values, ",")); }

/// What was fastest on an H200. Two warps a scheduler with as many registers as a thread can have did more than four with
/// half as many: more points between two barriers, and more of them at hand for each. That is for one field of numbers of
/// four or eight bytes, and up to four levels, whose state fits; red-black updates were 15 to 25 % slower so.
OverlapShape default_shape(const ProgramView& p, Index element_bytes, int levels) {
  if (p.rank == 2) {
    if (element_bytes <= 4) return {8, 4, 1, 1, 16};
    if (element_bytes <= 8) return {8, 4, 1, 1, 8};
    return {4, 2, 1, 1, 8};
  }
  if (p.output_count > 1) {  // what shared memory holds
    if (element_bytes <= 4) return {4, 2, 2, 16, 1};
    if (element_bytes <= 8) return {2, 2, 4, 8, 1};
    return {2, 1, 2, 8, 1};
  }
  const bool is_light = levels <= 4 && !p.red_black;
  if (is_light && element_bytes == 4) return {4, 4, levels == 3 ? 5 : 4, 8, 1};
  if (is_light && element_bytes == 8) return {4, 2, 4, 8, 1};
  if (element_bytes <= 4) return {4, 2, 4, 16, 1};
  if (element_bytes <= 8) return {4, 2, 2, 16, 1};
  return {2, 1, 4, 16, 1};
}

/// Whether four planes one after the other are a loop that the instruction caches hold, some 30 KB. Two have a seventh more
/// instructions, since values move; longer loops lost up to half of the speed.
bool is_short(const OverlapShape& s, const ProgramView& p, std::size_t fields) {
  return fields == 1 && !p.red_black && s.warps <= 8 && s.levels * s.points * s.rows <= 48 &&
         s.levels % s.points == 0;
}

/// As `Shared` in stencil_overlapped.cu: planes that come in, ends of the warps' rows, and tables.
std::size_t shared_bytes_of(const OverlapShape& s, std::size_t fields, std::size_t element_bytes) {
  const int width = 32 * s.points, height = s.rows * s.warps;
  return static_cast<std::size_t>((s.ahead + 1) * width * height + 2 * s.levels * (2 * s.warps + 2) * width) *
             fields * element_bytes +
         static_cast<std::size_t>(width + height + 32 + s.warps) * 4 + 64;
}

void check_shape(const OverlapShape& s, const ProgramView& p, Index element_bytes) {
  const int width = 32 * s.points, height = s.rows * s.warps;
  if (2 * s.levels + s.points > width / 2 || (p.rank == 3 && 2 * s.levels > height / 2))
    throw ArgumentError(
        fmt::format("cuda overlapped: the rims of {} levels fill more than half of a tile of {} x {}: "
                    "ask for fewer steps",
                    s.levels, width, height));
  const Index bytes = Index{2} * s.levels * s.points * s.rows * element_bytes * p.output_count;
  if (bytes > 800 || s.points * s.rows > 32)
    throw ArgumentError(
        fmt::format("cuda overlapped: {} levels of tiles of {} x {} are {} bytes a thread, and its "
                    "registers hold 800: ask for fewer steps or a smaller block",
                    s.levels, width, height, bytes));
}

}  // namespace

OverlapShape overlap_shape(const Schedule& s, const ProgramView& p, Index element_bytes) {
  const int levels = s.steps > 1 ? s.steps * (p.red_black ? 2 : 1) : 0;
  OverlapShape shape = default_shape(p, element_bytes, levels);
  if (levels > 0) shape.levels = levels;
  if (s.block_x > 0) shape.points = s.block_x / 32;
  const int height = s.block_x > 0 ? s.block_y : shape.rows * shape.warps;
  // Registers of a thread that hold the state of all levels, and how many threads then fit.
  const auto registers = [&](int rows) {
    return 2 * shape.levels * shape.points * rows * static_cast<int>(element_bytes) / 4;
  };
  if (p.rank == 2) {
    shape.blocks = registers(1) <= 40 ? 20 : registers(1) <= 72 ? 16 : registers(1) <= 104 ? 12 : 8;
    return shape;
  }
  if (s.block_x == 0 && shape.levels <= 4) return shape;
  const int few = p.output_count == 1 && !p.red_black ? 128 : 0;
  for (const auto& [warps, most] : {std::pair{8, few}, std::pair{16, 80}, std::pair{14, 80},
                                    std::pair{12, 112}, std::pair{8, 192}, std::pair{4, 192}}) {
    if (height % warps != 0 || (p.red_black && height / warps % 2 != 0)) continue;
    shape.warps = warps;
    shape.rows = height / warps;
    if (registers(shape.rows) <= most) break;
  }
  return shape;
}

const KernelInstance& overlap_instance(const Definition& definition, StencilNumbers numbers,
                                       const OverlapShape& s, const std::vector<Boundaries>& faces) {
  const ProgramView p = definition.view();
  const EvolvingFields evolving = evolving_fields(p);
  std::vector<std::string> rules;
  for (const int f : evolving.field) {
    const Boundaries& b = faces[static_cast<std::size_t>(f)];
    std::vector<int> codes;
    for (std::size_t a = 0; a < 3; ++a)
      for (const Boundary& face : {b.low[a], b.high[a]}) codes.push_back(code_of(face));
    rules.push_back(list(codes));
  }
  std::vector<std::string> defines = {fmt::format("EVOLVING={}", evolving.field.size()),
                                      "READ_OF=" + list(evolving.read),
                                      "OUTPUT_OF=" + list(evolving.output),
                                      fmt::format("FACES={{{}}}", fmt::join(rules, ",")),
                                      fmt::format("LEVELS={}", s.levels),
                                      fmt::format("POINTS={}", s.points)};
  if (p.rank == 2) {
    defines.push_back(fmt::format("BLOCKS={}", s.blocks));
    defines.push_back(fmt::format("DIAGONAL={}", is_diagonal(p, evolving) ? 1 : 0));
    return stencil_instance(stencil_strips_source, definition, numbers, defines);
  }
  defines.push_back(fmt::format("ROWS={}", s.rows));
  defines.push_back(fmt::format("WARPS={}", s.warps));
  defines.push_back(fmt::format("FLUSH={}", is_flush(faces, evolving) ? 1 : 0));
  defines.push_back(fmt::format("COLOUR={}", s.colour));
  // Waiting for two warps alone costs instructions, which floats are short of, and hides the latency of doubles.
  const bool is_narrow = numbers == StencilNumbers::f32 || numbers == StencilNumbers::f16_in_f32;
  defines.push_back(fmt::format("PAIRWISE={}", is_narrow ? 0 : 1));
  defines.push_back(fmt::format("AHEAD={}", s.ahead));
  defines.push_back(fmt::format("PAIRS={}", is_short(s, p, evolving.field.size()) && is_narrow ? 2 : 1));
  return stencil_instance(stencil_overlapped_source, definition, numbers, defines);
}

template <class T>
OverlappedPass<T>::OverlappedPass(Context& context, const Plan<T>& plan) : context_(context) {
  for (const auto& field : plan.fields) faces_.push_back(field.boundaries);
  const std::vector<Boundaries>& faces = faces_;
  const Definition& d = *plan.chain[0].definition;
  const ProgramView p = d.view();
  is_2d_ = p.rank == 2;
  red_black_ = p.red_black;
  shape_ = overlap_shape(plan.schedule, p, static_cast<Index>(sizeof(T)));
  shape_.colour = plan.levels[0].colour;
  check_shape(shape_, p, static_cast<Index>(sizeof(T)));
  const EvolvingFields evolving = evolving_fields(p);
  flush_ = is_flush(faces, evolving);
  read_ = evolving.read;
  output_ = evolving.output;
  for (std::size_t e = 0; e < evolving.field.size(); ++e)
    for (std::size_t a = 0; a < 3; ++a) {
      const Boundaries& b = faces[static_cast<std::size_t>(evolving.field[e])];
      periodic_[a] = b.low[a].kind == Kind::periodic;
      work_.add[e][2 * a] = b.low[a].kind == Kind::neumann ? b.low[a].value : 0;
      work_.add[e][2 * a + 1] = b.high[a].kind == Kind::neumann ? b.high[a].value : 0;
    }
  if (!is_2d_) {
    const auto bytes = [&] { return shared_bytes_of(shape_, evolving.field.size(), sizeof(T)); };
    if (is_short(shape_, p, evolving.field.size()) && sizeof(T) <= 4) {
      shape_.ahead = 7;
      if (bytes() > context_.facts().shared_memory_bytes) shape_.ahead = 3;
    }
    shared_bytes_ = bytes();
    if (shared_bytes_ > context_.facts().shared_memory_bytes)
      throw ArgumentError(fmt::format(
          "cuda overlapped: {} levels of tiles of {} x {} need {} bytes of shared memory, {} has {}: ask "
          "for fewer steps or a smaller block",
          shape_.levels, 32 * shape_.points, shape_.rows * shape_.warps, shared_bytes_, context_.facts().name,
          context_.facts().shared_memory_bytes));
  }
  instance_ = &overlap_instance(d, stencil_numbers<T>(plan.chain[0].in_double), shape_, faces);
  cut(plan.layout);
  context_.modules().function(*instance_, is_2d_ ? "strips" : "overlapped", shared_bytes_);
}

OverlapCut overlap_cut(const OverlapShape& s, const GridLayout& layout, const bool (&is_periodic)[3],
                       bool red_black, int multiprocessors, bool is_flush) {
  OverlapCut cut;
  const auto tiles = [&](Index n, int extent, int step, bool periodic, int unit, int low_start) {
    const Index start = periodic ? round_up(s.levels, unit) : low_start;
    const Index need = periodic ? n + s.levels : low_start > 0 ? n + 1 : n;  // the last tile reaches so far
    return static_cast<int>(std::max<Index>(1, (need + start - extent + step - 1) / step + 1));
  };
  const int width = 32 * s.points, height = s.rows * s.warps;
  cut.tiles_x = tiles(layout.n[2], width, (width - 2 * s.levels) / s.points * s.points, is_periodic[2],
                      s.points, s.points);
  cut.tiles_y = layout.rank == 2
                    ? 1
                    : tiles(layout.n[1], height, height - 2 * s.levels, is_periodic[1], 2, is_flush ? 0 : 2);
  const Index across = Index{cut.tiles_x} * cut.tiles_y, n = std::max<Index>(1, layout.n[0]);
  const Index at_once = Index{multiprocessors} * s.blocks;
  const Index unit = red_black ? 2 : 1;
  double best = 0;
  for (Index parts = 1; parts <= std::max<Index>(1, n / 8); ++parts) {
    const Index depth = ((n + parts - 1) / parts + unit - 1) / unit * unit;
    const Index rounds = (across * ((n + depth - 1) / depth) + at_once - 1) / at_once;
    const double cost = static_cast<double>(rounds) * static_cast<double>(depth + 2 * s.levels);
    if (best == 0 || cost < best) {
      best = cost;
      cut.depth = static_cast<int>(depth);
    }
  }
  cut.blocks = across * ((n + cut.depth - 1) / cut.depth);
  return cut;
}

template <class T>
void OverlappedPass<T>::cut(const GridLayout& layout) {
  const OverlapCut cut =
      overlap_cut(shape_, layout, periodic_, red_black_, context_.facts().multiprocessors, flush_);
  work_.depth = cut.depth, work_.tiles_x = cut.tiles_x, work_.tiles_y = cut.tiles_y;
  for (std::size_t a = 0; a < 3; ++a) {
    work_.lowest[a] = static_cast<int>(-layout.halo.low[a]);
    work_.highest[a] = static_cast<int>(layout.n[a] - 1 + layout.halo.high[a]);
  }
  blocks_ = cut.blocks;
  if (blocks_ > 0x7fffffff)
    throw ArgumentError(fmt::format("cuda overlapped: {} tiles are more than a GPU starts at once", blocks_));
}

template <class T>
bool OverlappedPass<T>::suits(const Plan<T>& plan) const {
  for (std::size_t f = 0; f < faces_.size(); ++f)
    if (plan.fields[f].boundaries != faces_[f]) return false;
  return true;
}

template <class T>
void OverlappedPass<T>::turn(StencilWork& work) const {
  for (std::size_t e = 0; e < read_.size(); ++e) {
    const void*& in = work.in[read_[e]];
    void*& out = work.out[output_[e]];
    void* const last = out;
    out = const_cast<void*>(in);
    in = last;
  }
}

template <class T>
void OverlappedPass<T>::run(const StencilWork& work, int levels) {
  work_.levels = levels;
  launch(context_, *instance_, is_2d_ ? "strips" : "overlapped", {static_cast<unsigned>(blocks_)},
         {32, is_2d_ ? 1u : static_cast<unsigned>(shape_.warps)}, shared_bytes_, work, work_);
}

std::optional<std::string> why_no_room(const Schedule& schedule, const ProgramView& p, Index element_bytes) {
  try {
    check_shape(overlap_shape(schedule, p, element_bytes), p, element_bytes);
    return std::nullopt;
  } catch (const ArgumentError& e) {
    return e.what();
  }
}

template class OverlappedPass<float>;
template class OverlappedPass<double>;
template class OverlappedPass<cfloat>;
template class OverlappedPass<cdouble>;
template class OverlappedPass<stencil::Half>;

}  // namespace spinloom::cuda
