#pragma once
// Part of nlm_tile.cu and nlm_march.cu: how a tile lies in its image and in shared memory, and what a launch is given.
typedef long long Index;

constexpr int warps = WARPS_X * WARPS_Y, threads = 32 * warps;
constexpr int tile_x = WARPS_X * COLUMNS, tile_y = WARPS_Y * ROWS, tile_z = 32 - (NZ - 1);
constexpr int own_x = tile_x + NX - 1, own_y = tile_y + NY - 1;
constexpr int size_x = own_x + 2 * DX, size_y = own_y + SPAN_Y - 1, size_z = 32 + SPAN_Z - 1;
constexpr int step_x = size_z | 1, step_y = size_x * step_x;  // odd: lanes along x or z meet no bank twice
// With the whole search in shared memory a voxel's own patch is there too.
constexpr bool is_whole = SPAN_Y == 2 * DY + 1 && SPAN_Z == 2 * DZ + 1;
constexpr int own_step_x = is_whole ? step_x : 33, own_step_y = is_whole ? step_y : own_x * own_step_x;
constexpr int tile_elements = size_y * step_y + step_x + 8, own_elements = is_whole ? 0 : own_y * own_step_y + 8;
constexpr int result_step = 33, unroll = UNROLL;
// Shifts along x go in groups: few enough for the registers, the first ones larger by one when it does not divide.
constexpr int all_x = 2 * DX + 1, most_x = 7, groups = (all_x + most_x - 1) / most_x;
constexpr int few = all_x / groups, larger_groups = all_x % groups, most = few + (larger_groups > 0);
// That of what is outside: nothing passes it, not even the negative sums that noise makes.
constexpr auto no_cut = -largest_value;
// Is the difference of the voxels themselves at hand when their row is complete?
constexpr bool has_difference = CLASSIC || (FX == 0 && FY == 0 && FZ == 0);
// Of the tile's first plane of voxels: lanes are the planes of the voxels themselves, or of their patches' first samples.
constexpr int first_lane = FIRST_LANE;
constexpr bool is_voxels_lane = FIRST_LANE == -FZ;
__device__ inline bool has_voxel(int lane) { return lane >= first_lane && lane < first_lane + tile_z; }

struct Tile {
  const REAL* field;       // what the tiles are cut from, with all borders
  Index field_y, field_z;  // elements from row to row, plane to plane
  int field_nx, field_ny, field_nz;
  const Stored* image;  // the voxels to filter
  Stored* result;
  const unsigned char* mask;  // or null
  Index image_y, image_z;     // of these three
  int nx, ny, nz;
  int tiles_x, tiles_y;
  Index first_tile;
  int begin[3], whole[3];  // x, y, z: where the voxels to filter begin in the whole image, and its extent
  REAL bias;               // subtracted from each sample, or from each row of them
  REAL scale;              // steps of the exponential per unit of a sum
  REAL cut, early_cut, first_cut;  // classic: of the sum before the last plane, and of the first plane alone
  Stored to_image;                 // from the field's unit to the image's
  unsigned open_low, open_size;    // steps of sums that may be on the wrong side of the cut
  unsigned sure;                   // more steps than this, and a sum below the cut surely counts
  double norm, box_bias;
  unsigned* open;  // of each thread of all tiles, a bit for each of its voxels in doubt, which nlm_decide.cu decides
  REAL gaussian[3][8];  // classic: along x, y and z, over that of the middle
};

struct Pair {
  REAL weight, sum;
};

// Into shared memory. Values go there by themselves on cards that can: a thread has all of its copies under way at once,
// until wait_for_copies().
#if __CUDA_ARCH__ >= 800
__device__ inline void copy(REAL* to, const REAL* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "n"((int)sizeof(REAL))
               : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
__device__ inline void copy(REAL* to, const REAL* from) { *to = *from; }
__device__ inline void wait_for_copies() {}
#endif

// What the tile holds from (x, y, z) of the field on.
template <int nx, int ny, int nz, int to_x, int to_y>
__device__ inline void load(REAL* tile, int x0, int y0, int z0, const Tile& t) {
  for (int i = threadIdx.x; i < nx * ny * nz; i += threads) {
    const int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    copy(tile + y * to_y + x * to_x + z,
         t.field + min(z0 + z, t.field_nz - 1) * t.field_z + min(y0 + y, t.field_ny - 1) * t.field_y +
             min(x0 + x, t.field_nx - 1));
  }
  wait_for_copies();
}

// Does the mask leave nothing of a tile to filter? Asked by all threads.
__device__ inline bool is_masked(int x0, int y0, int z0, const Tile& t) {
  if (t.mask == nullptr) return false;
  int any = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < tile_x * tile_y * tile_z; i += threads) {
    const int x = x0 + i % tile_x, y = y0 + i / tile_x % tile_y, z = z0 + i / (tile_x * tile_y);
    if (x < t.nx && y < t.ny && z < t.nz) any |= t.mask[z * t.image_z + y * t.image_y + x];
  }
  return !__syncthreads_or(any);
}

// The first voxel of a tile.
struct Corner {
  int x, y, z;
};
__device__ inline Corner corner_of(Index number, const Tile& t) {
  return {(int)(number % t.tiles_x) * tile_x, (int)(number / t.tiles_x % t.tiles_y) * tile_y,
          (int)(number / t.tiles_x / t.tiles_y) * tile_z};
}

// What lies in shared memory as a mean difference from each voxel, so that rows are written as rows.
__device__ inline void write_results(const REAL* tile, int x0, int y0, int z0, const Tile& t) {
  constexpr int at_once = 8;
  for (int begin = threadIdx.x; begin < tile_x * tile_y * tile_z; begin += at_once * threads) {
    Index at[at_once];
    Stored own_value[at_once];
    bool is_kept[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      const int i = begin + j * threads, x = x0 + i % tile_x, y = y0 + i / tile_x % tile_y, z = i / (tile_x * tile_y);
      const Index here = min(z0 + z, t.nz - 1) * t.image_z + min(y, t.ny - 1) * t.image_y + min(x, t.nx - 1);
      at[j] = z < tile_z && x < t.nx && y < t.ny && z0 + z < t.nz ? here : -1;
      own_value[j] = t.image[here];
      is_kept[j] = t.mask != nullptr && t.mask[here] == 0;
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      if (at[j] < 0) continue;
      const int i = begin + j * threads, z = i / (tile_x * tile_y);
      const Stored mean = (Stored)tile[i % (tile_x * tile_y) * result_step + z];
      t.result[at[j]] = is_kept[j] ? own_value[j] : add(own_value[j], mul(mean, t.to_image));
    }
  }
}
