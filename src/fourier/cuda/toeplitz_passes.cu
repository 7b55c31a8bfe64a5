// The normal operator as a convolution with a real spectrum K on a circulant grid of twice the size, in float, without
// its zeros. An image [z, y, x] of coil c goes
//   line_forward   through z:  [c, NZ, NY * NX] -> [c, 2 nz, NY * NX]
//   plane          through y, x, times K, and back, one plane of z in a block's shared memory
//   line_inverse   through z back: [c, 2 nz, NY * NX] -> [c, NZ, NY * NX]
// Where a plane is too large, line_forward and line_inverse also do y, and `rows` does x and K.
// Constants: an axis of LENGTH values, padded to A * B values, has HALVES 2 (1 for a single value); see pruned_lines.cuh.
#define REAL float
#include "../../fft/cuda/butterflies.cuh"
#include "../../fft/cuda/pruned_lines.cuh"

typedef long long Index;

__device__ __forceinline__ void zero(Complex& x) { x = {0, 0}; }

#ifdef LINES
// ---- Lines of one strided axis. A block takes 32 columns, one per lane, and LINE_B values of j or t, one per warp.
typedef Line<LINE_A, LINE_B> Z;

/// What surrounds the convolution of each coil when an image goes in and comes out: maps[c] x before it, and the sum
/// over coils of conj(maps[c]) times the result after it, plus lambda x.
struct Sense {
  const Complex* maps;   ///< [coils, LENGTH, columns], null: none
  const Complex* image;  ///< x, of line_inverse
  double* dots;          ///< of line_inverse: per block the real part of <x, result>
  float lambda;
  int coils, is_first, is_last;  ///< of the coils in work, and whether they are the first and the last of all
};

/// Batches are `planes` of each coil; those of the result, and of line_inverse's input, lie one behind the other.
extern "C" __global__ void __launch_bounds__(32 * LINE_B)
    line_forward(const Complex* in, Index in_plane, int planes, Index in_coil, Complex* out, Index columns,
                 Sense sense, const Complex* table) {
  extern __shared__ float4 shared_memory[];
  Complex* const shared = reinterpret_cast<Complex*>(shared_memory) + threadIdx.x % 32;
  const int groups = (int)((columns + 31) / 32), t = threadIdx.x / 32;
  const Index batch = blockIdx.x / groups, column = (blockIdx.x % groups) * 32 + threadIdx.x % 32;
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
    for (int q = 0; q < LINE_A; ++q) shared[(q * LINE_B + t) * 32] = y[q];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < Z::rounds; ++r) {
      const int q = t + LINE_B * r;
      if (!Z::has(q)) continue;
      Complex z[LINE_B];
#pragma unroll
      for (int m = 0; m < LINE_B; ++m) z[m] = shared[(q * LINE_B + m) * 32];
      transform<LINE_B, false>(z);
      if (is_active)
#pragma unroll
        for (int m = 0; m < LINE_B; ++m) out[(h * Z::length + q * LINE_B + m) * columns] = z[m];
    }
  });
}

/// One coil's line back from `in`, the values of j = t.
__device__ __forceinline__ void line_back(const Complex* in, Index columns, bool is_active, Complex* shared,
                                          const Complex* table, int t, Complex (&sum)[LINE_A]) {
  unrolled<0, HALVES>([&](auto half) {
    constexpr int h = decltype(half)::value;
#pragma unroll
    for (int r = 0; r < Z::rounds; ++r) {
      const int q = t + LINE_B * r;
      if (!Z::has(q)) continue;
      Complex z[LINE_B];
#pragma unroll
      for (int m = 0; m < LINE_B; ++m) {
        zero(z[m]);
        if (is_active) z[m] = in[(h * Z::length + q * LINE_B + m) * columns];
      }
      transform<LINE_B, true>(z);
      if (r == 0) __syncthreads();  // what stood there has been read
#pragma unroll
      for (int m = 0; m < LINE_B; ++m) shared[(q * LINE_B + m) * 32] = z[m];
    }
    __syncthreads();
    Complex y[LINE_A];
#pragma unroll
    for (int q = 0; q < LINE_A; ++q) y[q] = shared[(q * LINE_B + t) * 32];
    Z::last<h>(y, table, t);
#pragma unroll
    for (int k = 0; k < LINE_A; ++k) sum[k] = h == 0 ? y[k] : sum[k] + y[k];
  });
}

