// Between image and grid: division by the kernel's transform, with zeros put in or cells left out. Voxel n of an axis of
// N stands at frequency n - N / 2, which is cell (n - N / 2) mod cells.
#include "nufft_grid.cuh"

constexpr int threads = 128;

// factor: 1 / transform of the kernel of each voxel, axis by axis.
struct Image {
  int voxels[3];
  const REAL* factor[3];
};

// A cell's voxel on one axis, or -1.
__device__ inline int voxel_of(int cell, int voxels, int cells) {
  if (cell < voxels - voxels / 2) return cell + voxels / 2;
  return cell >= cells - voxels / 2 ? cell - (cells - voxels / 2) : -1;
}

__device__ inline int cell_of(int voxel, int voxels, int cells) {
  const int cell = voxel - voxels / 2;
  return cell < 0 ? cell + cells : cell;
}

// A block per row of the grid.
extern "C" __global__ void __launch_bounds__(threads)
    pad(Grid g, Image im, int coils, const Complex* image, Complex* cells) {
  const int group = blockIdx.y, row = blockIdx.x;
  const int z = voxel_of(row / g.cells[1], im.voxels[0], g.cells[0]),
            y = voxel_of(row % g.cells[1], im.voxels[1], g.cells[1]);
  const bool is_inside = z >= 0 && y >= 0;
  const REAL factor = is_inside ? im.factor[0][z] * im.factor[1][y] : 0;
  for (int part = 0; part < parts; ++part) {
    Complex* to = cells + row_of(g, group, row / g.cells[1], row % g.cells[1], part) * PASS;
    for (int i = threadIdx.x; i < g.cells[2] * PASS; i += threads) {
      const int x = voxel_of(i / PASS, im.voxels[2], g.cells[2]), coil = group * COILS + part * PASS + i % PASS;
      Complex v = {0, 0};
      if (is_inside && x >= 0 && coil < coils) {
        const Complex voxel =
            image[(((Index)coil * im.voxels[0] + z) * im.voxels[1] + y) * im.voxels[2] + x];
        const REAL f = factor * im.factor[2][x];
        v = {f * voxel.re, f * voxel.im};
      }
      to[i] = v;
    }
  }
}

// A block per row of the image. scale: undoes that of sort_values.
extern "C" __global__ void __launch_bounds__(threads)
    crop(Grid g, Image im, int coils, REAL scale, const Complex* cells, Complex* image) {
  const int group = blockIdx.y, row = blockIdx.x, z = row / im.voxels[1], y = row % im.voxels[1];
  const REAL factor = im.factor[0][z] * im.factor[1][y] * scale;
  for (int part = 0; part < parts; ++part) {
    const Complex* from = cells + row_of(g, group, cell_of(z, im.voxels[0], g.cells[0]),
                                         cell_of(y, im.voxels[1], g.cells[1]), part) *
                                      PASS;
    for (int i = threadIdx.x; i < im.voxels[2] * PASS; i += threads) {
      const int x = i / PASS, coil = group * COILS + part * PASS + i % PASS;
      if (coil >= coils) continue;
      const Complex v = from[(Index)cell_of(x, im.voxels[2], g.cells[2]) * PASS + i % PASS];
      const REAL f = factor * im.factor[2][x];
      image[(((Index)coil * im.voxels[0] + z) * im.voxels[1] + y) * im.voxels[2] + x] = {f * v.re, f * v.im};
    }
  }
}
