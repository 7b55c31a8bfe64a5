#include "stencil/cuda/stencil_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/memory.hpp"
#include "stencil/cuda/stencil_choice.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_gather_source;

using stencil::Plan;
using stencil::ProgramView;

namespace {

constexpr Index reduced_rows = 16;  // as in stencil_gather.cu

Index blocks_of(Index count, Index size) { return (count + size - 1) / size; }

Grid one_row_of_blocks(Index count) {
  if (count > 0x7fffffff)
    throw ArgumentError(
        fmt::format("stencil: {} blocks of threads are more than a GPU starts at once", count));
  return {static_cast<unsigned>(count)};
}

}  // namespace

template <class T>
StencilEngine<T>::StencilEngine(const Plan<T>& plan)
    : plan_(plan), context_(context(plan.layout.device.index)) {
  if (plan.schedule.kind == stencil::Schedule::Kind::layered) {
    overlapped_ = std::make_unique<OverlappedPass<T>>(context_, plan);
    return;
  }
  for (const auto& kernel : plan.chain) {
    Stage stage;
    const auto numbers = stencil_numbers<T>(kernel.in_double);
    const stencil::Schedule s = plan.schedule.kind == stencil::Schedule::Kind::cuda
                                    ? chosen_schedule(kernel.view(), sizeof(T), plan.layout, context_.facts())
                                    : plan.schedule;
    if (s.kind == stencil::Schedule::Kind::tile) {
      stage.kernel = "tile";
      stage.march = march_shape(s, sizeof(T), plan.layout.rank == 2);
      const TileShape tile{.points = stage.march.points,
                           .rows = stage.march.rows,
                           .depth = s.depth > 0 ? s.depth : 4,
                           .block_x = stage.march.block_x,
                           .block_y = stage.march.block_y,
                           .shuffle = stage.march.shuffle,
                           .wide = plan.layout.plane_stride * Index{sizeof(T)} >= Index{0xf0000000},
                           .blocks = stage.march.blocks};
      stage.depth = tile.depth;
      stage.band = s.band > 0 ? blocks_of(s.band, tile.block_y * tile.rows) : Index{1} << 30;
      stage.instance = &tile_instance(*kernel.definition, numbers, tile);
    } else if (s.kind == stencil::Schedule::Kind::march || s.kind == stencil::Schedule::Kind::ring) {
      stage.march = march_shape(s, sizeof(T), plan.layout.rank == 2);
      // Short ways keep blocks close to one another in memory; with long reaches they would read too much twice.
      stage.depth = s.depth > 0 ? s.depth : kernel.view().reach().radius(0) > 1 ? 128 : 48;
      const DeviceFacts& facts = context_.facts();
      if (!stage.march.ring &&
          (facts.capability < 80 || sizeof(T) * stage.march.points < 4))  // no such copies
        stage.march.ahead = std::min(stage.march.ahead, 1);
      stage.kernel = stage.march.ring ? "ring" : "march";
      const MarchKernel made = march_kernel(*kernel.definition, numbers, stage.march);
      stage.instance = made.instance;
      stage.shared_bytes = made.shared_bytes;
      stage.boxes = made.boxes;
      if (stage.march.ring && facts.capability < 90)
        throw ArgumentError(fmt::format("{}: {} lacks the bulk copies that cuda ring needs; use cuda march",
                                        kernel.definition->name, facts.name));
      if (stage.shared_bytes > facts.shared_memory_bytes)
        throw ArgumentError(fmt::format(
            "{}: a block of '{}' needs {} bytes of shared memory, {} has {}; choose a smaller block, fewer "
            "rows or ahead=1",
            kernel.definition->name, to_string(s), stage.shared_bytes, facts.name,
            facts.shared_memory_bytes));
    } else {
      if (kernel.view().reduction_count > 0) stage.kernel = "gather_reduced";
      stage.march.block_x = s.block_x == 0 ? 64 : s.block_x;
      stage.march.block_y = s.block_y == 0 ? 4 : s.block_y;
      stage.instance = &stencil_instance(
          stencil_gather_source, *kernel.definition, numbers,
          {fmt::format("BLOCK_X={}", stage.march.block_x), fmt::format("BLOCK_Y={}", stage.march.block_y)});
    }
    context_.modules().function(*stage.instance, stage.kernel, stage.shared_bytes);
    stages_.push_back(stage);
  }
  for (std::size_t r = 0; r < plan.reduced.size(); ++r)
    reduced_.push_back(context_.memory().allocate(plan.reduced[r].size() * sizeof(double)));
}

template <class T>
void StencilEngine<T>::fill_outside() {
  if (overlapped_ && !overlapped_->suits(plan_))
    overlapped_ = std::make_unique<OverlappedPass<T>>(context_, plan_);
  halos_.clear();
  for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
    const auto& field = plan_.fields[f];
    halos_.emplace_back(plan_.layout, field.rules);
    halos_[f].fill(field.origin[0]);
  }
}

