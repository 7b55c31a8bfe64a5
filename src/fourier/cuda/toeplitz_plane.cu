// A plane of the convolution of toeplitz_lines.cu in one block's shared memory: through y, x, times the spectrum, and
// back, one half of the frequencies of y after the other.
#define REAL float
#include "../../fft/cuda/butterflies.cuh"
#include "../../fft/cuda/pruned_lines.cuh"

typedef long long Index;
#include "toeplitz_rows.cuh"

typedef Line<AY, BY> Y;
// Through y a warp takes 32 columns of one j (or t) at a time: a unit.
constexpr int warps = THREADS / 32, units = BY * ((NX + 31) / 32), rounds = (units + warps - 1) / warps;
constexpr int half_spectrum = Y::length * HALVES_X * BX * row_values;
/// Where registers allow, all that a thread reads is on its way before the first use.
constexpr bool reads_at_once = rounds * AY <= 32;

struct Unit {
  int j, x;
  bool is_active;
};
__device__ __forceinline__ Unit unit_of(int round) {
  const int unit = threadIdx.x / 32 + warps * round, x = unit / BY * 32 + threadIdx.x % 32;
  return {unit % BY, x, (units % warps == 0 || unit < units) && (NX % 32 == 0 || x < NX)};
}

__device__ __forceinline__ void read_column(const Complex* in, Unit u, Complex (&v)[AY]) {
#pragma unroll
  for (int k = 0; k < AY; ++k) {
    zero(v[k]);
    if (u.is_active && (NY == Y::length || u.j + BY * k < NY)) v[k] = in[(u.j + BY * k) * NX + u.x];
  }
}

template <int Half>
__device__ __forceinline__ void first_stage(Unit u, Complex (&v)[AY], Complex* plane, const Complex* table) {
  if (!u.is_active) return;
  Y::first<Half>(v, table, u.j);
#pragma unroll
  for (int q = 0; q < AY; ++q) plane[(q * BY + u.j) * PITCH + u.x] = v[q];
}

template <bool Inverse>
__device__ __forceinline__ void second_stage(Complex* plane) {
  if constexpr (BY > 1) {
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      const Unit u = unit_of(r);
      if (!u.is_active) continue;
#pragma unroll
      for (int g = 0; g < Y::rounds; ++g) {
        const int q = u.j + BY * g;
        if (!Y::has(q)) continue;
        Complex* const at = plane + q * BY * PITCH + u.x;
        Complex v[BY];
#pragma unroll
        for (int m = 0; m < BY; ++m) v[m] = at[m * PITCH];
        transform<BY, Inverse>(v);
#pragma unroll
        for (int m = 0; m < BY; ++m) at[m * PITCH] = v[m];
      }
    }
    __syncthreads();
  }
}

template <int Half>
__device__ __forceinline__ void last_stage(Unit u, Complex (&v)[AY], const Complex* plane, const Complex* table) {
#pragma unroll
  for (int q = 0; q < AY; ++q) v[q] = plane[(q * BY + u.j) * PITCH + u.x];
  Y::last<Half>(v, table, u.j);
}

/// `sum`, null for zero, is what to add to the half's result.
template <int Half>
__device__ __forceinline__ void convolve_half(const Complex* in, const Complex* sum, Complex* out,
                                              const float* spectrum, Complex* plane, const Complex* table_x,
                                              const Complex* table_y) {
  if constexpr (reads_at_once) {
    Complex v[rounds][AY];
#pragma unroll
    for (int r = 0; r < rounds; ++r) read_column(in, unit_of(r), v[r]);
    __syncthreads();  // tables are there, and what stood in the plane has been read
#pragma unroll
    for (int r = 0; r < rounds; ++r) first_stage<Half>(unit_of(r), v[r], plane, table_y);
  } else {
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
      Complex v[AY];
      read_column(in, unit_of(r), v);
      first_stage<Half>(unit_of(r), v, plane, table_y);
    }
  }
  __syncthreads();
  second_stage<false>(plane);
  convolve_rows<Y::length>(plane, spectrum, table_x);
  __syncthreads();
  second_stage<true>(plane);
  for (int r = 0; r < rounds; ++r) {
    const Unit u = unit_of(r);
    if (!u.is_active) continue;
    Complex more[AY], v[AY];
    if (Half == 1) read_column(sum, u, more);
    last_stage<Half>(u, v, plane, table_y);
#pragma unroll
    for (int k = 0; k < AY; ++k)
      if (NY == Y::length || u.j + BY * k < NY)
        out[(u.j + BY * k) * NX + u.x] = Half == 0 ? v[k] : v[k] + more[k];
  }
}

/// work [coils, planes, NY, NX] in place; `partial` is scratch of its size. Coils of one plane follow each other: they
/// share its part of the spectrum.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    plane(Complex* work, Complex* partial, const float* spectrum, int coils, int planes, const Complex* table_x,
          const Complex* table_y) {
  extern __shared__ float4 shared_memory[];
  Complex* const own_x = reinterpret_cast<Complex*>(shared_memory);
  Complex* const own_y = own_x + X::table_size;
  for (int i = threadIdx.x; i < X::table_size; i += THREADS) own_x[i] = table_x[i];
  for (int i = threadIdx.x; i < Y::table_size; i += THREADS) own_y[i] = table_y[i];
  Complex* const memory = own_y + Y::table_size;
  const int coil = blockIdx.x % coils, plane = blockIdx.x / coils;
  const Index at = ((Index)coil * planes + plane) * (NY * NX);
  spectrum += (Index)plane * (HALVES_Y * half_spectrum);
  if constexpr (HALVES_Y == 1) {
    convolve_half<0>(work + at, nullptr, work + at, spectrum, memory, own_x, own_y);
  } else {
    convolve_half<0>(work + at, nullptr, partial + at, spectrum, memory, own_x, own_y);
    convolve_half<1>(work + at, partial + at, work + at, spectrum + half_spectrum, memory, own_x, own_y);
  }
}
