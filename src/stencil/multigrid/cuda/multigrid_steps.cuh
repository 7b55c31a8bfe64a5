#pragma once
// One step of one level by the whole GPU: a thread per point, blocks of block_x points in block_y rows.

/// The point of this thread among `length` points of each row; false when there is none.
__device__ inline bool find(const Level& l, int length, int& z, int& y, int& i) {
  const unsigned tiles = (length + block_x - 1) / block_x;
  i = blockIdx.x % tiles * block_x + threadIdx.x;
  const Index row = (Index)(blockIdx.x / tiles) * block_y + threadIdx.y;
  z = (int)(row / l.n[1]);
  y = (int)(row - (Index)z * l.n[1]);
  return i < length && z < l.n[0];
}

/// Points of one half row that lie side by side, 16 bytes of them.
constexpr int wide = 16 / sizeof(REAL);
struct __align__(16) Pack {
  REAL at[wide];
};
__device__ inline Pack pack(const REAL* p) { return *reinterpret_cast<const Pack*>(p); }

// A thread relaxes one pack. Beyond the end of a row the inverse is 0, and values stay as they are.
template <bool weighted>
__device__ inline void relax_packs(const Level& l, int black, REAL omega) {
  int z, y, i;
  if (!find(l, (points(l, 0) + wide - 1) / wide, z, y, i)) return;
  i *= wide;
  const int parity = (z + y + black) & 1;
  if (i >= points(l, parity)) return;
  const Index here = at(l, z, y, parity) + i, beside = here + (1 - 2 * parity) * l.half;
  const Pack inverse = pack(l.inverse + (weighted ? here : diagonal_of(l, here, z, y, parity, i))), f = pack(l.f + here),
             both = pack(l.u + beside), c = pack(l.u + here - l.row), d = pack(l.u + here + l.row),
             e = pack(l.u + here - l.plane), g = pack(l.u + here + l.plane);
  const REAL end = l.u[parity == 0 ? beside - 1 : beside + wide];
  Pack sum;
  if (weighted) {
    const REAL *wz = l.faces[0] + here, *wy = l.faces[1] + here, *wx = l.faces[2];
    const Pack left = pack(wx + here), right = pack(wx + beside), south = pack(wy), north = pack(wy + l.row),
               below = pack(wz), above = pack(wz + l.plane);
    const REAL right_end = parity == 0 ? (REAL)0 : wx[beside + wide];
#pragma unroll
    for (int k = 0; k < wide; ++k) {
      const int before = k > 0 ? k - 1 : 0, behind = k + 1 < wide ? k + 1 : k;
      const REAL a = parity != 0 ? both.at[k] : k == 0 ? end : both.at[before],
                 b = parity == 0 ? both.at[k] : k == wide - 1 ? end : both.at[behind],
                 w = parity == 0 ? right.at[k] : k == wide - 1 ? right_end : right.at[behind];
      sum.at[k] = ((f.at[k] + mul(left.at[k], a)) + (mul(w, b) + mul(south.at[k], c.at[k]))) +
                  (mul(north.at[k], d.at[k]) + (mul(below.at[k], e.at[k]) + mul(above.at[k], g.at[k])));
    }
  } else {
#pragma unroll
    for (int k = 0; k < wide; ++k) {
      const int before = k > 0 ? k - 1 : 0, behind = k + 1 < wide ? k + 1 : k;
      const REAL a = parity != 0 ? both.at[k] : k == 0 ? end : both.at[before],
                 b = parity == 0 ? both.at[k] : k == wide - 1 ? end : both.at[behind];
      sum.at[k] = (f.at[k] + mul(l.coupling[2], a + b)) +
                  (mul(l.coupling[1], c.at[k] + d.at[k]) + mul(l.coupling[0], e.at[k] + g.at[k]));
    }
  }
  bool looks_at_own = omega != 1;
#pragma unroll
  for (int k = 0; k < wide; ++k) looks_at_own = looks_at_own || inverse.at[k] == 0;
  Pack own = {}, fresh;
  if (looks_at_own) own = pack(l.u + here);
#pragma unroll
  for (int k = 0; k < wide; ++k) {
    const REAL value = mul(inverse.at[k], sum.at[k]);
    fresh.at[k] = inverse.at[k] == 0 ? own.at[k]
                  : omega == 1       ? value
                                     : own.at[k] + mul(omega, value - own.at[k]);
  }
  *reinterpret_cast<Pack*>(l.u + here) = fresh;
}
extern "C" __global__ void __launch_bounds__(block_x* block_y) relax(Level l, int black, REAL omega) {
  relax_packs<false>(l, black, omega);
}
extern "C" __global__ void __launch_bounds__(block_x* block_y) relax_weighted(Level l, int black, REAL omega) {
  relax_packs<true>(l, black, omega);
}

extern "C" __global__ void __launch_bounds__(block_x* block_y) to_coarse(Level l, Level c) {
  int z, y, x;
  if (find(c, c.n[2], z, y, x)) sum_residuals(l, c, z, y, x);
}

extern "C" __global__ void __launch_bounds__(block_x* block_y) correct(Level l, Level c, int plainly, int both) {
  int z, y, X;
  if (!find(l, c.n[2], z, y, X)) return;
  // The fine cells of a coarse one share what they read.
  const int x = l.halves[2] ? 2 * X : X;
  const bool first = both || ((z + y + x) & 1) == 0, second = l.halves[2] && x + 1 < l.n[2] && (both || !first);
  REAL a = 0, b = 0;
  if (first) a = correction(l, c, z, y, x, plainly);
  if (second) b = correction(l, c, z, y, x + 1, plainly);
  if (first) l.u[place(l, z, y, x)] += a;
  if (second) l.u[place(l, z, y, x + 1)] += b;
}

extern "C" __global__ void __launch_bounds__(256) fill_outside(Level l, REAL* field) {
  const Index i = (Index)blockIdx.x * 256 + threadIdx.x;
  if (i < outside_cells(l)) fill_cell(l, field, i);
}

extern "C" __global__ void __launch_bounds__(block_x* block_y)
    load(Level l, const REAL* dense, int stride, REAL* field) {
  int z, y, x;
  if (!find(l, l.n[2], z, y, x)) return;
  field[place(l, z, y, x)] = dense[(((Index)z * l.n[1] + y) * l.n[2] + x) * stride];
}
extern "C" __global__ void __launch_bounds__(block_x* block_y)
    store(Level l, const REAL* field, REAL* dense, int stride) {
  int z, y, x;
  if (!find(l, l.n[2], z, y, x)) return;
  dense[(((Index)z * l.n[1] + y) * l.n[2] + x) * stride] = field == nullptr ? (REAL)0 : field[place(l, z, y, x)];
}
extern "C" __global__ void __launch_bounds__(block_x* block_y)
    add_to_face(Level l, int axis, int high, REAL value, REAL* field) {
  int z, y, x;
  if (!find(l, l.n[2], z, y, x)) return;
  const int place_on_axis = axis == 0 ? z : axis == 1 ? y : x;
  if (place_on_axis == (high ? l.n[axis] - 1 : 0)) field[place(l, z, y, x)] += value;
}
extern "C" __global__ void __launch_bounds__(block_x* block_y) subtract(Level l, const REAL* from, REAL* field) {
  int z, y, x;
  if (!find(l, l.n[2], z, y, x)) return;
  const Index here = place(l, z, y, x);
  field[here] += mul((REAL)-1, from[here]);
}
