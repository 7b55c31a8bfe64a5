// Points of a fused chain near the faces of a grid, a thread for each: what a stencil reads of an earlier one's results is
// computed where it is read, and where that place lies outside, the rules of the field's faces say what is there. The
// chain's stencils are printed by stencil_rim.cpp.
typedef long long Index;

// As in stencil_rim.hpp.
struct RimRule {
  Index source;
  double add;
  int kind;  // 0 kept, 1 value, 2 copy
};
struct RimWork {
  const void* field[16];  // the values that the link starts from
  void* out[16];          // of each field
  const RimRule* rules;   // [field][axis][side][distance - 1], of 16 distances
  Index row, plane;
  Index n[3];
  int low[3], high[3];  // cells of the rim
  int regions, parts[3][3];  // along each axis: 0 all cells, 1 those of the rim, 2 the others
  alignas(8) unsigned char params[128];
};

struct RimPlace {
  Index at[3];
  double sums[3], fixed;
  bool is_fixed, is_kept;
};
// Where the value of a cell comes from, as fill_halo of stencil_halo.cu has it.
__device__ __forceinline__ RimPlace rim_place(const RimWork& w, int field, Index z, Index y, Index x) {
  RimPlace p = {{z, y, x}, {0, 0, 0}, 0, false, false};
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const Index at = p.at[axis];
    if (p.is_fixed || p.is_kept || (at >= 0 && at < w.n[axis])) continue;
    const RimRule& rule =
        w.rules[((field * 3 + axis) * 2 + (at < 0 ? 0 : 1)) * 16 + (at < 0 ? -at - 1 : at - w.n[axis])];
    if (rule.kind == 0) {
      p.is_kept = true;
    } else if (rule.kind == 1) {
      p.is_fixed = true;
      p.fixed = rule.add;
    } else {
      p.sums[axis] = rule.add;
      p.at[axis] = rule.source;
      p.is_kept = rule.source < 0 || rule.source >= w.n[axis];
    }
  }
  return p;
}

#include "stencil_values.cuh"

extern "C" __global__ void __launch_bounds__(128) rim(const __grid_constant__ RimWork w) {
  Index i = (Index)blockIdx.x * 128 + threadIdx.x;
  for (int r = 0; r < w.regions; ++r) {
    Index size[3], at[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      const int rim = w.low[a] + w.high[a];
      size[a] = w.parts[r][a] == 0 ? w.n[a] : w.parts[r][a] == 1 ? rim : w.n[a] - rim;
    }
    const Index count = size[0] * size[1] * size[2];
    if (i >= count) {
      i -= count;
      continue;
    }
    at[0] = i / (size[1] * size[2]);
    at[1] = i / size[2] % size[1];
    at[2] = i % size[2];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      if (w.parts[r][a] == 1 && at[a] >= w.low[a]) at[a] += w.n[a] - w.low[a] - w.high[a];
      if (w.parts[r][a] == 2) at[a] += w.low[a];
    }
    rim_point(w, at[0], at[1], at[2]);
    return;
  }
}