template <class T>
void StencilEngine<T>::copy_outside() {
  for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
    const auto& field = plan_.fields[f];
    if (field.origin[1] != field.origin[0]) halos_[f].copy_outside(field.origin[0], field.origin[1]);
  }
}

template <class T>
StencilWork StencilEngine<T>::work(Index l) const {
  const auto& level = plan_.level(l);
  const std::size_t k = static_cast<std::size_t>(level.kernel);
  const auto& kernel = plan_.chain[k];
  const auto& g = plan_.layout;
  StencilWork w;
  const auto& reads = plan_.reads[k];
  for (std::size_t r = 0; r < reads.size(); ++r) w.in[r] = plan_.read(l, reads[r].read);
  for (std::size_t o = 0; o < kernel.definition->outputs.size(); ++o)
    w.out[o] = plan_.written(l, static_cast<std::size_t>(kernel.definition->outputs[o].field));
  for (std::size_t r = 0; r < kernel.definition->reductions.size(); ++r)
    w.reduced[r] = reinterpret_cast<double*>(reduced_[r].get());
  w.row = g.row_stride;
  w.plane = g.plane_stride;
  w.nz = g.n[0];
  w.ny = g.n[1];
  w.nx = g.n[2];
  w.colour = level.colour;
  for (std::size_t p = 0; p < plan_.params.size(); ++p) {
    if (kernel.in_double || sizeof(stencil::real_of<T>) == 8) {
      std::memcpy(w.params + p * 8, &plan_.params[p], 8);
    } else {
      const float value = static_cast<float>(plan_.params[p]);
      std::memcpy(w.params + p * 4, &value, 4);
    }
  }
  return w;
}

template <class T>
void StencilEngine<T>::gather(const Stage& stage, const StencilWork& w, bool half_of_points) {
  const Index rows = w.nz * w.ny, x = stage.march.block_x, y = stage.march.block_y;
  if (stage.kernel == std::string_view("gather_reduced"))
    return launch(context_, *stage.instance, stage.kernel, one_row_of_blocks(blocks_of(rows, reduced_rows)),
                  {256}, 0, w);
  const Index columns = half_of_points ? (w.nx + 1) / 2 : w.nx;
  launch(context_, *stage.instance, stage.kernel,
         one_row_of_blocks(blocks_of(columns, x) * blocks_of(rows, y)),
         {static_cast<unsigned>(x), static_cast<unsigned>(y)}, 0, w);
}

template <class T>
void StencilEngine<T>::march(const Stage& stage, const StencilWork& w) {
  const MarchShape& s = stage.march;
  const Index tiles = blocks_of(w.nx, s.block_x * s.points) * blocks_of(w.ny, s.block_y * s.rows) *
                      blocks_of(w.nz, stage.depth);
  const Grid block{static_cast<unsigned>(s.block_x), static_cast<unsigned>(s.block_y)};
  if (s.ring)
    launch(context_, *stage.instance, stage.kernel, one_row_of_blocks(tiles), block, stage.shared_bytes, w,
           boxes(stage, w), stage.depth);
  else
    launch(context_, *stage.instance, stage.kernel, one_row_of_blocks(tiles), block, stage.shared_bytes, w,
           stage.depth);
}

template <class T>
Boxes StencilEngine<T>::boxes(const Stage& stage, const StencilWork& w) const {
  const auto& g = plan_.layout;
  const auto words = [](Index elements) { return elements * Index{sizeof(T)} / 4; };
  Boxes b;
  const Index unit = 16 / Index{sizeof(T)}, left = (g.halo.low[2] + unit - 1) / unit * unit;
  b.x = static_cast<int>(words(left));
  b.y = static_cast<int>(g.halo.low[1]);
  b.z = static_cast<int>(g.halo.low[0]);
  const unsigned long long sizes[] = {
      static_cast<unsigned long long>(words(g.row_stride)),
      static_cast<unsigned long long>(g.n[1] + g.halo.low[1] + g.halo.high[1]),
      static_cast<unsigned long long>(g.n[0] + g.halo.low[0] + g.halo.high[0])};
  const unsigned long long strides[] = {static_cast<unsigned long long>(4 * words(g.row_stride)),
                                        static_cast<unsigned long long>(4 * words(g.plane_stride))};
  const unsigned steps[] = {1, 1, 1};
  const Current current(context_);
  for (const MarchKernel::Box& box : stage.boxes) {
    const unsigned extent[] = {static_cast<unsigned>(box.words), static_cast<unsigned>(box.rows), 1};
    void* const first = const_cast<T*>(static_cast<const T*>(w.in[box.read]) - left -
                                       g.halo.low[1] * g.row_stride - g.halo.low[0] * g.plane_stride);
    SPINLOOM_CUDA(TensorMapEncodeTiled, &b.map[box.read], tensor_words_of_32_bits, 3, first, sizes, strides,
                  extent, steps, 0, 0, tensor_promotion_to_128_bytes, 0);
  }
  return b;
}

