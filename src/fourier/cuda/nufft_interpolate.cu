// Type 2: a block takes samples of one tile, and that tile with the cells that their taps reach into shared memory. A
// sample is one warp's: lanes share its rows and PASS coils, and the kernel's values are made once for all of them.
// WIDTH: taps per axis. PASS: coils at a time, a divisor of COILS. STAGED: 0 where the tile does not fit into shared
// memory; cells then come through the cache.
#include "nufft_grid.cuh"

constexpr int threads = 256, warps = threads / 32, batch = 128;
constexpr int rows_y = DIMS >= 2 ? WIDTH : 1, rows = (DIMS == 3 ? WIDTH : 1) * rows_y;
constexpr int lanes_of_row = 32 / PASS, rows_of_lane = (rows + lanes_of_row - 1) / lanes_of_row;
constexpr int halo_z = DIMS == 3 ? tile_z + WIDTH - 1 : 1, halo_y = DIMS >= 2 ? tile_y + WIDTH - 1 : 1,
              halo_x = tile_x + WIDTH - 1;
constexpr int pitch = halo_x | 1;  // odd, so that rows of one column lie in other banks
// Products of the weights of each row, then those of columns; an odd stride spreads samples over banks.
constexpr int stride = (rows + WIDTH) | 1;

struct alignas(PASS * sizeof(Complex) < 16 ? sizeof(Complex) : 16) Piece {
  Complex of[PASS * sizeof(Complex) < 16 ? 1 : 16 / sizeof(Complex)];
};
constexpr int pieces = PASS * (int)sizeof(Complex) / (int)sizeof(Piece);

__device__ inline void copy_to_shared(Piece* to, const Piece* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  if (sizeof(Piece) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(from));
#else
  *to = *from;
#endif
}

__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncthreads();
}

// The values of all taps of an axis.
__device__ inline void weigh(const Taps& taps, REAL t, REAL* weights) {
#pragma unroll
  for (int j = 0; j < WIDTH; ++j) weights[j] = taps.coefficients[j];
  for (int power = 1; power <= taps.degree; ++power)
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) weights[j] = weights[j] * t + taps.coefficients[power * WIDTH + j];
}

__device__ inline int wrapped(int i, int cells) {
  if (i < cells) return i;
  i -= cells;
  return i < cells ? i : i % cells;
}

// As in nufft_points.hpp.
struct InterpolationItem {
  U32 tile, begin, end;
};

