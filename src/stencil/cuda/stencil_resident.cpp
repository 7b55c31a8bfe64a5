#include "stencil/cuda/stencil_resident.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_resident_source;

using namespace stencil;
using Kind = Boundary::Kind;

namespace {

constexpr int most_delay = 5;
/// Turns between levels; planes that are put aside where z is periodic.
int least_delay(bool wraps) { return wraps ? 4 : 3; }
int kept_aside(bool wraps) { return wraps ? 2 : 0; }

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

/// Computing warps whose threads have the registers for three planes of their points; with the three others a multiple of
/// four, for the four schedulers of a multiprocessor.
int levels_for(Index bytes_of_thread) {
  return bytes_of_thread <= 32 ? 21 : bytes_of_thread <= 72 ? 13 : bytes_of_thread <= 144 ? 9 : 5;
}

}  // namespace

std::size_t resident_bytes(const ResidentShape& s, Index element_bytes) {
  const Index of_level =
      Index{s.delay + 2 + kept_aside(s.wraps)} * s.width() * s.height() + Index{2} * s.around();
  return static_cast<std::size_t>(of_level * s.levels * element_bytes + 160);
}

ResidentShape resident_shape(const GridLayout& g, const Boundaries& faces, int levels, Index element_bytes,
                             const DeviceFacts& facts) {
  ResidentShape best;
  Index least = 0;
  const bool wraps = faces.low[0].kind == Kind::periodic, whole_x = faces.low[2].kind == Kind::periodic,
             whole_y = faces.low[1].kind == Kind::periodic;
  for (const int lanes : {8, 4})
    for (int columns = 1; columns <= 6; ++columns)
      for (int rows = 1; rows <= 6; ++rows) {
        ResidentShape s;
        s.wraps = wraps;
        s.lanes = lanes, s.columns = columns, s.rows = rows;
        const Index x = ceil_div(g.n[2], s.width()), y = ceil_div(g.n[1], s.height());
        if (x * y > facts.multiprocessors || columns * rows * element_bytes > 200) continue;
        s.is_whole = x * s.width() == g.n[2] && y * s.height() == g.n[1];
        if ((whole_x && x * s.width() != g.n[2]) || (whole_y && y * s.height() != g.n[1])) continue;
        s.tiles_x = static_cast<int>(x), s.tiles_y = static_cast<int>(y);
        s.levels = levels > 0 ? levels : levels_for(columns * rows * element_bytes);
        // Fewer levels than turns that a plane is under way would leave warps without work.
        s.levels = static_cast<int>(std::min<Index>(s.levels, (g.n[0] - 2) / least_delay(wraps)));
        if (s.levels < 1 || (levels > 0 && s.levels < levels)) continue;
        const auto fits = [&](int delay) {
          s.delay = delay;
          return g.n[0] > Index{delay} * s.levels + 1 &&
                 resident_bytes(s, element_bytes) <= facts.shared_memory_bytes;
        };
        while (s.levels > 1 && levels == 0 && !fits(least_delay(wraps))) --s.levels;
        if (!fits(least_delay(wraps))) continue;
        for (s.delay = most_delay; !fits(s.delay);) --s.delay;
        const Index cost = Index{columns} * rows * 64 + s.around();
        if (best.columns > 0 && cost >= least) continue;
        least = cost;
        best = s;
      }
  return best;
}

std::optional<std::string> why_not_resident(const std::vector<Definition>& chain, const GridLayout& layout,
                                            const std::vector<Boundaries>& fields, const Schedule& schedule) {
  Schedule rest = schedule;
  rest.kind = Schedule::Kind::naive;
  rest.steps = 1;
  if (rest != Schedule{}) return fmt::format("'{}': cuda resident has steps= alone", to_string(schedule));
  if (schedule.steps > 29)
    return fmt::format("steps={}: a block of cuda resident has a warp for each, up to 29", schedule.steps);
  if (chain.size() != 1) return "cuda resident: one stencil a step, and this is a chain; use cuda";
  const Definition& d = chain[0];
  const ProgramView p = d.view();
  const auto refuse = [&](const std::string& why) {
    return fmt::format("cuda resident: {} {}; use cuda or cuda overlapped", d.name, why);
  };
  if (p.rank != 3) return refuse("is for 2D, and blocks go through planes");
  if (p.red_black) return refuse("is red-black, and a warp does a whole step at once");
  if (p.reduction_count > 0) return refuse("has a sum that rides along");
  if (p.output_count != 1 || !p.reads(p.outputs[0].field, TimeLevel::current) ||
      p.reads(p.outputs[0].field, TimeLevel::previous))
    return refuse("does not carry exactly one field from one step to the next");
  const EvolvingFields evolving = evolving_fields(p);
  if (p.reach(evolving.field[0]).radius() > 1 || is_diagonal(p, evolving))
    return refuse("reads more of its field than the six points around one");
  const bool wraps = fields[static_cast<std::size_t>(evolving.field[0])].low[0].kind == Kind::periodic;
  if (layout.n[0] < least_delay(wraps) + 2)
    return refuse(fmt::format("has {} planes here, and more than {} are under way", layout.n[0],
                              least_delay(wraps) + 1));
  return std::nullopt;
}

bool resident_fits(const std::vector<Definition>& chain, const GridLayout& layout,
                   const std::vector<Boundaries>& fields, Index element_bytes, const DeviceFacts& facts) {
  Schedule s;
  s.kind = Schedule::Kind::resident;
  if (why_not_resident(chain, layout, fields, s) || facts.capability < 80) return false;
  const int f = evolving_fields(chain[0].view()).field[0];
  return resident_shape(layout, fields[static_cast<std::size_t>(f)], 0, element_bytes, facts).columns > 0;
}

