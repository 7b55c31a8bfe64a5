// x of the convolution of toeplitz_lines.cu, times the spectrum and back, where y has passes of its own.
#define REAL float
#include "../../fft/cuda/butterflies.cuh"
#include "../../fft/cuda/pruned_lines.cuh"

typedef long long Index;
#include "toeplitz_rows.cuh"

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
               spectrum + (Index)(is_row ? row : 0) * (HALVES_X * BX * row_values), own, is_row);
  if (is_row)
#pragma unroll
    for (int k = 0; k < AX; ++k)
      if (in_row(t, k)) line[t + BX * k] = v[k];
}
