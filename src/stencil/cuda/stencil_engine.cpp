#include "stencil/cuda/stencil_engine.hpp"

#include <fmt/format.h>

#include <cstring>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/memory.hpp"

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
  for (const auto& kernel : plan.chain) {
    Stage stage;
    const Index x = plan.schedule.block_x, y = plan.schedule.block_y;
    stage.gather = &stencil_instance(
        stencil_gather_source, *kernel.definition, stencil_numbers<T>(kernel.in_double),
        {fmt::format("BLOCK_X={}", x == 0 ? 64 : x), fmt::format("BLOCK_Y={}", y == 0 ? 4 : y)});
    const ProgramView p = kernel.view();
    context_.modules().function(*stage.gather, p.reduction_count > 0 ? "gather_reduced" : "gather");
    stages_.push_back(stage);
  }
  for (std::size_t r = 0; r < plan.reduced.size(); ++r)
    reduced_.push_back(context_.memory().allocate(plan.reduced[r].size() * sizeof(double)));
}

template <class T>
void StencilEngine<T>::start() {
  halos_.clear();
  for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
    const auto& field = plan_.fields[f];
    halos_.emplace_back(plan_.layout, field.rules);
    halos_[f].fill(field.origin[0]);
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
void StencilEngine<T>::gather(Index l) {
  const std::size_t k = static_cast<std::size_t>(plan_.level(l).kernel);
  const ProgramView p = plan_.chain[k].view();
  const StencilWork w = work(l);
  const Index rows = w.nz * w.ny;
  if (p.reduction_count > 0) {
    launch(context_, *stages_[k].gather, "gather_reduced", one_row_of_blocks(blocks_of(rows, reduced_rows)),
           {256}, 0, w);
    return;
  }
  const Index x = plan_.schedule.block_x == 0 ? 64 : plan_.schedule.block_x,
              y = plan_.schedule.block_y == 0 ? 4 : plan_.schedule.block_y;
  const Index columns = p.red_black ? (w.nx + 1) / 2 : w.nx;
  launch(context_, *stages_[k].gather, "gather",
         one_row_of_blocks(blocks_of(columns, x) * blocks_of(rows, y)),
         {static_cast<unsigned>(x), static_cast<unsigned>(y)}, 0, w);
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
void StencilEngine<T>::advance(Index first_level, Index levels) {
  for (Index l = first_level; l < first_level + levels; ++l) {
    gather(l);
    follow(l);
  }
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

}  // namespace spinloom::cuda