template <class T>
void StencilEngine<T>::tile(const Stage& stage, const StencilWork& w) {
  const MarchShape& s = stage.march;
  const Index tiles_y = blocks_of(w.ny, s.block_y * s.rows), band = std::min(stage.band, tiles_y);
  const Index tiles_x = blocks_of(w.nx, s.block_x * s.points),
              layers = blocks_of(tiles_y, band) * blocks_of(w.nz, stage.depth);
  constexpr Index longest = 65535;  // second and third axis of a grid of blocks
  const bool is_long = band > longest || layers > longest;
  const Grid tiles = is_long ? one_row_of_blocks(tiles_x * band * layers)
                             : Grid{static_cast<unsigned>(tiles_x), static_cast<unsigned>(band),
                                    static_cast<unsigned>(layers)};
  launch(context_, *stage.instance, stage.kernel, tiles,
         {static_cast<unsigned>(s.block_x), static_cast<unsigned>(s.block_y)}, 0, w,
         static_cast<unsigned>(band), static_cast<unsigned>(is_long));
}

template <class T>
void StencilEngine<T>::follow(Index l) {
  const auto& definition = *plan_.chain[static_cast<std::size_t>(plan_.level(l).kernel)].definition;
  for (const stencil::Output& o : definition.outputs) {
    const std::size_t f = static_cast<std::size_t>(o.field);
    if (plan_.fields[f].is_read_around && halos_[f].moves()) halos_[f].follow(plan_.written(l, f));
  }
}

template <class T>
void StencilEngine<T>::begin_batch() {
  const Current current(context_);
  if (done_[turn_] != nullptr) SPINLOOM_CUDA(EventSynchronize, done_[turn_]);
}

template <class T>
void StencilEngine<T>::end_batch() {
  const Current current(context_);
  if (done_[turn_] == nullptr) SPINLOOM_CUDA(EventCreate, &done_[turn_], event_disable_timing);
  SPINLOOM_CUDA(EventRecord, done_[turn_], context_.stream());
  turn_ = 1 - turn_;
}

template <class T>
void StencilEngine<T>::advance(Index first_level, Index levels) {
  begin_batch();
  for (Index l = first_level; l < first_level + levels; ++l) {
    compute(l, work(l));
    follow(l);
  }
  end_batch();
}

template <class T>
void StencilEngine<T>::compute(Index l, const StencilWork& w) {
  const std::size_t k = static_cast<std::size_t>(plan_.level(l).kernel);
  if (stages_[k].band > 0)
    tile(stages_[k], w);
  else if (stages_[k].depth > 0)
    march(stages_[k], w);
  else
    gather(stages_[k], w, plan_.chain[k].view().red_black);
}

template <class T>
void StencilEngine<T>::compute(Index l, const stencil::Box& box) {
  if (box.is_empty()) return;
  StencilWork w = work(l);
  const Index offset = box.begin[0] * w.plane + box.begin[1] * w.row + box.begin[2];
  for (const void*& in : w.in)
    if (in != nullptr) in = static_cast<const T*>(in) + offset;
  for (void*& out : w.out)
    if (out != nullptr) out = static_cast<T*>(out) + offset;
  w.nz = box.end[0] - box.begin[0];
  w.ny = box.end[1] - box.begin[1];
  w.nx = box.end[2] - box.begin[2];
  w.colour ^= static_cast<int>((box.begin[0] + box.begin[1] + box.begin[2]) & 1);
  compute(l, w);
}

template <class T>
StencilEngine<T>::~StencilEngine() {
  if (done_[0] == nullptr) return;
  const Current current(context_);
  for (const EventHandle event : done_)
    if (event != nullptr) driver().EventDestroy(event);
}

template <class T>
bool StencilEngine<T>::advance_overlapped(Index steps) {
  begin_batch();
  StencilWork w = work(0);
  const Index levels_of_step = static_cast<Index>(plan_.levels.size());
  bool in_second = false;
  for (Index left = steps * levels_of_step; left > 0;) {
    const Index now = std::min<Index>(left, overlapped_->levels());
    overlapped_->run(w, static_cast<int>(now));
    overlapped_->turn(w);
    in_second = !in_second;
    left -= now;
  }
  end_batch();
  return in_second;
}

template <class T>
void StencilEngine<T>::reduced(std::size_t index, std::vector<double>& rows) const {
  copy_bytes(reinterpret_cast<std::byte*>(rows.data()), Device{}, reduced_[index].get(), plan_.layout.device,
             rows.size() * sizeof(double));
}

template class StencilEngine<float>;
template class StencilEngine<double>;
template class StencilEngine<cfloat>;
template class StencilEngine<cdouble>;
template class StencilEngine<stencil::Half>;

}  // namespace spinloom::cuda
