#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/memory.hpp"
#include "stencil/cuda/kernel_use.hpp"
#include "stencil/cuda/stencil_engine.hpp"
#include "stencil/model/gpu_counts.hpp"
#include "stencil/stepper_state.hpp"

/// A kernel as it is, at work on a grid that takes hardly any memory: planes (rows, in 2D) lie so close to one another that
/// all of them together fit into half of the level 2 cache. They overlap, so that the values are nobody's; what a block reads
/// is in different places still where a level 1 cache would see it.
namespace spinloom::stencil {

using Kind = Schedule::Kind;

namespace {

Index round_up(Index value, Index to) { return (value + to - 1) / to * to; }

/// The grid's layout, folded.
GridLayout folded(const GpuPasses& in, const GpuCut& cut, double arrays) {
  GridLayout g = in.layout;
  const Index line = 128 / in.element_bytes;
  const Index most =
      static_cast<Index>(0.4 * double(in.machine.level2_bytes) / (arrays * double(in.element_bytes)));
  // Blocks that fetch past the level 1 cache may find a plane one row further on.
  const bool is_cached = cut.schedule.kind != Kind::ring && cut.schedule.kind != Kind::layered;
  const auto within = [](Index value, Index least, Index limit) {
    return std::max<Index>(1, std::min(limit, std::max(least, value)));
  };
  const Index pads = 2 * line;
  if (g.rank == 2) {
    g.n[2] = within(most / 2, 4 * cut.tile[2], g.n[2]);
    g.plane_stride = round_up(cut.tile[2] + g.halo.low[2] + g.halo.high[2], line);
    g.row_stride = g.plane_stride;
    g.n[0] = within((most - g.n[2]) / g.plane_stride, 2 * cut.tile[0], g.n[0]);
  } else {
    g.n[2] = within(most / 256, 4 * cut.tile[2], g.n[2]);
    g.row_stride = round_up(g.n[2] + g.halo.high[2], line) + pads;
    const Index rows = most / g.row_stride;
    g.n[1] = within(rows / 2, 2 * cut.tile[1], g.n[1]);
    const Index apart = is_cached ? cut.tile[1] + g.halo.low[1] + g.halo.high[1] + 1 : 1;
    g.plane_stride = apart * g.row_stride;
    g.n[0] = within((rows - g.n[1]) / apart, std::min<Index>(2 * cut.tile[0], 16), g.n[0]);
  }
  // Everything that a block may touch: halos, a tile past the end, and a line before the first point.
  g.origin = round_up(g.halo.low[0] * g.plane_stride + (g.halo.low[1] + 2) * g.row_stride + pads, line);
  g.elements = g.origin + (g.n[0] + g.halo.high[0] + 1) * g.plane_stride +
               (g.n[1] + g.halo.high[1] + 2) * g.row_stride + cut.tile[2] + g.n[2] + pads;
  return g;
}

/// Numbers near 1, no two neighbours alike: zeros would send quotients and roots the slow way.
template <class T>
void fill_with_ones(std::byte* memory, std::size_t bytes, Device device) {
  constexpr std::size_t period = 16381;  // a prime, so that rows differ too
  std::vector<T> values(period);
  for (std::size_t i = 0; i < period; ++i)
    values[i] = T(static_cast<float>(1 + 0.25 * double(i * 7919 % period) / double(period)));
  const auto copy = [&](std::size_t to, const void* from, Device there, std::size_t size) {
    copy_bytes(memory + to, device, static_cast<const std::byte*>(from), there, size);
  };
  const std::size_t first = std::min(bytes, period * sizeof(T));
  copy(0, values.data(), Device{}, first);
  for (std::size_t done = first; done < bytes; done *= 2)
    copy(done, memory, device, std::min(done, bytes - done));
}

template <class T>
struct Rehearsal {
  std::vector<Grid<T>> grids;
  std::vector<FieldGrids<T>> bound;
  std::unique_ptr<StepperState<T>> state;
  std::vector<std::shared_ptr<std::byte>> memory;
  std::unique_ptr<cuda::StencilEngine<T>> engine;
  GpuPasses small;  ///< as the whole one, of what is run
  int colours = 1;

