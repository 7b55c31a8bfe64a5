#pragma once
// All coarse levels at once, by one block, whose fields stay in its level 1 cache.

constexpr int team = 256, most_levels = 40;

/// Calls body(z, y, i) for `length` points of every row, shared among the block.
template <class Body>
__device__ inline void for_points(const Level& l, int length, Body body) {
  const int count = l.n[0] * l.n[1] * length;
  for (int k = threadIdx.x; k < count; k += team) {
    const int row = k / length, z = row / l.n[1];
    body(z, row - z * l.n[1], k - row * length);
  }
}
__device__ inline void fill(const Level& l) {
  if (!wraps(l)) return;
  const Index count = outside_cells(l);
  for (Index k = threadIdx.x; k < count; k += team) fill_cell(l, l.u, k);
  __syncthreads();
}
__device__ inline void team_relax(const Level& l, int black, REAL omega) {
  fill(l);
  for_points(l, points(l, 0), [&](int z, int y, int i) {
    const int parity = (z + y + black) & 1;
    if (i < points(l, parity)) relax_point(l, z, y, parity, i, omega);
  });
  __syncthreads();
}
__device__ inline void team_smooth(const Level& l, const CycleKind& kind, bool before) {
  const REAL omega = kind.symmetric || l.colours_meet ? (REAL)1 : (REAL)1.3;
  for (int half = 0; half < 2 * kind.sweeps; ++half) {
    const int black = (half & 1) ^ (kind.symmetric && !before ? 1 : 0);
    team_relax(l, black, before && half == 2 * kind.sweeps - 1 ? (REAL)1 : omega);
  }
}

extern "C" __global__ void __launch_bounds__(team)
    coarse_cycle(const Level* all, int first, int count, CycleKind kind) {
  __shared__ Level levels[most_levels];
  const int words = count * (int)(sizeof(Level) / 4);
  for (int i = threadIdx.x; i < words; i += team)
    reinterpret_cast<int*>(levels)[i] = reinterpret_cast<const int*>(all + first)[i];
  __syncthreads();
  for (int k = 0; k + 1 < count; ++k) {
    const Level &l = levels[k], &c = levels[k + 1];
    team_smooth(l, kind, true);
    fill(l);
    for_points(c, c.n[2], [&](int z, int y, int x) { sum_residuals(l, c, z, y, x); });
    __syncthreads();
  }
  team_relax(levels[count - 1], 0, (REAL)1);  // one cell
  for (int k = count - 2; k >= 0; --k) {
    const Level &l = levels[k], &c = levels[k + 1];
    fill(c);
    for_points(l, l.n[2], [&](int z, int y, int x) {
      if (((z + y + x) & 1) == 0 || !kind.symmetric || l.colours_meet)
        l.u[place(l, z, y, x)] += correction(l, c, z, y, x, kind.symmetric);
    });
    __syncthreads();
    team_smooth(l, kind, false);
  }
}