extern "C" __global__ void __launch_bounds__(threads)
    interpolate(Grid g, Taps taps, const InterpolationItem* items, const int* first, const REAL* t, const U32* order,
                Index samples, int coils, const Complex* cells, Complex* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  Complex* tile = (Complex*)memory;  // [halo_z][halo_y][pitch][PASS]
  REAL* weights = (REAL*)(memory + (STAGED ? sizeof(Complex) * halo_z * halo_y * pitch * PASS : 0));
  int* corner_of = (int*)(weights + batch * stride);  // [batch][3], or the offset in the tile

  const InterpolationItem item = items[blockIdx.x];
  const Corner corner(g, item.tile);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int group = blockIdx.y / (COILS / PASS), first_coil = blockIdx.y % (COILS / PASS) * PASS;
  cells += group * ((Index)g.cells[0] * g.cells[1] * g.cells[2]) * COILS + first_coil;

#if STAGED
  for (int row = warp; row < halo_z * halo_y; row += warps) {
    const int z = wrapped(corner.z + row / halo_y, g.cells[0]), y = wrapped(corner.y + row % halo_y, g.cells[1]);
    const Complex* from = cells + ((Index)z * g.cells[1] + y) * g.cells[2] * COILS;
    Complex* to = tile + row * pitch * PASS;
    for (int i = lane; i < halo_x * pieces; i += 32) {
      const int x = wrapped(corner.x + i / pieces, g.cells[2]);
      copy_to_shared((Piece*)(to + i / pieces * PASS) + i % pieces,
                     (const Piece*)(from + (Index)x * COILS) + i % pieces);
    }
  }
#endif

  // The lane's rows, from the first tap's cell on.
  const int own_coil = lane % PASS, own_row = lane / PASS;
  int row_offset[rows_of_lane];
#pragma unroll
  for (int k = 0; k < rows_of_lane; ++k) {
    const int row = own_row + k * lanes_of_row;
    row_offset[k] = (row / rows_y * halo_y + row % rows_y) * pitch * PASS;
  }

  for (U32 begin = item.begin; begin < item.end; begin += batch) {
    const int count = item.end - begin < batch ? (int)(item.end - begin) : batch;
    if (threadIdx.x < count) {
      const Index i = begin + threadIdx.x;
      REAL* w = weights + threadIdx.x * stride;
      REAL wz[WIDTH], wy[WIDTH], wx[WIDTH];
      wz[0] = wy[0] = wx[0] = 1;  // of axes without a kernel
      if (DIMS == 3) weigh(taps, t[i], wz);
      if (DIMS >= 2) weigh(taps, t[samples + i], wy);
      if (WIDTH > 1) weigh(taps, t[2 * samples + i], wx);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) w[rows + j] = wx[j];
#pragma unroll
      for (int row = 0; row < rows; ++row) w[row] = wz[row / rows_y] * wy[row % rows_y];
      const int z = first[i], y = first[samples + i], x = first[2 * samples + i];
      if (STAGED) {
        corner_of[threadIdx.x] =
            (((z - corner.z) * halo_y + (y - corner.y)) * pitch + (x - corner.x)) * PASS;
      } else {
        corner_of[threadIdx.x * 3] = z;
        corner_of[threadIdx.x * 3 + 1] = y;
        corner_of[threadIdx.x * 3 + 2] = x;
      }
    }
    wait_for_copies();

    for (int p = warp; p < count; p += warps) {
      const REAL* w = weights + p * stride;
      Complex sum = {0, 0};
#if STAGED
      const Complex* from = tile + corner_of[p] + own_coil;
      REAL wx[WIDTH];
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) wx[j] = w[rows + j];
#pragma unroll
      for (int k = 0; k < rows_of_lane; ++k) {
        if ((k + 1) * lanes_of_row > rows && own_row + k * lanes_of_row >= rows) break;
        const Complex* row = from + row_offset[k];
        Complex part = {0, 0};
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) {
          const Complex v = row[j * PASS];
          part.re += wx[j] * v.re;
          part.im += wx[j] * v.im;
        }
        const REAL factor = w[own_row + k * lanes_of_row];
        sum.re += factor * part.re;
        sum.im += factor * part.im;
      }
#else
      const int z = corner_of[3 * p], y = corner_of[3 * p + 1], x = corner_of[3 * p + 2];
      for (int r = own_row; r < rows; r += lanes_of_row) {
        const Complex* row =
            cells +
            ((Index)wrapped(z + r / rows_y, g.cells[0]) * g.cells[1] + wrapped(y + r % rows_y, g.cells[1])) *
                g.cells[2] * COILS +
            own_coil;
        Complex part = {0, 0};
#pragma unroll 4
        for (int j = 0; j < WIDTH; ++j) {
          const Complex v = row[(Index)wrapped(x + j, g.cells[2]) * COILS];
          part.re += w[rows + j] * v.re;
          part.im += w[rows + j] * v.im;
        }
        sum.re += w[r] * part.re;
        sum.im += w[r] * part.im;
      }
#endif
      for (int step = PASS; step < 32; step *= 2) {
        sum.re += __shfl_xor_sync(~0u, sum.re, step);
        sum.im += __shfl_xor_sync(~0u, sum.im, step);
      }
      const int coil = group * COILS + first_coil + own_coil;
      if (own_row == 0 && coil < coils) out[coil * samples + order[begin + p]] = sum;
    }
    __syncthreads();
  }
}
