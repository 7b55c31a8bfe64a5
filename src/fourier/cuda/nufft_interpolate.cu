// Type 2: a block takes samples of one tile, and that tile with the cells that their taps reach into shared memory. A
// team of four lanes for each coil of a part sums up one sample: each lane takes every fourth row of its coil, and the
// kernel's values are made once for all of them. STAGED: 0 where the tile does not fit into shared memory; cells then
// come through the cache. THREADS: of a block.
#include "nufft_grid.cuh"

constexpr int threads = THREADS, batch = 112;
constexpr int rows_y = DIMS >= 2 ? WIDTH : 1, rows = (DIMS == 3 ? WIDTH : 1) * rows_y;
constexpr int team = 4 * PASS < 32 ? 4 * PASS : 32, lanes_of_row = team / PASS, teams = threads / team;
constexpr int rows_of_lane = (rows + lanes_of_row - 1) / lanes_of_row;
constexpr int halo_z = DIMS == 3 ? tile_z + WIDTH - 1 : 1, halo_y = DIMS >= 2 ? tile_y + WIDTH - 1 : 1,
              halo_x = tile_x + WIDTH - 1;
// Rows that a team reads at once lie in banks of their own: a row is an odd number of cells, and from the last row of the
// taps to the first of the next plane it is as far as to another row, of the four that matter.
constexpr int pitch = halo_x | 1, plane = halo_y * pitch + (pitch * WIDTH - halo_y * pitch % 4 + 4 * WIDTH) % 4;
// Products of the weights of each row, then those of columns; an odd stride spreads samples over banks.
constexpr int stride = (rows + WIDTH) | 1;

struct alignas(sizeof(Part) < 16 ? sizeof(Part) : 16) Piece {
  REAL of[(sizeof(Part) < 16 ? sizeof(Part) : 16) / sizeof(REAL)];
};
constexpr int pieces = (int)(sizeof(Part) / sizeof(Piece)), pieces_of_row = halo_x * pieces;

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

__device__ inline int wrapped(int i, int cells) { return i < cells ? i : i % cells; }

// As in nufft_points.hpp.
struct InterpolationItem {
  U32 tile, begin, end;
};

extern "C" __global__ void __launch_bounds__(threads)
    interpolate(Grid g, Taps taps, const InterpolationItem* items, const int* first, const REAL* t, const U32* order,
                Index samples, int coils, const Part* cells, Complex* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  Part* tile = (Part*)memory;  // [halo_z][plane], planes of [halo_y][pitch]
  REAL* weights = (REAL*)(memory + (STAGED ? sizeof(Part) * halo_z * plane : 0));
  int* place = (int*)(weights + batch * stride);  // the first tap's cell in the tile; not staged: on the grid, [3][batch]

  const InterpolationItem item = items[blockIdx.x];
  const Corner corner(g, item.tile);
  const int group = blockIdx.y / parts, part = blockIdx.y % parts;

#if STAGED
  __shared__ Index row_begins[halo_z * halo_y];
  for (int row = threadIdx.x; row < halo_z * halo_y; row += threads)
    row_begins[row] = row_of(g, group, wrapped(corner.z + row / halo_y, g.cells[0]),
                             wrapped(corner.y + row % halo_y, g.cells[1]), part);
  __syncthreads();
  if (pieces_of_row <= threads) {
    // A thread copies the same piece of every so many rows.
    constexpr int rows_at_once = threads / (pieces_of_row <= threads ? pieces_of_row : threads);
    const int i = threadIdx.x % pieces_of_row, x = i / pieces, piece = i % pieces;
    const Piece* from = (const Piece*)(cells + wrapped(corner.x + x, g.cells[2])) + piece;
    Piece* to = (Piece*)(tile + x) + piece;
    if (threadIdx.x < rows_at_once * pieces_of_row)
      for (int row = threadIdx.x / pieces_of_row; row < halo_z * halo_y; row += rows_at_once)
        copy_to_shared(to + (row / halo_y * plane + row % halo_y * pitch) * pieces, from + row_begins[row] * pieces);
  } else {
    for (int row = 0; row < halo_z * halo_y; ++row)
      for (int i = threadIdx.x; i < pieces_of_row; i += threads)
        copy_to_shared((Piece*)(tile + row / halo_y * plane + row % halo_y * pitch) + i,
                       (const Piece*)(cells + row_begins[row] + wrapped(corner.x + i / pieces, g.cells[2])) +
                           i % pieces);
  }
#endif

  // The lane's coil, and its rows from the first tap's cell on.
  const int own_coil = threadIdx.x % PASS, own_row = threadIdx.x % team / PASS;
  const int coil = group * COILS + part * PASS + own_coil;
#if STAGED
  int row_offset[rows_of_lane];
#pragma unroll
  for (int k = 0; k < rows_of_lane; ++k) {
    const int row = own_row + k * lanes_of_row;
    row_offset[k] = (row / rows_y * plane + row % rows_y * pitch) * PASS;
  }
#endif

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
#if STAGED
      place[threadIdx.x] = ((z - corner.z) * plane + (y - corner.y) * pitch + (x - corner.x)) * PASS;
#else
      place[threadIdx.x] = z;
      place[batch + threadIdx.x] = y;
      place[2 * batch + threadIdx.x] = x;
#endif
    }
    wait_for_copies();

    // All teams of a warp go on to the last sample of any of them: they sum up together.
    const int team_index = threadIdx.x / team, warp_first = threadIdx.x / 32 * (32 / team);
    for (int at = 0; warp_first + at < count; at += teams) {
      const bool is_there = team_index + at < count;
      const int p = is_there ? team_index + at : count - 1;
      const REAL* w = weights + p * stride;
      Complex sum = {0, 0};
#if STAGED
      const Complex* from = tile[0].of + place[p] + own_coil;
      REAL wx[WIDTH];
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) wx[j] = w[rows + j];
#pragma unroll
      for (int k = 0; k < rows_of_lane; ++k) {
        if ((k + 1) * lanes_of_row > rows && own_row + k * lanes_of_row >= rows) break;
        const Complex* row = from + row_offset[k];
        Complex of_row = {0, 0};
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) {
          const Complex v = row[j * PASS];
          of_row.re += wx[j] * v.re;
          of_row.im += wx[j] * v.im;
        }
        const REAL factor = w[own_row + k * lanes_of_row];
        sum.re += factor * of_row.re;
        sum.im += factor * of_row.im;
      }
#else
      const int z = place[p], y = place[batch + p], x = place[2 * batch + p];
      for (int r = own_row; r < rows; r += lanes_of_row) {
        const Part* row = cells + row_of(g, group, wrapped(z + r / rows_y, g.cells[0]),
                                         wrapped(y + r % rows_y, g.cells[1]), part);
        Complex of_row = {0, 0};
#pragma unroll 4
        for (int j = 0; j < WIDTH; ++j) {
          const Complex v = row[wrapped(x + j, g.cells[2])].of[own_coil];
          of_row.re += w[rows + j] * v.re;
          of_row.im += w[rows + j] * v.im;
        }
        sum.re += w[r] * of_row.re;
        sum.im += w[r] * of_row.im;
      }
#endif
#pragma unroll
      for (int step = PASS; step < team; step *= 2) {
        sum.re += __shfl_xor_sync(~0u, sum.re, step);
        sum.im += __shfl_xor_sync(~0u, sum.im, step);
      }
      if (is_there && own_row == 0 && coil < coils) out[coil * samples + order[begin + p]] = sum;
    }
    __syncthreads();
  }
}
