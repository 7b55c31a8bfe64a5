// One axis of the transform between the image and the fine grid, without the part of it that is zero: an axis of VOXELS
// voxels becomes one of A * B cells, or back. Values are moved in lines side by side, LANES of them, so that each access
// is of whole cache lines; a line goes through two stages in registers with one exchange in shared memory:
//   cell i = j + B k:  X[q] = sum_k x[j + B k] exp(-+ 2 pi i k q / A), turned by exp(-+ 2 pi i j q / (A B)),
//   cell q + A m = sum_j X[j][q] exp(-+ 2 pi i j m / B).
// OFFSET: what counts the elements of a line. INVERSE: 0 from image to grid with minus in the exponent, 1 from grid to image with plus. PLANAR: whether the image's
// side is [coil][row][x], which is how images come and go; the grid's is [row][COILS / PASS][cell][PASS]. Else both sides
// are [outer][axis][inner], inner being the faster axes with the COILS of a group.
#include "../../fft/cuda/butterflies.cuh"
typedef long long Index;

constexpr int cells = A * B, lanes = 128 / (int)sizeof(Complex), threads = (lanes * (A > B ? A : B) + 31) / 32 * 32;
constexpr int exchanged = cells * lanes, parts = COILS / PASS;

// Voxel n of N stands at frequency n - N / 2, which is cell (n - N / 2) mod cells. So the first cells are those of the
// later voxels, and the last ones those of the earlier.
struct Side {
  int late, early;  // cells below `late`, and from `early` on, have voxels
  int half;
  __device__ Side(int voxels) : late(voxels - voxels / 2), early(cells - voxels / 2), half(voxels / 2) {}
  __device__ bool has(int cell) const { return cell < late || cell >= early; }
  __device__ int shift(int cell) const { return cell < late ? half : -early; }  // voxel - cell
};

struct Lines {
  int voxels;
  Index outer, inner;  // of one group of coils
};
// Of the planar side: rows are [z][y]; the factors are 1 / transform of the kernel along each axis.
struct Planar {
  int coils, rows_y;
  const REAL* factor[3];
  REAL scale;
};

// Voxels of one line of a planar image in the order of their number, so that a warp's accesses are one piece; the lane is
// moved about so that neither lines nor voxels meet in a bank.
__device__ inline int place(int voxel, int lane) { return voxel * lanes + (lane ^ (voxel & (lanes - 1))); }

extern "C" __global__ void __launch_bounds__(threads)
    transform_axis(Lines lines, Planar planar, const Complex* turns, const Complex* in, Complex* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  Complex* shared = (Complex*)memory;
  const int lane = threadIdx.x % lanes, worker = threadIdx.x / lanes, group = blockIdx.y;

  // The lane's line: its first element on either side, and the step along the axis.
  Index line, outer;
  const OFFSET step = (OFFSET)lines.inner;
  bool is_there;
  if (PLANAR) {
    outer = (Index)blockIdx.x * (lanes / PASS) + lane / PASS;
    line = lane % PASS;
    is_there = outer < lines.outer;
  } else {
    const unsigned bundles = (unsigned)((lines.inner + lanes - 1) / lanes);
    outer = blockIdx.x / bundles;
    line = (Index)(blockIdx.x % bundles) * lanes + lane;
    is_there = line < lines.inner;
  }
  const Index block = group * lines.outer + outer;
  const Complex* from = in + block * lines.inner * (INVERSE ? cells : lines.voxels) + line;
  Complex* to = out + block * lines.inner * (INVERSE ? lines.voxels : cells) + line;
  const Side side(lines.voxels);

  // A warp's lines of the planar side, one after the other.
  const auto for_each_planar = [&](auto body) {
    for (int l = threadIdx.x / 32; l < lanes; l += threads / 32) {
      const Index outer_line = (Index)blockIdx.x * (lanes / PASS) + l / PASS;
      const unsigned row = (unsigned)(outer_line / parts);
      const int coil = group * COILS + (int)(outer_line % parts) * PASS + l % PASS;
      if (outer_line >= lines.outer || coil >= planar.coils) continue;
      const REAL factor = planar.factor[0][row / planar.rows_y] * planar.factor[1][row % planar.rows_y] * planar.scale;
      const Index begin = (coil * (lines.outer / parts) + row) * lines.voxels;
      for (int v = threadIdx.x % 32; v < lines.voxels; v += 32)
        body(begin + v, place(v, l), factor * planar.factor[2][v]);
    }
  };

  if (PLANAR && !INVERSE) {
    // Lines without a coil are not read from outside, but from here.
    if ((group + 1) * COILS > planar.coils)
      for (int i = threadIdx.x; i < exchanged; i += threads) shared[i] = {0, 0};
    __syncthreads();
    for_each_planar([&](Index at, int here, REAL factor) {
      const Complex v = in[at];
      shared[here] = {factor * v.re, factor * v.im};
    });
    __syncthreads();
  }

  Complex x[A];
  if (worker < B) {
#pragma unroll
    for (int k = 0; k < A; ++k) {
      const int cell = worker + B * k, i = INVERSE ? cell : cell + side.shift(cell);
      x[k] = {0, 0};
      if (!INVERSE && !side.has(cell)) continue;
      if (PLANAR && !INVERSE)
        x[k] = shared[place(i, lane)];
      else if (is_there)
        x[k] = from[i * step];
    }
    transform<A, INVERSE != 0>(x);
  }
  if (PLANAR && !INVERSE) __syncthreads();
  if (worker < B) {
#pragma unroll
    for (int q = 0; q < A; ++q) {
      if (q > 0) {
        const Complex w = turns[q * B + worker];
        x[q] = INVERSE ? conj_times(w, x[q]) : times(x[q], w);
      }
      shared[(q * B + worker) * lanes + lane] = x[q];
    }
  }
  __syncthreads();

  Complex y[B];
  if (worker < A) {
#pragma unroll
    for (int j = 0; j < B; ++j) y[j] = shared[(worker * B + j) * lanes + lane];
    transform<B, INVERSE != 0>(y);
  }
  if (PLANAR && INVERSE) __syncthreads();
  if (worker < A) {
#pragma unroll
    for (int m = 0; m < B; ++m) {
      const int cell = worker + A * m, i = INVERSE ? cell + side.shift(cell) : cell;
      if (INVERSE && !side.has(cell)) continue;
      if (PLANAR && INVERSE)
        shared[place(i, lane)] = y[m];
      else if (is_there)
        to[i * step] = y[m];
    }
  }
  if (PLANAR && INVERSE) {
    __syncthreads();
    for_each_planar([&](Index at, int here, REAL factor) {
      const Complex v = shared[here];
      out[at] = {factor * v.re, factor * v.im};
    });
  }
}
