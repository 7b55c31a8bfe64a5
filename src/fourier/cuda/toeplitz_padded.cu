// Images [z, y, x] of coils into larger grids of zeros and back; REAL is float or double.
struct __align__(2 * sizeof(REAL)) Complex {
  REAL re, im;
};
typedef long long Index;
struct Box {
  Index z, y, x;
};
constexpr int threads = 256;

__device__ inline Index first_index() { return (Index)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline Index stride() { return (Index)gridDim.x * blockDim.x; }

/// Where voxel i of a coil stands in the grid.
__device__ inline Index cell_of(Index i, Box image, Box grid) {
  const Index x = i % image.x, row = i / image.x;
  return (row / image.y * grid.y + row % image.y) * grid.x + x;
}

/// grid = image in the first corner, zeros elsewhere; times the maps unless null. A coil's image is image_coil behind
/// the last one's.
extern "C" __global__ void __launch_bounds__(threads)
    pad(const Complex* images, Index image_coil, const Complex* maps, Box image, Box grid, Index coils,
        Complex* out) {
  const Index cells = grid.z * grid.y * grid.x, voxels = image.z * image.y * image.x;
  for (Index i = first_index(); i < coils * cells; i += stride()) {
    const Index coil = i / cells, cell = i % cells, x = cell % grid.x, row = cell / grid.x, y = row % grid.y,
                z = row / grid.y;
    Complex value = {0, 0};
    if (x < image.x && y < image.y && z < image.z) {
      const Index voxel = (z * image.y + y) * image.x + x;
      value = images[coil * image_coil + voxel];
      if (maps != nullptr) {
        const Complex m = maps[coil * voxels + voxel];
        value = {value.re * m.re - value.im * m.im, value.re * m.im + value.im * m.re};
      }
    }
    out[i] = value;
  }
}

extern "C" __global__ void __launch_bounds__(threads)
    multiply(Complex* grid, const REAL* spectrum, Index cells, Index coils) {
  for (Index i = first_index(); i < cells; i += stride()) {
    const REAL k = spectrum[i];
    for (Index c = 0; c < coils; ++c) {
      const Complex v = grid[c * cells + i];
      grid[c * cells + i] = {v.re * k, v.im * k};
    }
  }
}

extern "C" __global__ void __launch_bounds__(threads)
    crop(const Complex* grids, Box image, Box grid, Index coils, Complex* out) {
  const Index cells = grid.z * grid.y * grid.x, voxels = image.z * image.y * image.x;
  for (Index i = first_index(); i < coils * voxels; i += stride())
    out[i] = grids[i / voxels * cells + cell_of(i % voxels, image, grid)];
}

/// out = (is_first ? 0 : out) + sum_c conj(maps[c]) grids[c], and when is_last times scale + lambda x; then each block also leaves its
/// part of Re <x, out>, the sum of its threads in a fixed tree.
extern "C" __global__ void __launch_bounds__(threads)
    crop_sum(const Complex* grids, const Complex* maps, Box image, Box grid, Index coils, const Complex* x,
             REAL scale, REAL lambda, int is_first, int is_last, Complex* out, double* dots) {
  const Index cells = grid.z * grid.y * grid.x, voxels = image.z * image.y * image.x, i = first_index();
  double dot = 0;
  if (i < voxels) {
    Complex sum = {0, 0};
    if (!is_first) sum = out[i];
    const Index cell = cell_of(i, image, grid);
    for (Index c = 0; c < coils; ++c) {
      const Complex m = maps[c * voxels + i], v = grids[c * cells + cell];
      sum.re += m.re * v.re + m.im * v.im;
      sum.im += m.re * v.im - m.im * v.re;
    }
    if (is_last) {
      const Complex p = x[i];
      sum.re = scale * sum.re + lambda * p.re;
      sum.im = scale * sum.im + lambda * p.im;
      dot = (double)p.re * sum.re + (double)p.im * sum.im;
    }
    out[i] = sum;
  }
  if (!is_last || dots == nullptr) return;
  __shared__ double shared[threads];
  shared[threadIdx.x] = dot;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) dots[blockIdx.x] = shared[0];
}
