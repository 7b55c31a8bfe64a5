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
// ---- Lines of one strided axis. A block takes COLUMNS columns and LINE_B values of j or t, COLUMNS neighbouring threads
// each.
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
    const Complex total = totals[i * COLUMNS],
                  sum = {total.re + sense.lambda * p.re, total.im + sense.lambda * p.im};
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
#endif

#ifdef ROWS
// ---- Rows along x, contiguous: B threads of one warp share a row.
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

#ifdef PITCH
/// Rows in shared memory, PITCH apart, in place. A row beyond the last is where idle lanes exchange: barriers of a warp
/// are for all its lanes.
template <int Rows>
__device__ __forceinline__ void convolve_rows(Complex* rows, const float* spectrum, const Complex* table) {
  constexpr int at_once = THREADS / row_threads;
  const int t = threadIdx.x % row_threads, first = threadIdx.x / row_threads,
            first_of_warp = threadIdx.x / 32 * (32 / row_threads);
  for (int base = 0; base < Rows; base += at_once) {
    if (Rows % at_once != 0 && base + first_of_warp >= Rows) break;
    const int row = base + first;
    const bool is_row = Rows % at_once == 0 || row < Rows;
    Complex* const line = rows + (is_row ? row : Rows) * PITCH;
    Complex v[AX];
#pragma unroll
    for (int k = 0; k < AX; ++k) {
      zero(v[k]);
      if (is_row && in_row(t, k)) v[k] = line[t + BX * k];
    }
    convolve_row(v, line, t, spectrum + (is_row ? row : 0) * (HALVES_X * BX * row_values), table);
    __syncwarp();
    if (is_row)
#pragma unroll
      for (int k = 0; k < AX; ++k)
        if (in_row(t, k)) line[t + BX * k] = v[k];
  }
}
#endif
#endif

#if defined(PITCH) && !defined(CLUSTER)
// ---- A plane in a block's shared memory.
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
  convolve_rows<Y::length>(plane, spectrum, table_x);
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
#elif defined(CLUSTER)
// ---- A plane in the shared memory of CLUSTER blocks, so that several blocks, each in a phase of its own, fit on a
// multiprocessor. Through y each block has COLS columns, through x as many rows; between, every block writes to, and
// reads from, the rows of all.
typedef Line<AY, BY> Y;
constexpr int own_rows = Y::length / CLUSTER, units = COLS * BY, unit_rounds = (units + THREADS - 1) / THREADS;
static_assert(Y::length % CLUSTER == 0 && own_rows % BY == 0, "all values of one q lie in one block");

__device__ __forceinline__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
/// The address of element (q, m = 0; x) of the rows, in whichever block it stands.
__device__ __forceinline__ unsigned address_of(unsigned rows, int q, int x) {
  const unsigned owner = q * BY / own_rows,
                 local = rows + ((q * BY % own_rows) * PITCH + x) * (unsigned)sizeof(Complex);
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(local), "r"(owner));
  return address;
}

template <int Half>
__device__ __forceinline__ void cluster_half(const Complex* in, const Complex* partial, Complex* out,
                                             const float* spectrum, Complex* memory, unsigned rank,
                                             const Complex* table_x, const Complex* table_y) {
  int j[unit_rounds], c[unit_rounds], x[unit_rounds];
  bool is_active[unit_rounds];
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r) {
    const int unit = threadIdx.x + THREADS * r;
    j[r] = unit / COLS;
    c[r] = unit % COLS;
    x[r] = rank * COLS + c[r];
    is_active[r] = (units % THREADS == 0 || unit < units) && (NX % COLS == 0 || x[r] < NX);
  }
  Complex v[unit_rounds][AY];
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int k = 0; k < AY; ++k) {
      zero(v[r][k]);
      if (is_active[r] && (NY == Y::length || j[r] + BY * k < NY)) v[r][k] = in[(j[r] + BY * k) * NX + x[r]];
    }
  __syncthreads();  // tables are there, and what stood in memory has been read
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r) {
    if (!is_active[r]) continue;
    Y::first<Half>(v[r], table_y, j[r]);
#pragma unroll
    for (int q = 0; q < AY; ++q) memory[(q * BY + j[r]) * COLS + c[r]] = v[r][q];
  }
  __syncthreads();
  Complex z[unit_rounds][Y::rounds][BY];
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int g = 0; g < Y::rounds; ++g)
      if (is_active[r] && Y::has(j[r] + BY * g))