const KernelInstance& resident_instance(const Definition& definition, StencilNumbers numbers,
                                        const ResidentShape& s, const std::vector<Boundaries>& faces) {
  const EvolvingFields evolving = evolving_fields(definition.view());
  const Boundaries& b = faces[static_cast<std::size_t>(evolving.field[0])];
  std::vector<int> codes;
  for (std::size_t a = 0; a < 3; ++a)
    for (const Boundary& face : {b.low[a], b.high[a]}) codes.push_back(face_code(face));
  return stencil_instance(stencil_resident_source, definition, numbers,
                          {"EVOLVING=1", fmt::format("READ_OF={{{}}}", evolving.read[0]), "OUTPUT_OF={0}",
                           fmt::format("FACES={{{{{}}}}}", fmt::join(codes, ",")),
                           fmt::format("LEVELS={}", s.levels), fmt::format("LANES_X={}", s.lanes),
                           fmt::format("COLUMNS={}", s.columns), fmt::format("ROWS={}", s.rows),
                           fmt::format("DELAY={}", s.delay), fmt::format("WHOLE={}", s.is_whole ? 1 : 0)},
                          80);
}

template <class T>
ResidentPass<T>::ResidentPass(Context& context, const Plan<T>& plan) : context_(context) {
  const GridLayout& g = plan.layout;
  const Definition& d = *plan.chain[0].definition;
  const DeviceFacts& facts = context.facts();
  if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>)
    throw ArgumentError("cuda resident: its points are float or double; use cuda or cuda overlapped");
  if (facts.capability < 80)
    throw ArgumentError(fmt::format(
        "cuda resident: {} lacks the copies into shared memory that it needs; use cuda", facts.name));
  for (const auto& field : plan.fields) faces_.push_back(field.boundaries);
  const EvolvingFields evolving = evolving_fields(d.view());
  read_ = evolving.read[0];
  const Boundaries& b = faces_[static_cast<std::size_t>(evolving.field[0])];
  const int asked = plan.schedule.steps > 1 ? plan.schedule.steps : 0;
  shape_ = resident_shape(g, b, asked, sizeof(T), facts);
  if (shape_.columns == 0)
    throw ArgumentError(fmt::format(
        "cuda resident: no tiles of planes of {} x {}, with {} of them, leave one block to each of "
        "the {} multiprocessors of {} and {} bytes of shared memory{}; use cuda overlapped",
        g.n[1], g.n[2], g.n[0], facts.multiprocessors, facts.name, facts.shared_memory_bytes,
        b.low[1].kind == Kind::periodic || b.low[2].kind == Kind::periodic
            ? " (periodic axes are cut into tiles of one size, a multiple of 4)"
            : ""));
  instance_ = &resident_instance(d, stencil_numbers<T>(plan.chain[0].in_double), shape_, faces_);
  for (std::size_t a = 0; a < 3; ++a) {
    work_.grid.add[0][2 * a] = b.low[a].kind == Kind::neumann ? b.low[a].value : 0;
    work_.grid.add[0][2 * a + 1] = b.high[a].kind == Kind::neumann ? b.high[a].value : 0;
    work_.grid.lowest[a] = static_cast<int>(-g.halo.low[a]);
    work_.grid.highest[a] = static_cast<int>(g.n[a] - 1 + g.halo.high[a]);
  }
  work_.grid.tiles_x = shape_.tiles_x;
  work_.grid.tiles_y = shape_.tiles_y;
  const std::size_t blocks = static_cast<std::size_t>(shape_.blocks());
  records_ =
      context_.memory().allocate(blocks *
                                 static_cast<std::size_t>((2 * shape_.delay + kept_aside(shape_.wraps)) *
                                                          shape_.levels * shape_.around()) *
                                 sizeof(T));
  done_ = context_.memory().allocate(blocks * 4);
  work_.records = records_.get();
  work_.done = reinterpret_cast<unsigned*>(done_.get());
  shared_bytes_ = resident_bytes(shape_, sizeof(T));
  context_.modules().function(*instance_, "resident", shared_bytes_);
}

template <class T>
bool ResidentPass<T>::suits(const Plan<T>& plan) const {
  for (std::size_t f = 0; f < faces_.size(); ++f)
    if (plan.fields[f].boundaries != faces_[f]) return false;
  return true;
}

template <class T>
bool ResidentPass<T>::run(const StencilWork& work, int levels) {
  const int passes = (levels + shape_.levels - 1) / shape_.levels;
  cuda::zero_bytes(done_.get(), {DeviceKind::cuda, context_.index()},
                   static_cast<std::size_t>(shape_.blocks()) * 4);
  work_.passes = passes;
  work_.last = levels - (passes - 1) * shape_.levels;
  launch_together(context_, *instance_, "resident", {static_cast<unsigned>(shape_.blocks())},
                  {static_cast<unsigned>(shape_.threads())}, shared_bytes_, work, work_);
  return passes % 2 == 1;
}

template <class T>
void ResidentPass<T>::turn(StencilWork& work) const {
  void* const out = work.out[0];
  work.out[0] = const_cast<void*>(work.in[read_]);
  work.in[read_] = out;
}

template class ResidentPass<float>;
template class ResidentPass<double>;
template class ResidentPass<cfloat>;
template class ResidentPass<cdouble>;
template class ResidentPass<Half>;

}  // namespace spinloom::cuda
