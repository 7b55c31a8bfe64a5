#include "stencil/model/gpu_passes.hpp"

#include <algorithm>

#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_fused.hpp"

namespace spinloom::stencil {

using Kind = Schedule::Kind;

cuda::StencilNumbers gpu_numbers(const GpuModelInput& in) {
  using N = cuda::StencilNumbers;
  if (in.is_complex) return in.element_bytes == 8 ? N::c32 : N::c64;
  if (in.element_bytes == 2) return N::f16_in_f32;
  if (in.element_bytes == 4) return in.in_double ? N::f32_in_f64 : N::f32;
  return N::f64;
}

cuda::DeviceFacts gpu_facts(const GpuMachine& machine) {
  cuda::DeviceFacts facts;
  facts.name = machine.name;
  facts.capability = machine.capability;
  facts.multiprocessors = machine.multiprocessors;
  facts.shared_memory_bytes = static_cast<std::size_t>(machine.shared_bytes);
  return facts;
}

GpuPasses gpu_passes(const GpuModelInput& in) {
  GpuPasses all{in, {}, static_cast<int>(in.chain.size())};
  const auto facts = gpu_facts(in.machine);
  const Schedule schedule = cuda::with_fusing(in.chain, gpu_numbers(in), in.layout, in.schedule);
  const bool is_open = schedule.kind == Kind::cuda || schedule.kind == Kind::naive;
  if (schedule.fused.empty()) {
    for (const Definition& d : in.chain) {
      all.passes.emplace_back();
      all.passes.back().schedule =
          is_open ? cuda::chosen_schedule(d.view(), in.element_bytes, in.layout, facts) : schedule;
    }
    return all;
  }
  all.chain.clear();
  const auto links = cut(in.chain, schedule.fused);
  for (std::size_t l = 0; l < links.size(); ++l) {
    // A step in the middle of a run writes what somebody reads, and nothing else.
    auto outputs = outputs_of(in.chain, links, l);
    std::erase_if(outputs, [](const LinkOutput& o) { return !o.is_read; });
    if (outputs.empty()) continue;
    const auto j = joined(in.chain, links[l], outputs, cuda::between(gpu_numbers(in)));
    if (!j) continue;  // cut() has seen to it
    all.chain.push_back(definition_by_fields(*j));
    GpuPasses::Pass pass;
    pass.stencils = links[l].size();
    pass.handed = {j->handed, std::max(j->low[2], j->high[2])};
    pass.schedule = schedule;
    pass.schedule.fused.clear();
    pass.schedule.scratch = false;
    GridLayout inside = in.layout;
    for (std::size_t a = 0; a < 3; ++a) {
      pass.rim[a] = j->low[a] + j->high[a];
      inside.n[a] = std::max<Index>(0, inside.n[a] - pass.rim[a]);
    }
    const ProgramView p = all.chain.back().view();
    if (is_open) pass.schedule = cuda::fused_schedule(p, in.element_bytes, inside, facts);
    const Halo needed(p.reach());
    for (std::size_t a = 0; a < 3; ++a) {
      all.layout.halo.low[a] = std::max(all.layout.halo.low[a], needed.low[a]);
      all.layout.halo.high[a] = std::max(all.layout.halo.high[a], needed.high[a]);
    }
    all.passes.push_back(std::move(pass));
  }
  return all;
}

}  // namespace spinloom::stencil
