// Cells outside of a grid, by the rules of its faces: each from the cell inside, or the value, that the rules lead to. Storage
// STORAGE, sums in REAL.
#include "stencil_values.cuh"

typedef STORAGE Storage;
typedef REAL Real;

// As in stencil_halo.hpp.
struct Rule {
  Index source;
  double add;
  int kind;  // 0 kept, 1 value, 2 copy
};
struct HaloWork {
  Rule rules[3][2][16];  // axis, side, distance - 1
  Index n[3];
  int low[3], high[3];
  Index row, plane;
  int regions;  // bit per axis
};

struct Place {
  Index at[3];
  bool is_outside;
};

// Cell number i of those outside along z, then of the other ones outside along y, then along x. Count holds all of them:
// divisions in 64 bits would take most of the time.
template <class Count>
STENCIL_OP Place counted_place(const HaloWork& w, Count i) {
  const Count thickness[3] = {(Count)(w.low[0] + w.high[0]), (Count)(w.low[1] + w.high[1]), (Count)(w.low[2] + w.high[2])};
  const Count rows = (Count)w.n[1] + thickness[1], columns = (Count)w.n[2] + thickness[2];
  const auto cell = [&](int axis, Count d) { return (int)d < w.low[axis] ? (Index)d - w.low[axis] : w.n[axis] + (Index)d - w.low[axis]; };
  Count count = (w.regions & 1) ? thickness[0] * rows * columns : 0;
  if (i < count) {
    const Count row = i / columns, plane = row / rows;
    return {{cell(0, plane), (Index)(row - plane * rows) - w.low[1], (Index)(i - row * columns) - w.low[2]}, true};
  }
  i -= count;
  count = (w.regions & 2) ? (Count)w.n[0] * thickness[1] * columns : 0;
  if (i < count) {
    const Count row = i / columns, plane = row / thickness[1];
    return {{(Index)plane, cell(1, row - plane * thickness[1]), (Index)(i - row * columns) - w.low[2]}, true};
  }
  i -= count;
  count = (w.regions & 4) ? (Count)w.n[0] * (Count)w.n[1] * thickness[2] : 0;
  if (i < count) {
    const Count row = i / thickness[2], plane = row / (Count)w.n[1];
    return {{(Index)plane, (Index)(row - plane * (Count)w.n[1]), cell(2, i - row * thickness[2])}, true};
  }
  return {{0, 0, 0}, false};
}
STENCIL_OP Place place(const HaloWork& w) {
  const Index i = (Index)blockIdx.x * 256 + threadIdx.x;
  return gridDim.x < (1u << 24) ? counted_place<unsigned>(w, (unsigned)i) : counted_place<Index>(w, i);
}

template <class S, class R>
struct Sum {
  static STENCIL_OP S of(S v, double a) { return add(v, (R)a); }
  static STENCIL_OP S value(double a) { return (R)a; }
};
template <class R>
struct Sum<Complex<R>, R> {
  static STENCIL_OP Complex<R> of(Complex<R> v, double a) { return add(v, Complex<R>{(R)a, 0}); }
  static STENCIL_OP Complex<R> value(double a) { return {(R)a, 0}; }
};
template <>
struct Sum<Half, float> {
  typedef Convert<float, Half> C;
  static STENCIL_OP Half of(Half v, double a) {
    return C::narrowed(add(C::widened(v), C::widened(C::narrowed((float)a))));
  }
  static STENCIL_OP Half value(double a) { return C::narrowed((float)a); }
};

extern "C" __global__ void __launch_bounds__(256)
    fill_halo(Storage* origin, const __grid_constant__ HaloWork w) {
  Place p = place(w);
  if (!p.is_outside) return;
  Storage* const to = origin + p.at[0] * w.plane + p.at[1] * w.row + p.at[2];
  double sums[3] = {0, 0, 0}, fixed = 0;
  bool is_fixed = false, moved = false;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const Index at = p.at[axis];
    if (is_fixed || (at >= 0 && at < w.n[axis])) continue;
    const Rule& rule = at < 0 ? w.rules[axis][0][-at - 1] : w.rules[axis][1][at - w.n[axis]];
    if (rule.kind == 0) {
      if (!moved) return;
      break;  // a row of kept cells is copied as it is
    }
    moved = true;
    if (rule.kind == 1) {
      is_fixed = true;
      fixed = rule.add;
    } else {
      sums[axis] = rule.add;
      p.at[axis] = rule.source;
      if (rule.source < 0 || rule.source >= w.n[axis]) break;
    }
  }
  Storage v =
      is_fixed ? Sum<Storage, Real>::value(fixed) : origin[p.at[0] * w.plane + p.at[1] * w.row + p.at[2]];
#pragma unroll
  for (int axis = 2; axis >= 0; --axis)
    if (sums[axis] != 0) v = Sum<Storage, Real>::of(v, sums[axis]);
  *to = v;
}

extern "C" __global__ void __launch_bounds__(256)
    copy_outside(const Storage* from, Storage* to, const __grid_constant__ HaloWork w) {
  const Place p = place(w);
  if (!p.is_outside) return;
  const Index at = p.at[0] * w.plane + p.at[1] * w.row + p.at[2];
  to[at] = from[at];
}

// Points of a dense array to a grid, and back.
extern "C" __global__ void __launch_bounds__(256)
    spread(const Storage* dense, Storage* origin, Index nz, Index ny, Index nx, Index row, Index plane) {
  const Index i = (Index)blockIdx.x * 256 + threadIdx.x;
  if (i < nz * ny * nx) origin[i / (ny * nx) * plane + i / nx % ny * row + i % nx] = dense[i];
}
extern "C" __global__ void __launch_bounds__(256)
    collect(const Storage* origin, Storage* dense, Index nz, Index ny, Index nx, Index row, Index plane) {
  const Index i = (Index)blockIdx.x * 256 + threadIdx.x;
  if (i < nz * ny * nx) dense[i] = origin[i / (ny * nx) * plane + i / nx % ny * row + i % nx];
}