extern "C" __global__ void __launch_bounds__(32 * LINE_B)
    line_inverse(const Complex* in, Complex* out, Index out_plane, int planes, Index out_coil, Index columns,
                 Sense sense, const Complex* table) {
  extern __shared__ float4 shared_memory[];
  Complex* const shared = reinterpret_cast<Complex*>(shared_memory) + threadIdx.x % 32;
  const int groups = (int)((columns + 31) / 32), t = threadIdx.x / 32;
  const Index batch = blockIdx.x / groups, column = (blockIdx.x % groups) * 32 + threadIdx.x % 32;
  const bool is_active = column < columns;
  in += batch * (HALVES * Z::length) * columns + column;
  out += batch / planes * out_coil + batch % planes * out_plane + column;
#if SENSE
  Complex total[LINE_A];
#pragma unroll
  for (int k = 0; k < LINE_A; ++k) {
    const int i = t + LINE_B * k;
    zero(total[k]);
    if (!sense.is_first && is_active && (LENGTH == Z::length || i < LENGTH)) total[k] = out[i * columns];
  }
  const Complex* map = sense.maps + column;
  for (int c = 0; c < sense.coils; ++c, in += (HALVES * Z::length) * columns, map += LENGTH * columns) {
    Complex x[LINE_A];
    line_back(in, columns, is_active, shared, table, t, x);
#pragma unroll
    for (int k = 0; k < LINE_A; ++k) {
      const int i = t + LINE_B * k;
      if (is_active && (LENGTH == Z::length || i < LENGTH))
        total[k] = total[k] + conj_times(map[i * columns], x[k]);
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
    total[k] = {total[k].re + sense.lambda * p.re, total[k].im + sense.lambda * p.im};
    out[i * columns] = total[k];
    dot += (double)p.re * total[k].re + (double)p.im * total[k].im;
  }
  if (sense.dots == nullptr || !sense.is_last) return;
  // Threads in a fixed tree: within warps, then over them.
#pragma unroll
  for (int step = 16; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
  __shared__ double sums[LINE_B];
  if (threadIdx.x % 32 == 0) sums[t] = dot;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < LINE_B; ++i) dot += sums[i];
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
#endif

#ifdef ROWS
// ---- Rows along x, contiguous: B threads of one warp share a row.
typedef Line<AX, BX> X;
constexpr int row_threads = BX <= 1 ? 1 : BX <= 2 ? 2 : BX <= 4 ? 4 : BX <= 8 ? 8 : 16;
constexpr int row_values = (X::rounds * BX + 3) / 4 * 4;  ///< of the spectrum, per thread and half
constexpr int row_stride = BX == 1 ? 1 : BX + 1;          ///< of q in the exchange, odd against bank conflicts

/// Half `Half` of a row through x and the spectrum and back; x holds the values of j. `spectrum` is the half's part of the
/// row, [row_values / 4][t][4].
template <int Half>
__device__ __forceinline__ void convolve(Complex (&x)[AX], Complex* exchange, int t, const float* spectrum,
                                         const Complex* table) {
  const bool is_active = BX == row_threads || t < BX;
  float k[row_values];
  if (is_active) {
#pragma unroll
    for (int v = 0; v < row_values / 4; ++v)
      reinterpret_cast<float4*>(k)[v] = __ldg(reinterpret_cast<const float4*>(spectrum) + v * BX + t);
    X::first<Half>(x, table, t);
  }
  if (BX > 1) {
    __syncwarp();  // what stood there has been read
    if (is_active)
#pragma unroll
      for (int q = 0; q < AX; ++q) exchange[q * row_stride + t] = x[q];
    __syncwarp();
    if (is_active)
#pragma unroll
      for (int r = 0; r < X::rounds; ++r) {
        const int q = t + BX * r;
        if (!X::has(q)) continue;
        Complex z[BX];
#pragma unroll
        for (int m = 0; m < BX; ++m) z[m] = exchange[q * row_stride + m];
        transform<BX, false>(z);
#pragma unroll
        for (int m = 0; m < BX; ++m) z[m] = {z[m].re * k[r * BX + m], z[m].im * k[r * BX + m]};
        transform<BX, true>(z);
#pragma unroll
        for (int m = 0; m < BX; ++m) exchange[q * row_stride + m] = z[m];
      }
    __syncwarp();
    if (is_active)
#pragma unroll
      for (int q = 0; q < AX; ++q) x[q] = exchange[q * row_stride + t];
  } else {
#pragma unroll
    for (int q = 0; q < AX; ++q) x[q] = {x[q].re * k[q], x[q].im * k[q]};
  }
  if (is_active) X::last<Half>(x, table, t);
}

/// A row's values of j through both halves. `spectrum` is the row's.
__device__ __forceinline__ void convolve_row(Complex (&x)[AX], Complex* exchange, int t, const float* spectrum,
                                             const Complex* table) {
  if constexpr (HALVES_X == 1) {
    convolve<0>(x, exchange, t, spectrum, table);
  } else {
    Complex second[AX];
#pragma unroll
    for (int k = 0; k < AX; ++k) second[k] = x[k];
    convolve<0>(x, exchange, t, spectrum, table);
    convolve<1>(second, exchange, t, spectrum + row_values * BX, table);
#pragma unroll
    for (int k = 0; k < AX; ++k) x[k] = x[k] + second[k];
  }
}

__device__ __forceinline__ bool in_row(int t, int k) {
  return (BX == row_threads || t < BX) && (NX == X::length || t + BX * k < NX);
}
#endif

#ifdef PITCH
// ---- A plane in shared memory.
typedef Line<AY, BY> Y;
constexpr int warps = THREADS / 32, column_groups = (NX + 31) / 32;

template <int Half>
__device__ __forceinline__ void plane_half(const Complex* in, const Complex* partial, Complex* out,
                                           const float* spectrum, Complex* plane, const Complex* table_x,
                                           const Complex* table_y) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // tables are there, and what stood in the plane has been read
  for (int unit = warp; unit < BY * column_groups; unit += warps) {
    const int j = unit % BY, x = unit / BY * 32 + lane;
    if (NX % 32 != 0 && x >= NX) continue;
    Complex v[AY];
#pragma unroll
    for (int k = 0; k < AY; ++k) {
      zero(v[k]);
      if (NY == Y::length || j + BY * k < NY) v[k] = in[(j + BY * k) * NX + x];
    }
    Y::first<Half>(v, table_y, j);
#pragma unroll
    for (int q = 0; q < AY; ++q) plane[(q * BY + j) * PITCH + x] = v[q];
  }
  if (BY > 1) {
    __syncthreads();
    for (int unit = warp; unit < BY * column_groups; unit += warps) {
      const int t = unit % BY, x = unit / BY * 32 + lane;
      if (NX % 32 != 0 && x >= NX) continue;
#pragma unroll
      for (int r = 0; r < Y::rounds; ++r) {
        const int q = t + BY * r;
        if (!Y::has(q)) continue;
        Complex v[BY];
#pragma unroll
        for (int m = 0; m < BY; ++m) v[m] = plane[(q * BY + m) * PITCH + x];
        transform<BY, false>(v);
#pragma unroll
        for (int m = 0; m < BY; ++m) plane[(q * BY + m) * PITCH + x] = v[m];
      }
    }
  }
  __syncthreads();
  {
    const int t = lane % row_threads;
    constexpr int rows_at_once = THREADS / row_threads;
    for (int base = 0; base < Y::length; base += rows_at_once) {
      const int row = base + (int)threadIdx.x / row_threads;
      const bool is_row = Y::length % rows_at_once == 0 || row < Y::length;
      // Lanes without a row go along with the last one: barriers of the warp are for all its lanes.
      if (Y::length % rows_at_once != 0 && base + warp * (32 / row_threads) >= Y::length) break;
      Complex* const line = plane + (is_row ? row : 0) * PITCH;
      Complex* const exchange = is_row ? line : plane + Y::length * PITCH;
      Complex v[AX];
#pragma unroll
      for (int k = 0; k < AX; ++k) {
        zero(v[k]);
        if (is_row && in_row(t, k)) v[k] = line[t + BX * k];
      }
      convolve_row(v, exchange, t, spectrum + (is_row ? row : 0) * (HALVES_X * BX * row_values), table_x);
      __syncwarp();
      if (is_row)
#pragma unroll
        for (int k = 0; k < AX; ++k)
          if (in_row(t, k)) line[t + BX * k] = v[k];
    }
  }
  __syncthreads();
  if (BY > 1) {
    for (int unit = warp; unit < BY * column_groups; unit += warps) {
      const int t = unit % BY, x = unit / BY * 32 + lane;
      if (NX % 32 != 0 && x >= NX) continue;
#pragma unroll
      for (int r = 0; r < Y::rounds; ++r) {
        const int q = t + BY * r;
        if (!Y::has(q)) continue;
        Complex v[BY];
#pragma unroll
        for (int m = 0; m < BY; ++m) v[m] = plane[(q * BY + m) * PITCH + x];
        transform<BY, true>(v);
#pragma unroll
        for (int m = 0; m < BY; ++m) plane[(q * BY + m) * PITCH + x] = v[m];
      }
    }
    __syncthreads();
  }
  for (int unit = warp; unit < BY * column_groups; unit += warps) {
    const int j = unit % BY, x = unit / BY * 32 + lane;
    if (NX % 32 != 0 && x >= NX) continue;
    Complex v[AY];
#pragma unroll
    for (int q = 0; q < AY; ++q) v[q] = plane[(q * BY + j) * PITCH + x];
    Y::last<Half>(v, table_y, j);
#pragma unroll
    for (int k = 0; k < AY; ++k) {
      if (NY != Y::length && j + BY * k >= NY) continue;
      const int i = (j + BY * k) * NX + x;
      out[i] = Half == 0 ? v[k] : v[k] + partial[i];
    }
  }
}

/// work [coils, planes, NY, NX] in place; `partial` is scratch of its size. Coils of one plane follow each other: they
/// share its part of the spectrum.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    plane(Complex* work, Complex* partial, const float* spectrum, int coils, int planes, const Complex* table_x,
          const Complex* table_y) {
  extern __shared__ float4 shared_memory[];
  Complex* const tables = reinterpret_cast<Complex*>(shared_memory);
  Complex* const own_x = tables;
  Complex* const own_y = tables + X::table_size;
  for (int i = threadIdx.x; i < X::table_size; i += THREADS) own_x[i] = table_x[i];
  for (int i = threadIdx.x; i < Y::table_size; i += THREADS) own_y[i] = table_y[i];
  Complex* const memory = own_y + Y::table_size;
  const int coil = blockIdx.x % coils, plane = blockIdx.x / coils;
  const Index at = ((Index)coil * planes + plane) * (NY * NX);
  constexpr int half_spectrum = Y::length * HALVES_X * BX * row_values;
  spectrum += (Index)plane * (HALVES_Y * half_spectrum);
  if constexpr (HALVES_Y == 1) {
    plane_half<0>(work + at, nullptr, work + at, spectrum, memory, own_x, own_y);
  } else {
    plane_half<0>(work + at, nullptr, partial + at, spectrum, memory, own_x, own_y);
    plane_half<1>(work + at, partial + at, work + at, spectrum + half_spectrum, memory, own_x, own_y);
  }
}
#elif defined(ROWS)
/// Rows [coils, rows, NX] in place. Coils of some rows follow each other: they share their part of the spectrum.
extern "C" __global__ void __launch_bounds__(THREADS)
    rows(Complex* work, const float* spectrum, int coils, int row_count, const Complex* table_x) {
  extern __shared__ float4 shared_memory[];
  Complex* const own = reinterpret_cast<Complex*>(shared_memory);
  for (int i = threadIdx.x; i < X::table_size; i += THREADS) own[i] = table_x[i];
  __syncthreads();
  constexpr int rows_at_once = THREADS / row_threads;
  const int coil = blockIdx.x % coils, local = threadIdx.x / row_threads, t = threadIdx.x % row_threads;
  const int row = blockIdx.x / coils * rows_at_once + local;
  const bool is_row = row < row_count;
  Complex* const line = work + ((Index)coil * row_count + (is_row ? row : 0)) * NX;
  Complex v[AX];
#pragma unroll
  for (int k = 0; k < AX; ++k) {
    zero(v[k]);
    if (is_row && in_row(t, k)) v[k] = line[t + BX * k];
  }
  convolve_row(v, own + X::table_size + local * ROW_PITCH, t,
               spectrum + (Index)(is_row ? row : 0) * (HALVES_X * BX * row_values), own);
  if (is_row)
#pragma unroll
    for (int k = 0; k < AX; ++k)
      if (in_row(t, k)) line[t + BX * k] = v[k];
}
#endif
