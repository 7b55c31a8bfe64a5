// Where the samples of a trajectory fall on the grid, and their order by tiles.
#include "nufft_grid.cuh"

constexpr int threads = 256;

// k: [3][samples] in cycles per field of view of `voxels`, only of axes with a kernel. The first tap in [0, cells) and t
// in [-1, 1) of the taps' polynomials. In double: a float would lose 1e-5 of a turn at 128.
struct Place {
  int first;
  double t;
  __device__ Place(double k, int voxels, int cells, int taps) {
    const double turns = k / (double)voxels, u = (turns - floor(turns)) * (double)cells;
    const double begin = ceil(u - 0.5 * (double)taps);
    // Rounding may give u = cells; a kernel may be wider than the grid.
    const int wrapped = (int)begin % cells;
    first = wrapped < 0 ? wrapped + cells : wrapped;
    t = 2 * (begin - u) + (double)taps - 1;
  }
};

struct Voxels {
  int of[3];
};

extern "C" __global__ void __launch_bounds__(threads)
    find_tiles(Grid g, Voxels voxels, const double* k, Index samples, U32* tile) {
  const Index m = (Index)blockIdx.x * threads + threadIdx.x;
  if (m >= samples) return;
  int first[3] = {0, 0, 0};
  for (int d = 3 - DIMS; d < 3; ++d)
    first[d] = Place(k[d * samples + m], voxels.of[d], g.cells[d], g.taps[d]).first;
  tile[m] = ((U32)(first[0] / tile_z) * g.tiles[1] + first[1] / tile_y) * g.tiles[2] + first[2] / tile_x;
}

// first: [3][samples], t: [3][samples], both in the order of tiles.
extern "C" __global__ void __launch_bounds__(threads) place_samples(Grid g, Voxels voxels, const double* k,
                                                                    Index samples, const U32* order, int* first,
                                                                    REAL* t) {
  const Index i = (Index)blockIdx.x * threads + threadIdx.x;
  if (i >= samples) return;
  const U32 m = order[i];
  for (int d = 0; d < 3; ++d) {
    const Place place(d < 3 - DIMS ? 0 : k[d * samples + m], voxels.of[d], g.cells[d], g.taps[d]);
    first[d * samples + i] = d < 3 - DIMS ? 0 : place.first;
    t[d * samples + i] = (REAL)place.t;
  }
}

// sorted[group][i][COILS] = scale x of[coil][order[i]], with zeros for coils that are not there. Few coils at a time, whose
// samples stay in the cache while they are picked out; as many as fill what memory moves at once. A thread asks for
// several samples before it waits for the first.
constexpr int samples_of_thread = 4;
constexpr int coils_at_once = COILS < 32 / (int)sizeof(Complex) ? COILS : 32 / (int)sizeof(Complex);

extern "C" __global__ void __launch_bounds__(threads)
    sort_values(const Complex* of, Index samples, int coils, const U32* order, REAL scale, Complex* sorted) {
  constexpr int turns = COILS / coils_at_once, step = threads / coils_at_once;
  const Index begin = (Index)blockIdx.x * (step * samples_of_thread) + threadIdx.x / coils_at_once;
  const int group = blockIdx.y / turns,
            own = (int)(blockIdx.y % turns) * coils_at_once + (int)(threadIdx.x % coils_at_once),
            coil = group * COILS + own;
  Complex v[samples_of_thread];
#pragma unroll
  for (int n = 0; n < samples_of_thread; ++n) {
    const Index i = begin + n * step;
    v[n] = {0, 0};
    if (i < samples && coil < coils) v[n] = of[coil * samples + order[i]];
  }
#pragma unroll
  for (int n = 0; n < samples_of_thread; ++n) {
    const Index i = begin + n * step;
    if (i < samples) sorted[(group * samples + i) * COILS + own] = {scale * v[n].re, scale * v[n].im};
  }
}