  Rehearsal(const Kernel<T>& kernel, const GpuPasses& in, std::size_t k) : small(in) {
    const GpuCut cut = gpu_cut(in, k);
    const auto& n = in.layout.n;
    const Shape shape = in.layout.rank == 2 ? Shape{std::min<Index>(n[0], 64), std::min<Index>(n[2], 64)}
                                            : Shape{std::min<Index>(n[0], 64), std::min<Index>(n[1], 64),
                                                    std::min<Index>(n[2], 64)};
    grids.reserve(2 * in.fields.size());
    for (std::size_t f = 0; f < in.fields.size(); ++f) {
      const auto add = [&]() -> Grid<T>& {
        grids.emplace_back(shape, in.layout.halo, Boundary{}, in.layout.device);
        for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
          const std::size_t slot = shape.size() == 2 && axis == 1 ? 2 : static_cast<std::size_t>(axis);
          grids.back().set_boundary(axis, in.fields[f].low[slot], in.fields[f].high[slot]);
        }
        return grids.back();
      };
      Grid<T>& current = add();
      if (kernel.view().reads(static_cast<int>(f), TimeLevel::previous))
        bound.push_back({current, add()});
      else
        bound.push_back({current});
    }
    // By itself a stencil has nothing to hand on, which would be refused.
    Schedule alone = cut.schedule;
    if (alone.kind == Kind::ring) alone.shuffle = false;
    state = std::make_unique<StepperState<T>>(std::vector<Kernel<T>>{kernel}, bound, alone);
    state->fill_halos();
    Plan<T>& plan = state->plan;
    plan.schedule = cut.schedule;
    plan.handed = in.passes[k].handed.values;
    plan.handed_reach = in.passes[k].handed.reach;
    colours = static_cast<int>(plan.levels.size());
    double arrays = 0;
    for (const auto& field : plan.fields) arrays += field.origin[1] == field.origin[0] ? 1 : 2;
    plan.layout = folded(in, cut, arrays);
    small.layout = plan.layout;
    cuda::Context& context = cuda::context(in.layout.device.index);
    for (auto& field : plan.fields) {
      const bool is_one = field.origin[1] == field.origin[0];
      for (T*& origin : field.origin) {
        if (is_one && &origin == &field.origin[1]) {
          origin = field.origin[0];
          continue;
        }
        const std::size_t bytes = static_cast<std::size_t>(plan.layout.elements) * sizeof(T);
        memory.push_back(context.memory().allocate(bytes));
        fill_with_ones<T>(memory.back().get(), bytes, in.layout.device);
        origin = reinterpret_cast<T*>(memory.back().get()) + plan.layout.origin;
      }
    }
    for (auto& rows : plan.reduced)
      rows.resize(static_cast<std::size_t>(plan.layout.n[0] * plan.layout.n[1]));
    engine = std::make_unique<cuda::StencilEngine<T>>(plan);
  }

  void run(int passes) {
    if (engine->takes_passes()) {
      engine->advance_overlapped(passes * engine->steps_at_once());
      return;
    }
    const auto& n = state->plan.layout.n;
    engine->begin_batch();
    for (int p = 0; p < passes; ++p)
      for (int l = 0; l < colours; ++l) engine->compute(l, Box{{0, 0, 0}, {n[0], n[1], n[2]}});
    engine->end_batch();
  }

  double seconds_of_a_pass() {
    cuda::Context& context = cuda::context(small.layout.device.index);
    const auto timed = [&](int passes) {
      cuda::Event begin(context), end(context);
      begin.record();
      run(passes);
      end.record();
      return 1e-3 * end.milliseconds_since(begin) / passes;
    };
    timed(1);
    const int passes = static_cast<int>(std::clamp(1e-3 / std::max(1e-7, timed(2)), 4.0, 64.0));
    double best = 1e30;
    for (int round = 0; round < 3; ++round) best = std::min(best, timed(passes));
    return best;
  }
};

}  // namespace

template <class T>
void rehearse_gpu(const std::vector<Kernel<T>>& chain, GpuModelInput& in) {
  if (chain.size() != in.chain.size())
    throw ArgumentError("stencil model: the chain is not that of the input");
  in.kernels.clear();
  in.on_chip.clear();
  const GpuPasses passes = gpu_passes(in);
  const auto& n = in.layout.n;
  const double points = double(std::max<Index>(1, n[0] * n[1] * n[2]));
  for (std::size_t k = 0; k < passes.chain.size(); ++k) {
    const Kernel<T> kernel{std::make_shared<const Definition>(passes.chain[k]), {}, nullptr, in.in_double};
    Rehearsal<T> rehearsal(kernel, passes, k);
    const auto uses = rehearsal.engine->uses();
    if (uses.empty())
      throw ArgumentError(fmt::format("stencil model: '{}' is not modelled", to_string(in.schedule)));
    const cuda::KernelUse& use = uses[0];
    in.kernels.push_back({use.threads, use.registers, static_cast<std::int64_t>(use.local_bytes),
                          static_cast<std::int64_t>(use.shared_bytes), use.blocks_at_once});
    const GpuCut whole = gpu_cut(passes, k), small = gpu_cut(rehearsal.small, k);
    const bool is_layered = whole.schedule.kind == Kind::layered;
    const int launches = is_layered ? 1 : rehearsal.colours;
    double seconds = std::max(1e-7, rehearsal.seconds_of_a_pass() - launches * in.machine.launch_seconds);
    // Its own last wave is not full either.
    const double waves = double(small.tiles[0] * small.tiles[1] * small.tiles[2]) /
                         std::max(1.0, double(use.blocks_at_once) * in.machine.multiprocessors);
    seconds *= waves / std::ceil(waves);
    const double updates = is_layered ? double(whole.levels) / rehearsal.colours : 1;
    in.on_chip.push_back(seconds / gpu_covered(rehearsal.small, k, small) * gpu_covered(passes, k, whole) /
                         points / updates);
  }
}

template <class T>
GpuModelInput gpu_model_input(const std::vector<Kernel<T>>& chain, const GridLayout& layout,
                              const std::vector<Boundaries>& fields, const Schedule& schedule, Index steps) {
  GpuModelInput in;
  for (const auto& k : chain) {
    in.chain.push_back(*k.definition);
    in.in_double = in.in_double || k.in_double;
  }
  in.layout = layout;
  in.fields = fields;
  in.element_bytes = sizeof(T);
  in.is_complex = std::is_same_v<T, cfloat> || std::is_same_v<T, cdouble>;
  in.schedule = schedule;
  in.steps = steps;
  return in;
}

#define SPINLOOM_INSTANTIATE(T)                                                            \
  template void rehearse_gpu(const std::vector<Kernel<T>>&, GpuModelInput&);               \
  template GpuModelInput gpu_model_input(const std::vector<Kernel<T>>&, const GridLayout&, \
                                         const std::vector<Boundaries>&, const Schedule&, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
