// Multigrid for Poisson's equation: what src/stencil/multigrid/passes.cpp does, to the bit. Fields lie as there: the even
// points of a row in one run of memory, the odd ones in another, a cell of zeros (or the other end of a periodic axis) all
// round. REAL is float or double.

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

// ---- One step of one level by the whole GPU: a thread per point, blocks of block_x points in block_y rows.

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

// ---- Sums: sixteen lanes for each half row and a warp for each row, then all rows by one block, in the host's order.

/// Calls body(parity, i) for every point of this warp's row, of two halves side by side; the sum of the values returned.
template <class Body>
__device__ inline void sum_row(const Level& l, double* rows, Body body) {
  const Index row = (Index)blockIdx.x * row_warps + threadIdx.y;
  const int z = (int)(row / l.n[1]), y = (int)(row - (Index)z * l.n[1]);
  if (z >= l.n[0]) return;
  const int parity = threadIdx.x >> 4, count = points(l, parity);
  double sum = 0;
  for (int i = threadIdx.x & 15; i < count; i += 16) sum += body(z, y, parity, i);
  for (int width = 8; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width, 16);
  const double other = __shfl_sync(0xffffffffu, sum, 16);
  if (threadIdx.x == 0 && rows != nullptr) rows[row] = (0 + sum) + other;
}

extern "C" __global__ void __launch_bounds__(32 * row_warps) norm_rows(Level l, double* rows) {
  sum_row(l, rows, [&](int z, int y, int parity, int i) {
    const double r = residual_of(l, l.u, l.f[at(l, z, y, parity) + i], z, y, parity, i);
    return __dmul_rn(r, r);
  });
}
extern "C" __global__ void __launch_bounds__(32 * row_warps)
    dot_rows(Level l, const REAL* a, const REAL* b, double* rows) {
  sum_row(l, rows, [&](int z, int y, int parity, int i) {
    const Index here = at(l, z, y, parity) + i;
    return b == nullptr ? (double)a[here] : __dmul_rn((double)a[here], (double)b[here]);
  });
}
/// out = A in, and <in, out> by rows where asked for.
extern "C" __global__ void __launch_bounds__(32 * row_warps)
    apply(Level l, const REAL* in, REAL* out, double* rows) {
  sum_row(l, rows, [&](int z, int y, int parity, int i) {
    const Index here = at(l, z, y, parity) + i;
    const REAL value = -residual_of(l, in, (REAL)0, z, y, parity, i);
    out[here] = value;
    return __dmul_rn((double)in[here], (double)value);
  });
}

/// Conjugate gradients' numbers.
struct Numbers {
  double rz, curvature, rr, rz_before, mean;
};
/// p = z + beta p, or z at the start.
extern "C" __global__ void __launch_bounds__(block_x* block_y)
    direction(Level l, const REAL* z, REAL* p, const Numbers* n, int fresh) {
  int k, y, x;
  if (!find(l, l.n[2], k, y, x)) return;
  const Index here = place(l, k, y, x);
  p[here] = fresh ? (REAL)0 + z[here] : z[here] + mul((REAL)(n->rz / n->rz_before), p[here]);
}
/// x += alpha p,  r -= alpha q, and |r|^2 by rows.
extern "C" __global__ void __launch_bounds__(32 * row_warps)
    advance(Level l, const REAL* p, const REAL* q, REAL* x, REAL* r, const Numbers* n, double* rows) {
  if (!(n->rz > 0 && n->curvature > 0)) return;
  const REAL alpha = (REAL)(n->rz / n->curvature);
  sum_row(l, rows, [&](int z, int y, int parity, int i) {
    const Index here = at(l, z, y, parity) + i;
    x[here] += mul(alpha, p[here]);
    const REAL value = r[here] + mul(-alpha, q[here]);
    r[here] = value;
    return __dmul_rn((double)value, (double)value);
  });
}

/// The sum of `count` values, for thread 0 of a block of sum_threads; the others get 0.
__device__ inline double sum_all(const double* values, Index count) {
  __shared__ double part[sum_threads];
  double sum = 0;
  for (Index i = threadIdx.x; i < count; i += sum_threads) sum += values[i];
  part[threadIdx.x] = sum;
  for (int half = sum_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  return threadIdx.x == 0 ? part[0] : 0.0;  // thread 0 wrote it
}
/// `told` is memory of the host; `ends`: a step of conjugate gradients.
extern "C" __global__ void __launch_bounds__(sum_threads)
    sum_rows(const double* rows, Index count, double share, double* out, Numbers* numbers, double* told) {
  const double sum = sum_all(rows, count);
  if (threadIdx.x != 0) return;
  *out = share == 0 ? sum : sum / share;
  if (told != nullptr) {
    told[0] = *out;
    told[1] = numbers->rz;
    told[2] = numbers->curvature;
  }
  if (out == &numbers->rr) numbers->rz_before = numbers->rz;
}

/// Sums of chunks of 512 cells of one part each: a warp per chunk.
extern "C" __global__ void __launch_bounds__(32 * row_warps)
    sum_chunks(Level l, const unsigned* cells, const Index* first, const Index* first_chunk, const unsigned* part_of_chunk,
               Index chunks, const REAL* field, double* sums) {
  const Index chunk = (Index)blockIdx.x * row_warps + threadIdx.y;
  if (chunk >= chunks) return;
  const unsigned part = part_of_chunk[chunk];
  const Index begin = first[part] + (chunk - first_chunk[part]) * 512, end = min(begin + 512, first[part + 1]);
  double sum = 0;
  for (Index i = begin + threadIdx.x; i < end; i += 32) {
    const unsigned cell = cells[i], row = cell / l.n[2];
    sum += (double)field[place(l, row / l.n[1], row % l.n[1], cell % l.n[2])];
  }
  for (int width = 16; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width);
  if (threadIdx.x == 0) sums[chunk] = sum;
}
extern "C" __global__ void __launch_bounds__(sum_threads)
    part_means(const double* sums, const Index* first, const Index* first_chunk, double* means) {
  const Index part = blockIdx.x, cells = first[part + 1] - first[part];
  const double sum = sum_all(sums + first_chunk[part], first_chunk[part + 1] - first_chunk[part]);
  if (threadIdx.x == 0) means[part] = cells > 0 ? sum / (double)cells : 0;
}
/// Takes the part's mean away; `label` may be null (one part), `means` too (nothing but 0 outside of a mask).
extern "C" __global__ void __launch_bounds__(block_x* block_y)
    take_means(Level l, const unsigned* label, const double* means, REAL* field) {
  int z, y, x;
  if (!find(l, l.n[2], z, y, x)) return;
  const unsigned part = label == nullptr ? 1 : label[((Index)z * l.n[1] + y) * l.n[2] + x];
  REAL& value = field[place(l, z, y, x)];
  value = part == 0 ? (REAL)0 : (REAL)((double)value - (means == nullptr ? 0.0 : means[label == nullptr ? 0 : part]));
}

// ---- All coarse levels at once, by one block, whose fields stay in its level 1 cache.

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
