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
  facts.level2_bytes = static_cast<std::size_t>(machine.level2_bytes);
  facts.shared_memory_bytes = static_cast<std::size_t>(machine.shared_bytes);
  return facts;
}

namespace {

void add_pass(GpuPasses& all, const GpuModelInput& in, const Schedule& schedule, const Link& link,
              const std::vector<LinkOutput>& outputs, double share) {
  if (outputs.empty() || share <= 0) return;
  const auto j = joined(in.chain, link, outputs, cuda::between(gpu_numbers(in)));
  if (!j) return;  // cut() has seen to it
  all.chain.push_back(definition_by_fields(*j));
  GpuPasses::Pass pass;
  pass.stencils = link.size();
  pass.share = share;
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
  if (schedule.kind == Kind::cuda)
    pass.schedule = cuda::fused_schedule(p, in.element_bytes, inside, gpu_facts(in.machine));
  const Halo needed(p.reach());
  for (std::size_t a = 0; a < 3; ++a) {
    all.layout.halo.low[a] = std::max(all.layout.halo.low[a], needed.low[a]);
    all.layout.halo.high[a] = std::max(all.layout.halo.high[a], needed.high[a]);
  }
  all.passes.push_back(std::move(pass));
}

}  // namespace

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
  // Steps in the middle of a run write what somebody reads; the last one also what the chain's own stencils alone read.
  const auto is_read = [](const LinkOutput& o) { return o.is_read; };
  const auto is_wanted = [&](const LinkOutput& o) { return !(o.is_scratch && schedule.scratch); };
  const double last = in.steps > 0 ? 1 / double(in.steps) : 0;
  const auto links = cut(in.chain, schedule.fused);
  for (std::size_t l = 0; l < links.size(); ++l) {
    std::vector<LinkOutput> middle, end;
    for (const LinkOutput& o : outputs_of(in.chain, links, l)) {
      if (is_read(o)) middle.push_back(o);
      if (is_wanted(o)) end.push_back(o);
    }
    if (middle.size() == end.size() || last == 0) {
      add_pass(all, in, schedule, links[l], middle, 1);
    } else {
      add_pass(all, in, schedule, links[l], middle, 1 - last);
      add_pass(all, in, schedule, links[l], end, last);
    }
  }
  return all;
}

}  // namespace spinloom::stencil
