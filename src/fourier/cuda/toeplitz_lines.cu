// The normal operator as a convolution with a real spectrum K on a circulant grid of twice the size, in float, without
// its zeros. An image [z, y, x] of coil c goes
//   line_forward   through z:  [c, NZ, NY * NX] -> [c, 2 nz, NY * NX]
//   plane          through y, x, times K, and back, in shared memory (toeplitz_plane.cu)
//   line_inverse   through z back: [c, 2 nz, NY * NX] -> [c, NZ, NY * NX]
// Where a plane is too large, the kernels of this file also do y, and toeplitz_rows.cu does x and K.
//
// Lines of one strided axis: LENGTH values, padded to LINE_A * LINE_B, HALVES 2 (1 for a single value); see
// pruned_lines.cuh. A block takes COLUMNS columns and LINE_B values of j or t, COLUMNS neighbouring threads each.
#define REAL float
#include "../../fft/cuda/butterflies.cuh"
#include "../../fft/cuda/pruned_lines.cuh"

typedef long long Index;
typedef Line<LINE_A, LINE_B> Z;

/// What surrounds the convolution of each coil when an image goes in and comes out: maps[c] x before it, and the sum
/// over coils of conj(maps[c]) times the result after it, times `scale`, plus lambda x.
struct Sense {
  const Complex* maps;   ///< [coils, LENGTH, columns], null: none
  const Complex* image;  ///< x, of line_inverse
  double* dots;          ///< of line_inverse: per block the real part of <x, result>
  float scale, lambda;
  int coils, is_first, is_last;  ///< of the coils in work, and whether they are the first and the last of all
};

/// Batches are `planes` of each coil; those of the result, and of line_inverse's input, lie one behind the other.
extern "C" __global__ void __launch_bounds__(COLUMNS* LINE_B)
    line_forward(const Complex* in, Index in_plane, int planes, Index in_coil, Complex* out, Index columns,
                 Sense sense, const Complex* table) {
  extern __shared__ float4 shared_memory[];
  Complex* const shared = reinterpret_cast<Complex*>(shared_memory) + threadIdx.x % COLUMNS;
  const int groups = (int)((columns + COLUMNS - 1) / COLUMNS), t = threadIdx.x / COLUMNS;
  const Index batch = blockIdx.x / groups, column = (blockIdx.x % groups) * COLUMNS + threadIdx.x % COLUMNS;
  const bool is_active = column < columns;
  in += batch / planes * in_coil + batch % planes * in_plane + column;
  out += batch * (HALVES * Z::length) * columns + column;

  Complex x[LINE_A];
#pragma unroll
  for (int k = 0; k < LINE_A; ++k) {
    const int i = t + LINE_B * k;
    zero(x[k]);
    if (is_active && (LENGTH == Z::length || i < LENGTH)) x[k] = in[i * columns];
  }
#if SENSE
  {
    const Complex* map = sense.maps + batch * LENGTH * columns + column;
#pragma unroll
    for (int k = 0; k < LINE_A; ++k) {
      const int i = t + LINE_B * k;
      if (is_active && (LENGTH == Z::length || i < LENGTH)) x[k] = times(x[k], map[i * columns]);
    }
  }
#endif
  unrolled<0, HALVES>([&](auto half) {
    constexpr int h = decltype(half)::value;
    Complex y[LINE_A];
#pragma unroll
    for (int k = 0; k < LINE_A; ++k) y[k] = x[k];
    Z::first<h>(y, table, t);
    if (h == 1) __syncthreads();  // the first half has been read
#pragma unroll
    for (int q = 0; q < LINE_A; ++q) shared[(q * LINE_B + t) * COLUMNS] = y[q];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < Z::rounds; ++r) {
      const int q = t + LINE_B * r;
      if (!Z::has(q)) continue;
      Complex z[LINE_B];
#pragma unroll
      for (int m = 0; m < LINE_B; ++m) z[m] = shared[(q * LINE_B + m) * COLUMNS];
      transform<LINE_B, false>(z);
      if (is_active)
#pragma unroll
        for (int m = 0; m < LINE_B; ++m) out[(h * Z::length + q * LINE_B + m) * columns] = z[m];
    }
  });
}

/// What a thread of stage two reads of a half of a line on the way back.
template <int Half>
__device__ __forceinline__ void load_back(const Complex* in, Index columns, bool is_active, int t,
                                          Complex (&z)[Z::rounds][LINE_B]) {
#pragma unroll
  for (int r = 0; r < Z::rounds; ++r)
#pragma unroll
    for (int m = 0; m < LINE_B; ++m) {
      const int q = t + LINE_B * r;
      zero(z[r][m]);
      if (is_active && Z::has(q)) z[r][m] = in[(Half * Z::length + q * LINE_B + m) * columns];
    }
}

