// Non-local means of a grey image with a thread for each voxel and its boxes summed sample by sample. NX, NY, NZ samples of
// a box, FX, FY, FZ the first one's offset, DX, DY, DZ the search distance; KEEP_X, KEEP_Y, KEEP_Z: shifts along these axes
// are served from shared memory, else the tile is read anew for each.
#define REAL float
#include "nlm_weight.cuh"

typedef long long Index;

constexpr int block_x = 32, block_y = 4, block_z = 4, threads = block_x * block_y * block_z;
constexpr int own_x = block_x + NX - 1, own_y = block_y + NY - 1, own_z = block_z + NZ - 1;
constexpr int reach_x = KEEP_X ? DX : 0, reach_y = KEEP_Y ? DY : 0, reach_z = KEEP_Z ? DZ : 0;
constexpr int size_x = own_x + 2 * reach_x, size_y = own_y + 2 * reach_y, size_z = own_z + 2 * reach_z;

struct Volume {
  const float* field;  // with its borders
  Index field_y, field_z;
  int field_nx, field_ny, field_nz;
  const float* image;
  float* result;
  int nx, ny, nz;
  float bias, scale, cut, to_image;
};

// What is needed from (x, y, z) of the field on.
template <int nx, int ny, int nz>
__device__ inline void load(float* tile, int x0, int y0, int z0, const Volume& v) {
  __syncthreads();
  for (int i = threadIdx.x; i < nx * ny * nz; i += threads) {
    const int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    tile[i] = v.field[min(z0 + z, v.field_nz - 1) * v.field_z + min(y0 + y, v.field_ny - 1) * v.field_y +
                      min(x0 + x, v.field_nx - 1)];
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(threads) nlm_tiers(const __grid_constant__ Volume v) {
  extern __shared__ float shared[];
  float *const own = shared, *const other = shared + own_x * own_y * own_z;
  const int x = threadIdx.x % block_x, y = threadIdx.x / block_x % block_y, z = threadIdx.x / (block_x * block_y);
  const int x0 = blockIdx.x * block_x, y0 = blockIdx.y * block_y, z0 = blockIdx.z * block_z;
  load<own_x, own_y, own_z>(own, x0 + DX, y0 + DY, z0 + DZ, v);
  const float* const a = own + (z * own_y + y) * own_x + x;
  const float centre = a[(-FZ * own_y - FY) * own_x - FX];
  float weights = 0, sum = 0;
  if (KEEP_Z) load<size_x, size_y, size_z>(other, x0, y0, z0, v);
  for (int tz = -DZ; tz <= DZ; ++tz) {
    if (!KEEP_Z && KEEP_Y) load<size_x, size_y, size_z>(other, x0, y0, z0 + DZ + tz, v);
    for (int ty = -DY; ty <= DY; ++ty) {
      if (!KEEP_Y && KEEP_X) load<size_x, size_y, size_z>(other, x0, y0 + DY + ty, z0 + DZ + tz, v);
      for (int tx = -DX; tx <= DX; ++tx) {
        if (!KEEP_X) load<size_x, size_y, size_z>(other, x0 + DX + tx, y0 + DY + ty, z0 + DZ + tz, v);
        const float* const b = other + ((z + (KEEP_Z ? DZ + tz : 0)) * size_y + y + (KEEP_Y ? DY + ty : 0)) * size_x + x +
                               (KEEP_X ? DX + tx : 0);
        float box = -v.bias;
        for (int k = 0; k < NZ; ++k)
          for (int j = 0; j < NY; ++j)
            for (int i = 0; i < NX; ++i) {
              const float d = b[(k * size_y + j) * size_x + i] - a[(k * own_y + j) * own_x + i];
              box = fused(d, d, box);
            }
        if (!(box <= v.cut)) continue;
        const float weight = weight_of(steps_of(box, v.scale));
        weights += weight;
        sum = fused(weight, b[(-FZ * size_y - FY) * size_x - FX] - centre, sum);
      }
    }
  }
  if (x0 + x >= v.nx || y0 + y >= v.ny || z0 + z >= v.nz) return;
  const Index at = ((Index)(z0 + z) * v.ny + y0 + y) * v.nx + x0 + x;
  v.result[at] = v.image[at] + sum / (weights > 0 ? weights : 1.0f) * v.to_image;
}
