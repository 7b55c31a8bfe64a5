#pragma once
// Rows along x, contiguous, NX values padded to AX * BX: BX threads of one warp share a row.
typedef Line<AX, BX> X;
constexpr int row_threads = BX <= 1 ? 1 : BX <= 2 ? 2 : BX <= 4 ? 4 : BX <= 8 ? 8 : 16;
constexpr int row_values = (X::rounds * BX + 3) / 4 * 4;  ///< of the spectrum, per thread and half
// Of q in the exchange, free of bank conflicts: in pairs of values, 16 bytes, or one by one.
constexpr bool exchanges_pairs = BX == 8 || BX == 12 || BX == 16;
constexpr int row_stride = exchanges_pairs ? BX + 2 : BX == 1 ? 1 : BX + 1;

struct __align__(16) Pair {
  Complex a, b;
};
/// The BX values of one q.
__device__ __forceinline__ void read_group(const Complex* group, Complex (&z)[BX]) {
  if constexpr (exchanges_pairs) {
#pragma unroll
    for (int m = 0; m < BX; m += 2) {
      const Pair p = *reinterpret_cast<const Pair*>(group + m);
      z[m] = p.a;
      z[m + 1] = p.b;
    }
  } else {
#pragma unroll
    for (int m = 0; m < BX; ++m) z[m] = group[m];
  }
}
__device__ __forceinline__ void write_group(Complex* group, const Complex (&z)[BX]) {
  if constexpr (exchanges_pairs) {
#pragma unroll
    for (int m = 0; m < BX; m += 2) *reinterpret_cast<Pair*>(group + m) = {z[m], z[m + 1]};
  } else {
#pragma unroll
    for (int m = 0; m < BX; ++m) group[m] = z[m];
  }
}

/// Half `Half` of a row through x and the spectrum and back; x holds the values of j. `spectrum` is the half's part of the
/// row, [row_values / 4][t][4]. Lanes without a row come along to the barriers of their warp.
template <int Half>
__device__ __forceinline__ void convolve(Complex (&x)[AX], Complex* exchange, int t, const float* spectrum,
                                         const Complex* table, bool is_row) {
  const bool is_active = (BX == row_threads || t < BX) && is_row;
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
        read_group(exchange + q * row_stride, z);
        transform<BX, false>(z);
#pragma unroll
        for (int m = 0; m < BX; ++m) z[m] = {z[m].re * k[r * BX + m], z[m].im * k[r * BX + m]};
        transform<BX, true>(z);
        write_group(exchange + q * row_stride, z);
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
                                             const Complex* table, bool is_row) {
  if constexpr (HALVES_X == 1) {
    convolve<0>(x, exchange, t, spectrum, table, is_row);
  } else {
    Complex second[AX];
#pragma unroll
    for (int k = 0; k < AX; ++k) second[k] = x[k];
    convolve<0>(x, exchange, t, spectrum, table, is_row);
    convolve<1>(second, exchange, t, spectrum + row_values * BX, table, is_row);
#pragma unroll
    for (int k = 0; k < AX; ++k) x[k] = x[k] + second[k];
  }
}

__device__ __forceinline__ bool in_row(int t, int k) {
  return (BX == row_threads || t < BX) && (NX == X::length || t + BX * k < NX);
}

#ifdef PITCH
/// Rows in shared memory, PITCH apart, in place.
template <int Rows>
__device__ __forceinline__ void convolve_rows(Complex* rows, const float* spectrum, const Complex* table) {
  constexpr int at_once = THREADS / row_threads;
  const int t = threadIdx.x % row_threads, first = threadIdx.x / row_threads,
            first_of_warp = threadIdx.x / 32 * (32 / row_threads);
  for (int base = 0; base < Rows; base += at_once) {
    if (Rows % at_once != 0 && base + first_of_warp >= Rows) break;
    const int row = base + first;
    const bool is_row = Rows % at_once == 0 || row < Rows;
    Complex* const line = rows + (is_row ? row : 0) * PITCH;
    Complex v[AX];
#pragma unroll
    for (int k = 0; k < AX; ++k) {
      zero(v[k]);
      if (is_row && in_row(t, k)) v[k] = line[t + BX * k];
    }
    convolve_row(v, line, t, spectrum + (is_row ? row : 0) * (HALVES_X * BX * row_values), table, is_row);
    __syncwarp();
    if (is_row)
#pragma unroll
      for (int k = 0; k < AX; ++k)
        if (in_row(t, k)) line[t + BX * k] = v[k];
  }
}
#endif