template <int Half>
__device__ __forceinline__ void half_back(Complex (&z)[Z::rounds][LINE_B], Complex* shared,
                                          const Complex* table, int t, Complex (&sum)[LINE_A]) {
  __syncthreads();  // what stood there has been read
#pragma unroll
  for (int r = 0; r < Z::rounds; ++r) {
    const int q = t + LINE_B * r;
    if (!Z::has(q)) continue;
    transform<LINE_B, true>(z[r]);
#pragma unroll
    for (int m = 0; m < LINE_B; ++m) shared[(q * LINE_B + m) * COLUMNS] = z[r][m];
  }
  __syncthreads();
  Complex y[LINE_A];
#pragma unroll
  for (int q = 0; q < LINE_A; ++q) y[q] = shared[(q * LINE_B + t) * COLUMNS];
  Z::last<Half>(y, table, t);
#pragma unroll
  for (int k = 0; k < LINE_A; ++k) sum[k] = Half == 0 ? y[k] : sum[k] + y[k];
}

/// One coil's line back from `in`, the values of j = t. All is on its way before the first use
/// where registers allow.
__device__ __forceinline__ void line_back(const Complex* in, Index columns, bool is_active, Complex* shared,
                                          const Complex* table, int t, Complex (&sum)[LINE_A]) {
  Complex first[Z::rounds][LINE_B], second[Z::rounds][LINE_B];
  load_back<0>(in, columns, is_active, t, first);
  if constexpr (HALVES == 2 && !SENSE) load_back<1>(in, columns, is_active, t, second);
  half_back<0>(first, shared, table, t, sum);
  if constexpr (HALVES == 2 && SENSE) load_back<1>(in, columns, is_active, t, second);
  if constexpr (HALVES == 2) half_back<1>(second, shared, table, t, sum);
}

extern "C" __global__ void __launch_bounds__(COLUMNS* LINE_B, LINE_A <= 16 ? 2 : 1)
    line_inverse(const Complex* in, Complex* out, Index out_plane, int planes, Index out_coil, Index columns,
                 Sense sense, const Complex* table) {
  extern __shared__ float4 shared_memory[];
  Complex* const shared = reinterpret_cast<Complex*>(shared_memory) + threadIdx.x % COLUMNS;
  const int groups = (int)((columns + COLUMNS - 1) / COLUMNS), t = threadIdx.x / COLUMNS;
  const Index batch = blockIdx.x / groups, column = (blockIdx.x % groups) * COLUMNS + threadIdx.x % COLUMNS;
  const bool is_active = column < columns;
  in += batch * (HALVES * Z::length) * columns + column;
  out += batch / planes * out_coil + batch % planes * out_plane + column;
#if SENSE
  // The sum over coils stands in shared memory, each thread's own: in registers there would be room for one block only.
  Complex* const totals = shared + Z::length * COLUMNS;
#pragma unroll
  for (int k = 0; k < LINE_A; ++k) {
    const int i = t + LINE_B * k;
    Complex total;
    zero(total);
    if (!sense.is_first && is_active && (LENGTH == Z::length || i < LENGTH)) total = out[i * columns];
    totals[i * COLUMNS] = total;
  }
  const Complex* map = sense.maps + column;
  for (int c = 0; c < sense.coils; ++c, in += (HALVES * Z::length) * columns, map += LENGTH * columns) {
    Complex x[LINE_A];
    line_back(in, columns, is_active, shared, table, t, x);
#pragma unroll
    for (int k = 0; k < LINE_A; ++k) {
      const int i = t + LINE_B * k;
      if (is_active && (LENGTH == Z::length || i < LENGTH))
        totals[i * COLUMNS] = totals[i * COLUMNS] + conj_times(map[i * columns], x[k]);
    }
  }
  double dot = 0;
#pragma unroll
  for (int k = 0; k < LINE_A; ++k) {
    const int i = t + LINE_B * k;
    if (!is_active || (LENGTH != Z::length && i >= LENGTH)) continue;
    Complex p;
    zero(p);
    if (sense.is_last) p = sense.image[column + i * columns];
    const float scale = sense.is_last ? sense.scale : 1.0f;
    const Complex total = totals[i * COLUMNS],
                  sum = {scale * total.re + sense.lambda * p.re, scale * total.im + sense.lambda * p.im};
    out[i * columns] = sum;
    dot += (double)p.re * sum.re + (double)p.im * sum.im;
  }
  if (sense.dots == nullptr || !sense.is_last) return;
  // Threads in a fixed tree: within warps, then over them.
#pragma unroll
  for (int step = 16; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
  constexpr int warps = (COLUMNS * LINE_B + 31) / 32;
  __shared__ double sums[warps];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = dot;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < warps; ++i) dot += sums[i];
    sense.dots[blockIdx.x] = dot;
  }
#else
  Complex x[LINE_A];
  line_back(in, columns, is_active, shared, table, t, x);
#pragma unroll
  for (int k = 0; k < LINE_A; ++k) {
    const int i = t + LINE_B * k;
    if (is_active && (LENGTH == Z::length || i < LENGTH)) out[i * columns] = x[k];
  }
#endif
}
