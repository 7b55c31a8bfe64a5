#include "stencil/cuda/stencil_resident.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/memory.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_resident_source;

using namespace stencil;
using Kind = Boundary::Kind;

namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

int points_of(Index element_bytes) { return static_cast<int>(std::max<Index>(1, 16 / element_bytes)); }

int code_of(const Boundary& b) {
  switch (b.kind) {
    case Kind::periodic: return 1;
    case Kind::clamp: return 2;
    case Kind::reflect: return 3;
    case Kind::neumann: return 4;
    default: return 0;
  }
}

}  // namespace

ResidentShape resident_shape(const GridLayout& g, Index element_bytes, const DeviceFacts& facts) {
  const Index points = points_of(element_bytes), row = points + ceil_div(g.n[2] + 1, points) * points;
  ResidentShape best;
  Index least = 0;
  // Faces that mirror look at the second cell of a box, so that one at the rim has two where the grid has.
  const auto most = [](Index n) { return std::max<Index>(1, n / 2); };
  for (Index z = 1; z <= std::min<Index>(facts.multiprocessors, most(g.n[0])); ++z)
    for (Index y = 1; y * z <= facts.multiprocessors && y <= most(g.n[1]); ++y) {
      const Index planes = ceil_div(g.n[0], z), rows = ceil_div(g.n[1], y);
      const Index bytes = (planes + 2) * (rows + 2) * row * element_bytes;
      if (bytes > static_cast<Index>(facts.shared_memory_bytes)) continue;
      const Index cost = planes * rows + planes + rows;  // points to compute, and those to exchange
      if (best.boxes_z > 0 && cost >= least) continue;
      least = cost;
      best.boxes_z = static_cast<int>(z);
      best.boxes_y = static_cast<int>(y);
      best.planes = static_cast<int>(planes);
      best.rows = static_cast<int>(rows);
      best.row = static_cast<int>(row);
      best.shared_bytes = static_cast<std::size_t>(bytes);
    }
  const Index packs = best.rows * ceil_div(g.n[2], points);
  best.items = static_cast<int>(std::max<Index>(1, ceil_div(packs, 512)));
  best.threads = static_cast<int>(std::max<Index>(32, ceil_div(ceil_div(packs, best.items), 32) * 32));
  return best;
}

std::optional<std::string> why_not_resident(const std::vector<Definition>& chain, const Schedule& schedule) {
  Schedule rest = schedule;
  rest.kind = Schedule::Kind::naive;
  rest.steps = 1;
  if (rest != Schedule{}) return fmt::format("'{}': cuda resident has steps= alone", to_string(schedule));
  if (chain.size() != 1) return "cuda resident: one stencil a step, and this is a chain; use cuda";
  const Definition& d = chain[0];
  const ProgramView p = d.view();
  const auto refuse = [&](const std::string& why) {
    return fmt::format("cuda resident: {} {}; use cuda or cuda overlapped", d.name, why);
  };
  if (p.rank != 3) return refuse("is for 2D, and boxes are cut from grids of three axes");
  if (p.red_black) return refuse("is red-black, and a box does a whole step at once");
  if (p.reduction_count > 0) return refuse("has a sum that rides along");
  if (p.output_count != 1 || !p.reads(p.outputs[0].field, TimeLevel::current) ||
      p.reads(p.outputs[0].field, TimeLevel::previous))
    return refuse("does not carry exactly one field from one step to the next");
  const EvolvingFields evolving = evolving_fields(p);
  if (p.reach(evolving.field[0]).radius() > 1 || is_diagonal(p, evolving))
    return refuse("reads more of its field than the six points around one");
  return std::nullopt;
}

const KernelInstance& resident_instance(const Definition& definition, StencilNumbers numbers,
                                        const ResidentShape& s) {
  const int points = points_of(stencil_bytes(numbers));
  return stencil_instance(stencil_resident_source, definition, numbers,
                          {fmt::format("EVOLVING={}", evolving_fields(definition.view()).read[0]),
                           fmt::format("POINTS={}", points), fmt::format("THREADS={}", s.threads),
                           fmt::format("ITEMS={}", s.items),
                           // More planes hide more latency, and registers end.
                           fmt::format("PLANES={}", s.items * points <= 4 ? 2 : 1)});
}

template <class T>
ResidentPass<T>::ResidentPass(Context& context, const Plan<T>& plan) : context_(context) {
  const GridLayout& g = plan.layout;
  const Definition& d = *plan.chain[0].definition;
  for (const auto& field : plan.fields) faces_.push_back(field.boundaries);
  shape_ = resident_shape(g, sizeof(T), context.facts());
  if (shape_.boxes_z == 0)
    throw ArgumentError(
        fmt::format("cuda resident: a grid of {} x {} x {} does not fit into the shared memory of {} ({} x "
                    "{} bytes); use "
                    "cuda overlapped",
                    g.n[0], g.n[1], g.n[2], context.facts().name, context.facts().multiprocessors,
                    context.facts().shared_memory_bytes));
  if (plan.schedule.steps > 1) steps_ = plan.schedule.steps;
  instance_ = &resident_instance(d, stencil_numbers<T>(plan.chain[0].in_double), shape_);
  const EvolvingFields evolving = evolving_fields(d.view());
  read_ = evolving.read[0];
  const Boundaries& b = faces_[static_cast<std::size_t>(evolving.field[0])];
  for (std::size_t a = 0; a < 3; ++a) {
    work_.face[2 * a] = code_of(b.low[a]);
    work_.face[2 * a + 1] = code_of(b.high[a]);
    work_.add[2 * a] = b.low[a].kind == Kind::neumann ? b.low[a].value : 0;
    work_.add[2 * a + 1] = b.high[a].kind == Kind::neumann ? b.high[a].value : 0;
    work_.lowest[a] = static_cast<int>(-g.halo.low[a]);
    work_.highest[a] = static_cast<int>(g.n[a] - 1 + g.halo.high[a]);
  }
  work_.boxes_z = shape_.boxes_z;
  work_.boxes_y = shape_.boxes_y;
  work_.row = shape_.row;
  work_.plane = (shape_.rows + 2) * shape_.row;
  done_ = context_.memory().allocate(static_cast<std::size_t>(shape_.boxes_z * shape_.boxes_y) * 4);
  work_.done = reinterpret_cast<unsigned*>(done_.get());
  context_.modules().function(*instance_, "resident", shape_.shared_bytes);
}

template <class T>
bool ResidentPass<T>::suits(const Plan<T>& plan) const {
  for (std::size_t f = 0; f < faces_.size(); ++f)
    if (plan.fields[f].boundaries != faces_[f]) return false;
  return true;
}

template <class T>
void ResidentPass<T>::run(const StencilWork& work, int levels) {
  const unsigned blocks = static_cast<unsigned>(shape_.boxes_z * shape_.boxes_y);
  cuda::zero_bytes(done_.get(), {DeviceKind::cuda, context_.index()}, std::size_t{blocks} * 4);
  work_.steps = levels;
  launch_together(context_, *instance_, "resident", {blocks}, {static_cast<unsigned>(shape_.threads)},
                  shape_.shared_bytes, work, work_);
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