#pragma unroll
        for (int m = 0; m < BY; ++m) z[r][g][m] = memory[((j[r] + BY * g) * BY + m) * COLS + c[r]];
  arrive();
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int g = 0; g < Y::rounds; ++g) transform<BY, false>(z[r][g]);
  wait();  // all have read their columns: rows may take their place
  const unsigned rows = (unsigned)__cvta_generic_to_shared(memory);
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int g = 0; g < Y::rounds; ++g)
      if (is_active[r] && Y::has(j[r] + BY * g)) {
        const unsigned at = address_of(rows, j[r] + BY * g, x[r]);
#pragma unroll
        for (int m = 0; m < BY; ++m)
          asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(at + m * PITCH * (unsigned)sizeof(Complex)),
                       "f"(z[r][g][m].re), "f"(z[r][g][m].im)
                       : "memory");
      }
  arrive();
  wait();
  convolve_rows<own_rows>(memory, spectrum + rank * own_rows * (HALVES_X * BX * row_values), table_x);
  arrive();
  wait();
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int g = 0; g < Y::rounds; ++g)
      if (is_active[r] && Y::has(j[r] + BY * g)) {
        const unsigned at = address_of(rows, j[r] + BY * g, x[r]);
#pragma unroll
        for (int m = 0; m < BY; ++m)
          asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
                       : "=f"(z[r][g][m].re), "=f"(z[r][g][m].im)
                       : "r"(at + m * PITCH * (unsigned)sizeof(Complex)));
      }
  arrive();
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int g = 0; g < Y::rounds; ++g) transform<BY, true>(z[r][g]);
  wait();  // all rows have been read: columns may take their place
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
    for (int g = 0; g < Y::rounds; ++g)
      if (is_active[r] && Y::has(j[r] + BY * g))
#pragma unroll
        for (int m = 0; m < BY; ++m) memory[((j[r] + BY * g) * BY + m) * COLS + c[r]] = z[r][g][m];
  Complex sum[unit_rounds][AY];
  if (Half == 1)
#pragma unroll
    for (int r = 0; r < unit_rounds; ++r)
#pragma unroll
      for (int k = 0; k < AY; ++k)
        if (is_active[r] && (NY == Y::length || j[r] + BY * k < NY))
          sum[r][k] = partial[(j[r] + BY * k) * NX + x[r]];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < unit_rounds; ++r) {
    if (!is_active[r]) continue;
#pragma unroll
    for (int q = 0; q < AY; ++q) v[r][q] = memory[(q * BY + j[r]) * COLS + c[r]];
    Y::last<Half>(v[r], table_y, j[r]);
#pragma unroll
    for (int k = 0; k < AY; ++k)
      if (NY == Y::length || j[r] + BY * k < NY)
        out[(j[r] + BY * k) * NX + x[r]] = Half == 0 ? v[r][k] : v[r][k] + sum[r][k];
  }
}

/// As the kernel of the same name for one block.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 2)
    plane(Complex* work, Complex* partial, const float* spectrum, int coils, int planes, const Complex* table_x,
          const Complex* table_y) {
  extern __shared__ float4 shared_memory[];
  Complex* const own_x = reinterpret_cast<Complex*>(shared_memory);
  Complex* const own_y = own_x + X::table_size;
  for (int i = threadIdx.x; i < X::table_size; i += THREADS) own_x[i] = table_x[i];
  for (int i = threadIdx.x; i < Y::table_size; i += THREADS) own_y[i] = table_y[i];
  Complex* const memory = own_y + Y::table_size;
  const unsigned rank = blockIdx.x % CLUSTER, job = blockIdx.x / CLUSTER;
  const int coil = job % coils, plane = job / coils;
  const Index at = ((Index)coil * planes + plane) * (NY * NX);
  constexpr int half_spectrum = Y::length * HALVES_X * BX * row_values;
  spectrum += (Index)plane * (HALVES_Y * half_spectrum);
  if constexpr (HALVES_Y == 1) {
    cluster_half<0>(work + at, nullptr, work + at, spectrum, memory, rank, own_x, own_y);
  } else {
    cluster_half<0>(work + at, nullptr, partial + at, spectrum, memory, rank, own_x, own_y);
    cluster_half<1>(work + at, partial + at, work + at, spectrum + half_spectrum, memory, rank, own_x, own_y);
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
