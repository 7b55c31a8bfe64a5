#include "stencil/cuda/stencil_fused.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/memory.hpp"
#include "spinloom/stencil/half.hpp"
#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_engine.hpp"

namespace spinloom::cuda {

using namespace stencil;

template <class T>
FusedChain<T>::FusedChain(Context& context, const Plan<T>& plan)
    : context_(context),
      plan_(plan),
      in_double_(plan.chain[0].in_double),
      numbers_(stencil_numbers<T>(in_double_)) {
  for (const auto& k : plan.chain) chain_.push_back(*k.definition);
  links_ = cut(chain_, plan.schedule.fused);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    std::vector<LinkOutput> last, pass;
    for (const LinkOutput& o : outputs_of(chain_, links_, l)) {
      if (o.is_read) pass.push_back(o);
      if (!(o.is_scratch && plan.schedule.scratch)) last.push_back(o);
    }
    Stage stage;
    const bool differ = last.size() != pass.size();
    stage.pass = variant(l, std::move(pass));
    if (differ) stage.last = variant(l, std::move(last));
    stages_.push_back(std::move(stage));
  }
}

template <class T>
FusedChain<T>::~FusedChain() = default;

template <class T>
std::unique_ptr<typename FusedChain<T>::Variant> FusedChain<T>::variant(
    std::size_t l, std::vector<LinkOutput> outputs) const {
  auto made = std::make_unique<Variant>();
  Variant& v = *made;
  v.outputs = std::move(outputs);
  if (v.outputs.empty()) return made;
  const auto j = joined(chain_, links_[l], v.outputs, between(numbers_));
  if (!j) throw ArgumentError("fused: the chain's stencils are too much for one");  // cut() has seen to it
  std::copy_n(j->low, 3, v.low);
  std::copy_n(j->high, 3, v.high);
  const bool has_rim = std::any_of(v.low, v.low + 3, [](int d) { return d > 0; }) ||
                       std::any_of(v.high, v.high + 3, [](int d) { return d > 0; });
  if (has_rim) v.rim = &rim_instance(chain_, links_[l], v.outputs, numbers_);
  // Rows begin where they do, for the sake of whole packs: what is wrong there the rim's kernel writes anew.
  Plan<T>& p = v.inner;
  p.layout = plan_.layout;
  v.has_inner = true;
  for (std::size_t a = 0; a < 3; ++a) {
    const Index low = a == 2 ? 0 : v.low[a];
    p.layout.n[a] -= low + v.high[a];
    p.layout.halo.low[a] += low;
    p.layout.halo.high[a] += v.high[a];
    v.has_inner &= plan_.layout.n[a] > v.low[a] + v.high[a];
  }
  if (!v.has_inner) return made;
  p.schedule = plan_.schedule;
  p.schedule.fused.clear();
  p.schedule.scratch = false;
  Kernel<T> kernel;
  kernel.in_double = in_double_;
  kernel.definition = std::make_shared<const Definition>(definition_by_fields(*j));
  if (p.schedule.kind == Schedule::Kind::cuda)
    p.schedule = fused_schedule(kernel.view(), sizeof(T), p.layout, context_.facts());
  p.chain = {kernel};
  p.handed = j->handed;
  p.handed_reach = std::max(v.low[2], v.high[2]);
  p.levels = {{0, 0}};
  p.flips = {std::vector<char>(plan_.fields.size(), 0)};
  p.flips_per_step.assign(plan_.fields.size(), 0);
  p.fields.resize(plan_.fields.size());
  p.params = plan_.params;
  p.reach = {kernel.view().reach()};
  p.reads.emplace_back();
  Read list[max_reads];
  const int count = kernel.view().list_reads(list);
  for (int r = 0; r < count; ++r) p.reads[0].push_back({list[r], 0});
  v.engine = std::make_unique<StencilEngine<T>>(p);
  return made;
}

template <class T>
void FusedChain<T>::start() {
  std::vector<Boundaries> faces;
  for (const auto& f : plan_.fields) faces.push_back(f.boundaries);
  if (rules_ && faces == faces_) return;
  faces_ = std::move(faces);
  const std::vector<RimRule> rules = rim_rules(plan_.layout, faces_);
  const std::size_t bytes = rules.size() * sizeof(RimRule);
  rules_ = context_.memory().allocate(bytes);
  copy_bytes(rules_.get(), plan_.layout.device, reinterpret_cast<const std::byte*>(rules.data()), Device{},
             bytes);
  for (std::size_t l = 0; l < links_.size(); ++l)
    for (const auto& v : {stages_[l].pass.get(), stages_[l].last.get()})
      if (v != nullptr) prepare_faces(*v, links_[l]);
}

template <class T>
void FusedChain<T>::run(Variant& v, const std::vector<Arrays>& arrays) const {
  const GridLayout& g = plan_.layout;
  if (v.has_inner) {
    const Index offset = v.low[0] * g.plane_stride + v.low[1] * g.row_stride;
    for (std::size_t f = 0; f < arrays.size(); ++f) {
      auto& field = v.inner.fields[f];
      field.swaps = true;
      field.origin[0] = arrays[f].now + offset;
      for (const LinkOutput& o : v.outputs)
        if (o.field == static_cast<int>(f)) field.origin[1] = written(o, arrays) + offset;
    }
    v.inner.params = plan_.params;
    v.engine->compute(0, {{}, v.inner.layout.n});
  }
  if (v.rim != nullptr) run_rim(v, arrays);
}

template <class T>
std::vector<char> FusedChain<T>::advance(Index steps, bool ends_run,
                                         const std::vector<DeviceHalo<T>>& halos) {
  std::vector<Arrays> arrays;
  for (const auto& f : plan_.fields) arrays.push_back({f.origin[0], f.origin[1]});
  for (Index step = 0; step < steps; ++step)
    for (Stage& stage : stages_) {
      Variant& v = ends_run && step == steps - 1 && stage.last ? *stage.last : *stage.pass;
      if (v.outputs.empty()) continue;
      run(v, arrays);
      for (const LinkOutput& o : v.outputs) {
        Arrays& a = arrays[static_cast<std::size_t>(o.field)];
        if (o.turns) std::swap(a.now, a.other);
        const std::size_t f = static_cast<std::size_t>(o.field);
        if (o.is_read && plan_.fields[f].is_read_around && halos[f].moves()) halos[f].follow(a.now);
      }
    }
  std::vector<char> turned;
  for (std::size_t f = 0; f < arrays.size(); ++f)
    turned.push_back(arrays[f].now != plan_.fields[f].origin[0]);
  return turned;
}

template class FusedChain<float>;
template class FusedChain<double>;
template class FusedChain<cfloat>;
template class FusedChain<cdouble>;
template class FusedChain<Half>;

}  // namespace spinloom::cuda
