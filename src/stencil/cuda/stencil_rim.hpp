#pragma once
#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// As in stencil_rim.cu.
struct RimRule {
  Index source = 0;
  double add = 0;
  int kind = 0;
};
struct RimWork {
  const void* field[stencil::max_fields] = {};
  void* out[stencil::max_fields] = {};
  const RimRule* rules = nullptr;
  Index row = 0, plane = 0;
  Index n[3] = {};
  int low[3] = {}, high[3] = {};
  int regions = 0, parts[3][3] = {};
  alignas(8) unsigned char params[stencil::max_params * 8] = {};
};
static_assert(stencil::max_fields == 16 && stencil::max_radius == 16 && stencil::max_params == 16);

/// The kernel "rim" for the stencils of a link.
const KernelInstance& rim_instance(const std::vector<stencil::Definition>& chain, const stencil::Link& link,
                                   const std::vector<stencil::LinkOutput>& outputs, StencilNumbers numbers);
/// The rules of all fields' faces, as RimWork::rules has them.
std::vector<RimRule> rim_rules(const stencil::GridLayout& layout,
                               const std::vector<stencil::Boundaries>& faces);

}  // namespace spinloom::cuda
