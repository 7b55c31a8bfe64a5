// One level of a stencil with a thread for each point and every value from global memory: any stencil, any grid. BLOCK_X
// threads along x, BLOCK_Y rows.
#include "stencil_values.cuh"

struct Gathered {
  const StencilWork& w;
  Index at;
  template <int read, int dz, int dy, int dx>
  STENCIL_OP Value get() const {
    return Convert<Value, Storage>::widened(*((const Storage*)w.in[read] + at + (dz * w.plane + dy * w.row + dx)));
  }
};

STENCIL_OP void compute(const StencilWork& w, Index at, Real* reduced) {
  Value out[outputs];
  stencil_point(Gathered{w, at}, (const Real*)w.params, out, reduced);
#pragma unroll
  for (int o = 0; o < outputs; ++o) ((Storage*)w.out[o])[at] = Convert<Value, Storage>::narrowed(out[o]);
}

// Blocks go through x, then y, then z. ORDER: 0 a grid of blocks with three axes, which spares divisions; 1 where planes
// have one row, of which a block takes several; 2 one long row of blocks, tiles_x to a row of points and tiles_y to a plane.
extern "C" __global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    gather(const __grid_constant__ StencilWork w, unsigned tiles_x, unsigned tiles_y) {
#if ORDER == 2
  const unsigned tile = blockIdx.x / tiles_x, tile_x = blockIdx.x - tile * tiles_x, z = tile / tiles_y;
  const Index y = (Index)(tile - z * tiles_y) * BLOCK_Y + threadIdx.y;
#elif ORDER == 1
  const unsigned tile_x = blockIdx.x, y = 0, z = blockIdx.y * BLOCK_Y + threadIdx.y;
#else
  const unsigned tile_x = blockIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, z = blockIdx.z;
#endif
  Index x = (Index)tile_x * BLOCK_X + threadIdx.x;
  if (red_black) x = 2 * x + ((z + y + w.colour) & 1);
  if (x >= w.nx || (ORDER == 1 ? z >= w.nz : y >= w.ny)) return;
  Real reduced[reductions + 1];
  compute(w, z * w.plane + y * w.row + x, reduced);
}

// The same with sums and maxima of each row, by sixteen threads that take every sixteenth point and then join in a tree: the
// CPU's order.
extern "C" __global__ void __launch_bounds__(256) gather_reduced(const __grid_constant__ StencilWork w) {
  const Index row = (Index)blockIdx.x * 16 + threadIdx.x / 16;
  const int lane = threadIdx.x % 16;
  const bool is_inside = row < w.nz * w.ny;
  const Index at = is_inside ? row / w.ny * w.plane + row % w.ny * w.row : 0;
  double sums[reductions + 1];
#pragma unroll
  for (int r = 0; r < reductions; ++r) sums[r] = is_sum[r] ? 0.0 : __longlong_as_double(0xfff0000000000000ull);
  if (is_inside)
    for (Index x = lane; x < w.nx; x += 16) {
      Real reduced[reductions + 1];
      compute(w, at + x, reduced);
#pragma unroll
      for (int r = 0; r < reductions; ++r) {
        const double v = reduced[r];
        sums[r] = is_sum[r] ? __dadd_rn(sums[r], v) : v > sums[r] ? v : sums[r];
      }
    }
#pragma unroll
  for (int r = 0; r < reductions; ++r) {
#pragma unroll
    for (int width = 8; width > 0; width /= 2) {
      const double other = __shfl_down_sync(0xffffffffu, sums[r], width, 16);
      sums[r] = is_sum[r] ? __dadd_rn(sums[r], other) : other > sums[r] ? other : sums[r];
    }
    if (is_inside && lane == 0) w.reduced[r][row] = sums[r];
  }
}
