#pragma once
// Sums: sixteen lanes for each half row and a warp for each row, then all rows by one block, in the host's order.

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
