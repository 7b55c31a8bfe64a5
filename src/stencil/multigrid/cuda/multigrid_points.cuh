#pragma once
// A level as a kernel sees it, and what is done to one of its points.

typedef long long Index;

// As in store.hpp.
struct Level {
  REAL *u, *f;
  const REAL *diagonal, *inverse;
  const REAL* faces[3];
  const REAL* links[3];
  const REAL* toward[3];
  Index plane;
  int n[3];
  int row, half, guard;
  int halves[3], periodic[3];
  int is_weighted, colours_meet;
  REAL coupling[3];
};
struct CycleKind {
  int sweeps, symmetric;
};

constexpr int block_x = 64, block_y = 4, row_warps = 8, sum_threads = 1024;

// Products that no addition is fused with.
__device__ inline float mul(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double mul(double a, double b) { return __dmul_rn(a, b); }

__device__ inline int points(const Level& l, int parity) { return (l.n[2] + 1 - parity) >> 1; }
__device__ inline Index at(const Level& l, int z, int y, int parity) {
  return (z + 1) * l.plane + (Index)(y + 1) * l.row + l.guard + parity * l.half;
}
__device__ inline Index place(const Level& l, int z, int y, int x) { return at(l, z, y, x & 1) + (x >> 1); }
__device__ inline bool wraps(const Level& l) { return l.periodic[0] || l.periodic[1] || l.periodic[2]; }
__device__ inline int kind_of(int i, int n) { return (i == 0 ? 1 : 0) + (i == n - 1 ? 2 : 0); }
/// Where the diagonal of the point at `here`, the i-th of its half row, is.
__device__ inline Index diagonal_of(const Level& l, Index here, int z, int y, int parity, int i) {
  return l.is_weighted ? here
                       : (Index)((4 * kind_of(z, l.n[0]) + kind_of(y, l.n[1])) * l.row + l.guard +
                                 parity * l.half + i);
}

/// f + couplings . neighbours
__device__ inline REAL gathered(const Level& l, const REAL* u, REAL f, Index here, int parity) {
  const Index left = here + (1 - 2 * parity) * l.half - (1 - parity), right = left + 1;
  const REAL a = u[left], b = u[right], c = u[here - l.row], d = u[here + l.row], e = u[here - l.plane],
             g = u[here + l.plane];
  if (l.is_weighted) {
    const REAL *wz = l.faces[0], *wy = l.faces[1], *wx = l.faces[2];
    return ((f + mul(wx[here], a)) + (mul(wx[right], b) + mul(wy[here], c))) +
           (mul(wy[here + l.row], d) + (mul(wz[here], e) + mul(wz[here + l.plane], g)));
  }
  return (f + mul(l.coupling[2], a + b)) + (mul(l.coupling[1], c + d) + mul(l.coupling[0], e + g));
}

__device__ inline void relax_point(const Level& l, int z, int y, int parity, int i, REAL omega) {
  const Index here = at(l, z, y, parity) + i;
  const REAL inverse = l.inverse[diagonal_of(l, here, z, y, parity, i)];
  const REAL value = mul(inverse, gathered(l, l.u, l.f[here], here, parity));
  if (inverse == 0) return;
  if (omega == 1) {
    l.u[here] = value;
  } else {
    const REAL own = l.u[here];
    l.u[here] = own + mul(omega, value - own);
  }
}

__device__ inline REAL residual_of(const Level& l, const REAL* u, REAL f, int z, int y, int parity, int i) {
  const Index here = at(l, z, y, parity) + i;
  return gathered(l, u, f, here, parity) - mul(l.diagonal[diagonal_of(l, here, z, y, parity, i)], u[here]);
}

/// f of a coarse cell: the residuals of its fine cells, red ones or all; its u starts from 0.
__device__ inline void sum_residuals(const Level& l, const Level& c, int Z, int Y, int X) {
  REAL sum = 0;
  const int z0 = l.halves[0] ? 2 * Z : Z, z1 = l.halves[0] ? min(z0 + 2, l.n[0]) : z0 + 1;
  const int y0 = l.halves[1] ? 2 * Y : Y, y1 = l.halves[1] ? min(y0 + 2, l.n[1]) : y0 + 1;
  const int x0 = l.halves[2] ? 2 * X : X, x1 = l.halves[2] ? min(x0 + 2, l.n[2]) : x0 + 1;
  for (int z = z0; z < z1; ++z)
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x) {
        if (((z + y + x) & 1) != 0 && !l.colours_meet) continue;
        const int parity = x & 1;
        sum += residual_of(l, l.u, l.f[at(l, z, y, parity) + (x >> 1)], z, y, parity, x >> 1);
      }
  const Index there = place(c, Z, Y, X);
  c.f[there] = sum;
  c.u[there] = 0;
}

/// What the coarse cells around say of a point.
__device__ inline REAL correction(const Level& l, const Level& c, int z, int y, int x, bool plainly) {
  const int Z = l.halves[0] ? z >> 1 : z, Y = l.halves[1] ? y >> 1 : y, X = l.halves[2] ? x >> 1 : x;
  const Index there = place(c, Z, Y, X);
  const REAL own = c.u[there];
  if (plainly) return own;
  const int dz = z & 1 ? 1 : -1, dy = y & 1 ? 1 : -1, dx = x & 1 ? 1 : -1;
  REAL tz = l.toward[0][z], ty = l.toward[1][y], tx = l.toward[2][x];
  const REAL vz = tz == 0 ? own : c.u[there + dz * c.plane], vy = ty == 0 ? own : c.u[there + dy * c.row],
             vx = l.halves[2] ? c.u[place(c, Z, Y, X + dx)] : own;
  if (c.is_weighted) {
    const Index row = c.n[2] + 1, rows = c.n[1] + 1;
    tz = mul(tz, c.links[0][((Z + (l.halves[0] && dz > 0)) * rows + Y) * row + X]);
    ty = mul(ty, c.links[1][(Z * rows + Y + (l.halves[1] && dy > 0)) * row + X]);
    tx = mul(tx, c.links[2][(Z * rows + Y) * row + X + (l.halves[2] && dx > 0)]);
  }
  return (own + mul(tz, vz - own)) + (mul(ty, vy - own) + mul(tx, vx - own));
}

/// Cells outside of a field that lie at the ends of periodic axes: number i of outside_cells().
__device__ inline Index outside_cells(const Level& l) {
  const Index nz = l.n[0], ny = l.n[1], nx = l.n[2];
  return 2 * ((l.periodic[0] ? ny * nx : 0) + (l.periodic[1] ? nz * nx : 0) + (l.periodic[2] ? nz * ny : 0));
}
__device__ inline void fill_cell(const Level& l, REAL* field, Index i) {
  const int high = (int)(i & 1);
  i >>= 1;
  for (int a = 0; a < 3; ++a) {
    if (!l.periodic[a]) continue;
    const int first = a == 0 ? 1 : 0, second = a == 2 ? 1 : 2;
    const Index cells = (Index)l.n[first] * l.n[second];
    if (i >= cells) {
      i -= cells;
      continue;
    }
    int to[3], from[3];
    to[first] = from[first] = (int)(i / l.n[second]);
    to[second] = from[second] = (int)(i % l.n[second]);
    to[a] = high ? l.n[a] : -1;
    from[a] = high ? 0 : l.n[a] - 1;
    field[place(l, to[0], to[1], to[2])] = field[place(l, from[0], from[1], from[2])];
    return;
  }
}
