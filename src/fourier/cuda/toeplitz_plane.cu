// A plane of the convolution of toeplitz_lines.cu in shared memory: through y, x, times the spectrum, and back. PAIRED:
// two blocks, a cluster, share a plane, one for each half of the frequencies of y, and add their results through
// shared memory. Otherwise one block does the halves one after the other and adds them in global memory.
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

/// Asks the cache for `bytes`, all threads of the block together.
__device__ __forceinline__ void prefetch(const void* data, int bytes) {
  for (int i = 128 * threadIdx.x; i < bytes; i += 128 * THREADS)
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char*)data + i));
}

/// All but the last stage. While x keeps the arithmetic busy, the memory brings what a block after this one will read
/// first: `next` and `next_spectrum`, null for nothing.
template <int Half>
__device__ __forceinline__ void convolve_half(const Complex* in, const float* spectrum, const Complex* next,
                                              const float* next_spectrum, Complex* plane, const Complex* table_x,
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
  if (next != nullptr) prefetch(next, NY * NX * (int)sizeof(Complex));
  if (next_spectrum != nullptr) prefetch(next_spectrum, half_spectrum * (int)sizeof(float));
  convolve_rows<Y::length>(plane, spectrum, table_x);
  __syncthreads();
  second_stage<true>(plane);
}

#if PAIRED
__device__ __forceinline__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

template <int Half>
__device__ __forceinline__ void one_half(Complex* image, const float* spectrum, const Complex* next,
                                         const float* next_spectrum, Complex* plane, const Complex* table_x,
                                         const Complex* table_y) {
  convolve_half<Half>(image, spectrum, next, next_spectrum, plane, table_x, table_y);
  // Of the rounds each block has every other one to add up and write. What the other block is to add stays where
  // this thread has read it: rows j + BY k, as many as q BY + j.
#pragma unroll
  for (int r = 1 - Half; r < rounds; r += 2) {
    const Unit u = unit_of(r);
    if (!u.is_active) continue;
    Complex v[AY];
    last_stage<Half>(u, v, plane, table_y);
#pragma unroll
    for (int k = 0; k < AY; ++k) plane[(u.j + BY * k) * PITCH + u.x] = v[k];
  }
  arrive();
  wait();
  unsigned other;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(other)
      : "r"((unsigned)__cvta_generic_to_shared(plane)), "r"(1 - Half));
#pragma unroll
  for (int r = Half; r < rounds; r += 2) {
    const Unit u = unit_of(r);
    if (!u.is_active) continue;
    Complex v[AY];
    last_stage<Half>(u, v, plane, table_y);
    Complex more[AY];
#pragma unroll
    for (int k = 0; k < AY; ++k)
      asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
                   : "=f"(more[k].re), "=f"(more[k].im)
                   : "r"(other + ((u.j + BY * k) * PITCH + u.x) * (unsigned)sizeof(Complex)));
#pragma unroll
    for (int k = 0; k < AY; ++k)
      if (NY == Y::length || u.j + BY * k < NY) image[(u.j + BY * k) * NX + u.x] = v[k] + more[k];
  }
  // A block's memory is there as long as the other reads it. Nothing is to become visible: what a release would wait
  // for, the stores to global memory, may still be on its way.
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  wait();
}
#else
template <int Half>
__device__ __forceinline__ void one_half(const Complex* in, Complex* partial, Complex* out, const float* spectrum,
                                         Complex* plane, const Complex* table_x, const Complex* table_y) {
  convolve_half<Half>(in, spectrum, nullptr, nullptr, plane, table_x, table_y);
  for (int r = 0; r < rounds; ++r) {
    const Unit u = unit_of(r);
    if (!u.is_active) continue;
    Complex more[AY], v[AY];
    if (Half == 1) read_column(partial, u, more);
    last_stage<Half>(u, v, plane, table_y);
#pragma unroll
    for (int k = 0; k < AY; ++k)
      if (NY == Y::length || u.j + BY * k < NY)
        out[(u.j + BY * k) * NX + u.x] = Half == 0 ? v[k] : v[k] + more[k];
  }
}
#endif

/// work [coils, planes, NY, NX] in place; `partial` is scratch of its size, null when PAIRED. Coils of one plane follow
/// each other: they share its part of the spectrum. `ahead` is how many planes later the one comes that is asked of the
/// cache, 0 for none; only when PAIRED.
extern "C" __global__ void
#if PAIRED
__cluster_dims__(2, 1, 1)
#endif
__launch_bounds__(THREADS, 1) plane(Complex* work, Complex* partial, const float* spectrum, int coils, int planes,
                                    int ahead, const Complex* table_x, const Complex* table_y) {
  extern __shared__ float4 shared_memory[];
  Complex* const own_x = reinterpret_cast<Complex*>(shared_memory);
  Complex* const own_y = own_x + X::table_size;
  for (int i = threadIdx.x; i < X::table_size; i += THREADS) own_x[i] = table_x[i];
  for (int i = threadIdx.x; i < Y::table_size; i += THREADS) own_y[i] = table_y[i];
  Complex* const memory = own_y + Y::table_size;
  const int job = blockIdx.x / (PAIRED ? 2 : 1), coil = job % coils, plane = job / coils;
  Complex* const image = work + ((Index)coil * planes + plane) * (NY * NX);
  spectrum += (Index)plane * (HALVES_Y * half_spectrum);
#if PAIRED
  const int later = job + ahead, later_coil = later % coils, later_plane = later / coils;
  const bool is_there = ahead > 0 && later < coils * planes;
  const int half = blockIdx.x % 2;
  // Both halves read the image, each its own part of the spectrum, and that once for all coils.
  const Complex* const next =
      is_there && half == 0 ? work + ((Index)later_coil * planes + later_plane) * (NY * NX) : nullptr;
  const float* const next_spectrum = is_there && later_coil == 0
                                         ? spectrum + ((Index)(later_plane - plane) * 2 + half) * half_spectrum
                                         : nullptr;
  if (half == 0)
    one_half<0>(image, spectrum, next, next_spectrum, memory, own_x, own_y);
  else
    one_half<1>(image, spectrum + half_spectrum, next, next_spectrum, memory, own_x, own_y);
#else
  if constexpr (HALVES_Y == 1) {
    one_half<0>(image, nullptr, image, spectrum, memory, own_x, own_y);
  } else {
    partial += image - work;
    one_half<0>(image, nullptr, partial, spectrum, memory, own_x, own_y);
    one_half<1>(image, partial, image, spectrum + half_spectrum, memory, own_x, own_y);
  }
#endif
}
