#pragma once
// Samples that may reach a tile, for nufft_spread.cu.
// The tiles of one axis whose samples may reach tile `own`: `count` of them from `first` on, in the order of wrapping.
struct Neighbours {
  int first, count;
  __device__ Neighbours(int own, int extent, int cells, int tiles, int taps) {
    if (taps - 1 + extent >= cells) {
      first = 0;
      count = tiles;
      return;
    }
    const int begin = own * extent - (taps - 1);
    first = (begin < 0 ? begin + cells : begin) / extent;
    count = own - first + 1;
    if (count <= 0) count += tiles;
  }
};

// The samples of those tiles, as runs of sorted samples.
struct Candidates {
  U32 begin[32], offset[33];  // at most 4 tiles on each axis; tiles side by side hold samples side by side
  // By one warp, a run a lane.
  __device__ void collect(const Grid& g, const Corner& corner, const U32* begins) {
    const Neighbours z(corner.z / tile_z, tile_z, g.cells[0], g.tiles[0], g.taps[0]),
        y(corner.y / tile_y, tile_y, g.cells[1], g.tiles[1], g.taps[1]),
        x(corner.x / tile_x, tile_x, g.cells[2], g.tiles[2], g.taps[2]);
    const int lane = threadIdx.x, wrapped = lane % 2, iy = lane / 2 % y.count, iz = lane / 2 / y.count;
    const int end = x.first + x.count, straight = end < g.tiles[2] ? end : g.tiles[2];
    const int from = wrapped ? 0 : x.first, to = wrapped ? end - straight : straight;
    U32 first = 0, size = 0;
    if (iz < z.count && from < to) {
      const U32 row = ((U32)((z.first + iz) % g.tiles[0]) * g.tiles[1] + (y.first + iy) % g.tiles[1]) * g.tiles[2];
      first = begins[row + from];
      size = begins[row + to] - first;
    }
    U32 sum = size;
    for (int step = 1; step < 32; step *= 2) {
      const U32 other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    begin[lane] = first;
    offset[lane + 1] = sum;
    if (lane == 0) offset[0] = 0;
  }
};

// Whether taps from `first` on touch the cells from `begin` on.
__device__ inline bool reaches(int first, int begin, int extent, int cells, int taps) {
  int gap = first - begin;
  if (gap < 0) gap += cells;
  return gap < extent || gap + taps > cells;
}
