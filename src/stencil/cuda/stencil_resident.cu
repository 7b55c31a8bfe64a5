// Many steps in one launch, without computing anything twice. Each block owns a tile of tile_x columns x tile_y rows, and
// each of its LEVELS computing warps one level of it: warp t computes plane q of level t + 1 at turn q + DELAY * t, where q
// counts the planes of all passes over the grid, one after the other. So all levels are at work all the time, the next pass
// begins while the last one is under way, and what a warp reads beside its tile was computed DELAY turns ago by the blocks
// next to it: long enough to come through the level 2 cache while other planes are computed.
//
// A thread has COLUMNS x ROWS points, LANES_X lanes side by side. Neighbours along z are in its registers, along x and y in
// the same thread or a lane beside it; the plane that comes next is in shared memory, where the level below has left it;
// the rim around a tile is brought into shared memory by a warp of its own, two turns ahead.
//
// Who waits for whom. A block is through with turn k when all its warps have passed the barrier at its end; then another
// warp raises the block's count to k + 1 (released to the whole GPU, after the barrier, so with all that was written).
// What is read at turn n of the neighbours' points was written by them at turn n - DELAY: whoever brings it has acquired
// counts of at least n - DELAY + 1. A record of turn m is overwritten at turn m + 2 * DELAY. The neighbour that writes then
// has seen this block's count at m + DELAY + 1 or more, so this block is through with turn m + DELAY, the one that read the
// record. Blocks are there at once (a cooperative launch) and the block that is furthest behind waits for nobody, so that all
// go on.
#include "stencil_values.cuh"
#include "stencil_overlap.cuh"

// As in stencil_resident.hpp.
struct ResidentWork {
  OverlapWork grid;  // of which depth and levels are not used
  int passes, last;  // over the grid; levels of the last one, which hands on what it has above them
  void* records;     // of what lies at the sides of tiles
  unsigned* done;    // turns of each block
};

constexpr int lanes_x = LANES_X, lanes_y = 32 / LANES_X, tile_x = lanes_x * COLUMNS, tile_y = lanes_y * ROWS;
constexpr int slots = DELAY + 2, history = 2 * DELAY, ahead = 4;
// Where z is periodic, a level's planes begin one later than those of the level below, so that the plane before the first
// one is there; its last two planes then need the first two of the level below again, which are put aside, and so are
// their rims. All that it reads comes one turn later, and passes are DELAY + 1 turns apart.
constexpr int wrap = periodic_z ? 1 : 0, kept_aside = 2 * wrap;
// Of a rim or a record: columns at the left and right, rows above and below, as the lanes at that side have them.
constexpr int around = 2 * (tile_x + tile_y);
STENCIL_OP constexpr int begin(int side) { return side < 2 ? side * tile_y : 2 * tile_y + (side - 2) * tile_x; }
static_assert(evolving == 1 && DELAY >= 3 + wrap && DELAY <= ahead + 1);

struct alignas(16) Shared {
  Storage plane[LEVELS][slots + kept_aside][ROWS][COLUMNS][32];  // what each level reads
  Storage rim[LEVELS][2][around];
  unsigned long long brought[ahead];  // barriers: the plane that the first level reads next has come
  int done[32];                       // turns of each computing warp, then of the blocks beside
};

STENCIL_OP unsigned shared_place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
STENCIL_OP int done_of(const int* count) {
  int seen;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(seen) : "r"(shared_place(count)) : "memory");
  return seen;
}
// Each lane waits for a warp of its own.
STENCIL_OP void await_warps(const int* counts, int lane, int turns) {
  while (!__all_sync(0xffffffffu, done_of(counts + lane) >= turns)) continue;
  __syncwarp();
}
STENCIL_OP void begin_barrier(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_place(barrier)), "r"(arrivals) : "memory");
}
STENCIL_OP void await_barrier(const unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN_%=:\nmbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n@!p bra.uni AGAIN_%=;\n}" ::"r"(
          shared_place(barrier)),
      "r"(parity)
      : "memory");
}
// Once what this thread has fetched so far has come.
STENCIL_OP void arrive_with_fetches(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_place(barrier)) : "memory");
}
struct Tile {
  const StencilWork& w;
  const ResidentWork& r;
  Shared& shared;
  int lane, lx, ly, bx, by, nx, ny, nz;

  STENCIL_OP int column() const { return bx * tile_x + lx * COLUMNS; }
  STENCIL_OP int row() const { return by * tile_y + ly * ROWS; }
  STENCIL_OP Storage* array(int pass) const {
    return (Storage*)(pass & 1 ? w.out[output_of[0]] : (void*)w.in[read_of[0]]);
  }
  STENCIL_OP int period() const { return nz + wrap * (DELAY + 1); }
  STENCIL_OP int planes() const { return r.passes * period(); }
  STENCIL_OP int turns() const { return planes() + DELAY * (LEVELS - 1); }
  STENCIL_OP Index at(int z, int y, int x) const {
    return z * w.plane + (Index)place<periodic_y>(y, ny, r.grid.lowest[1], r.grid.highest[1]) * w.row +
           place<periodic_x>(x, nx, r.grid.lowest[2], r.grid.highest[2]);
  }
  // Whether a side of the tile is a face: 0 left, 1 right, 2 above, 3 below.
  STENCIL_OP bool is_face(int side) const {
    return side == 0   ? !periodic_x && bx == 0
           : side == 1 ? !periodic_x && bx == r.grid.tiles_x - 1
           : side == 2 ? !periodic_y && by == 0
                       : !periodic_y && by == r.grid.tiles_y - 1;
  }
  STENCIL_OP int neighbour(int side) const {
    const int tx = r.grid.tiles_x, ty = r.grid.tiles_y;
    const int x = side == 0 ? (bx == 0 ? tx - 1 : bx - 1) : side == 1 ? (bx == tx - 1 ? 0 : bx + 1) : bx;
    const int y = side == 2 ? (by == 0 ? ty - 1 : by - 1) : side == 3 ? (by == ty - 1 ? 0 : by + 1) : by;
    return y * tx + x;
  }
  STENCIL_OP Storage* record(int block, int turn) const {
    return (Storage*)r.records + ((Index)block * (history + kept_aside) + turn % history) * (LEVELS * around);
  }
  // Of the first planes of a pass.
  STENCIL_OP Storage* first_record(int block, int pass) const {
    return record(block, 0) + (history + (pass & 1)) * (LEVELS * around);
  }
};

// Brings the planes that the first level reads.
STENCIL_OP void bring(const Tile& tile) {
  const int turns = tile.turns(), nz = tile.nz, corner = (int)tile.at(0, tile.row(), tile.column());
  int row[ROWS], column[COLUMNS];  // places in a plane
#pragma unroll
  for (int i = 0; i < ROWS; ++i) row[i] = (int)tile.at(0, tile.row() + i, tile.column());
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) column[j] = (int)tile.at(0, tile.row(), tile.column() + j) - corner;
  int pass = 0, place = 0, slot = 0;
  const auto next = [&] {
    if (pass < tile.r.passes && place < nz) {
      const int z = wrap ? (pass * LEVELS + place + nz - 1) % nz : place;
      const Storage* const from = tile.array(pass) + z * tile.w.plane;
      Storage(*const planes)[ROWS][COLUMNS][32] = tile.shared.plane[0];
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
          fetch<sizeof(Storage)>(&planes[slot][i][j][tile.lane], from + row[i] + column[j]);
          if (wrap && place < kept_aside)
            fetch<sizeof(Storage)>(&planes[slots + place][i][j][tile.lane], from + row[i] + column[j]);
        }
    }
    slot = slot + 1 == slots ? 0 : slot + 1;
    if (++place == tile.period()) place = 0, ++pass;
  };
#pragma unroll 1
  for (int i = 0; i < 1 + wrap; ++i) next();
#pragma unroll 1
  for (int n = 0; n < turns; ++n) {
    await_warps(tile.shared.done, tile.lane, tile.lane < LEVELS ? n - ahead + 1 : 0);
    next();
    arrive_with_fetches(&tile.shared.brought[n % ahead]);
  }
  end_of_fetches();
  await_fetches<0>();
}

// Hears how far the blocks beside are.
STENCIL_OP void listen(const Tile& tile) {
  const int turns = tile.turns(), side = tile.lane & 3;
  const unsigned* const count = tile.lane < 4 && !tile.is_face(side) ? tile.r.done + tile.neighbour(side) : nullptr;
  for (int heard = 0; heard < turns;) {
    // An acquiring load empties the level 1 cache, so only once there is something new.
    unsigned seen = (unsigned)turns;
    if (count != nullptr) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    if (__reduce_min_sync(0xffffffffu, (int)seen) == heard) {
      __nanosleep(100);
      continue;
    }
    if (count != nullptr) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    const int least = __reduce_min_sync(0xffffffffu, (int)seen);
    __syncwarp();
    heard = least;
    if (tile.lane == 0) set_count(&tile.shared.done[LEVELS], least);
    __syncwarp();
  }
}

STENCIL_OP void announce(const Tile& tile) {
  const int turns = tile.turns();
  unsigned* const count = tile.r.done + blockIdx.x;
  for (int announced = 0; announced < turns;) {
    const int done = __reduce_min_sync(0xffffffffu, tile.lane < LEVELS ? done_of(tile.shared.done + tile.lane) : turns);
    __syncwarp();
    if (done == announced) continue;
    announced = done;
    if (tile.lane == 0)
      asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(count), "r"(done) : "memory");
    __syncwarp();
  }
}

// One level.
struct Level {
  static constexpr int plane_bytes = ROWS * COLUMNS * 32 * (int)sizeof(Storage), rim_bytes = around * (int)sizeof(Storage);
  const Tile& tile;
  int level;
  Storage state[3][ROWS][COLUMNS];  // plane below, this one, above: which is which goes round
  int end, pass, place, z, slot;    // of its turns; its pass and place there, plane of the grid, what is read
  unsigned inside;
  bool is_left, is_right, is_upper, is_lower;  // at a side of the tile, whose neighbours are in the rim
  int left, right, upper, lower;               // bytes from the plane or the rim to this lane's first neighbour
  unsigned char *planes, *rim_at;              // what this level reads
  bool grid_x, grid_y;                         // whether what is beside this lane comes from the grid
  int cell_x, cell_y;                          // and where it is there, in plane 0,
  const Storage *record_x, *record_y;          // or in the neighbour's first record
  Storage *beside_x, *beside_y;                // where its sides go in the block's first record

  STENCIL_OP Level(const Tile& t, int l)
      : tile(t), level(l), end(DELAY * l + t.planes()), pass(0), place(0), z(0), slot(0), inside(0) {
    constexpr int size = sizeof(Storage);
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        if (tile.row() + i < tile.ny && tile.column() + j < tile.nx) inside |= 1u << (i * COLUMNS + j);
        state[0][i][j] = state[1][i][j] = state[2][i][j] = Storage{};
      }
    const int lane = tile.lane, lx = tile.lx, ly = tile.ly;
    is_left = lx == 0, is_right = lx == lanes_x - 1, is_upper = ly == 0, is_lower = ly == lanes_y - 1;
    left = size * (is_left ? begin(0) + ly : (COLUMNS - 1) * 32 + lane - 1);
    right = size * (is_right ? begin(1) + ly : lane + 1);
    upper = size * (is_upper ? begin(2) + lx : (ROWS - 1) * COLUMNS * 32 + lane - lanes_x);
    lower = size * (is_lower ? begin(3) + lx : lane + lanes_x);
    planes = (unsigned char*)tile.shared.plane[level];
    rim_at = (unsigned char*)tile.shared.rim[level];
    Storage* const record = tile.record(blockIdx.x, 0);
    const int side_x = is_left ? 0 : 1, side_y = is_upper ? 2 : 3;
    beside_x = record + (level + 1) * around + begin(side_x) + ly;
    beside_y = record + (level + 1) * around + begin(side_y) + lx;
    grid_x = level == 0 || tile.is_face(side_x), grid_y = level == 0 || tile.is_face(side_y);
    cell_x = (int)tile.at(0, tile.row(), is_left ? tile.column() - 1 : tile.column() + COLUMNS);
    cell_y = (int)tile.at(0, is_upper ? tile.row() - 1 : tile.row() + ROWS, tile.column());
    record_x = tile.record(tile.neighbour(side_x), 0) + level * around + begin(side_x ^ 1) + ly;
    record_y = tile.record(tile.neighbour(side_y), 0) + level * around + begin(side_y ^ 1) + lx;
  }
  STENCIL_OP void from_grid(Storage (&to)[ROWS][COLUMNS], int plane) const {
    const Storage* const from = tile.array(0);
    // Kept from being known before: places of all points would take registers throughout.
    int row = tile.row(), column = tile.column();
    asm volatile("" : "+r"(row), "+r"(column));
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) to[i][j] = from[tile.at(plane, row + i, column + j)];
  }
  STENCIL_OP void from_below(Storage (&to)[ROWS][COLUMNS], int s) const {
    const Storage* const from = (const Storage*)(planes + s * plane_bytes) + tile.lane;
#pragma unroll
    for (int k = 0; k < ROWS * COLUMNS; ++k) to[k / COLUMNS][k % COLUMNS] = from[32 * k];
  }
  // For the level above and the blocks beside.
  STENCIL_OP void leave(Index record, int s, const Storage (&fresh)[ROWS][COLUMNS], bool also_beside = true) const {
    Storage *const to_x = beside_x + record, *const to_y = beside_y + record;
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
      store_if(also_beside && (is_left || is_right), to_x + i * lanes_y,
               RowOf<1>{{is_left ? fresh[i][0] : fresh[i][COLUMNS - 1]}});
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j)
      store_if(also_beside && (is_upper || is_lower), to_y + j * lanes_x,
               RowOf<1>{{is_upper ? fresh[0][j] : fresh[ROWS - 1][j]}});
    Storage* const to = (Storage*)(planes + (slots + kept_aside + s) * plane_bytes) + tile.lane;
#pragma unroll
    for (int k = 0; k < ROWS * COLUMNS; ++k) to[32 * k] = fresh[k / COLUMNS][k % COLUMNS];
  }
  // What turn k reads beside the tile; each lane that is at a side fetches what it reads itself.
  STENCIL_OP void fetch_rim(int k, int pass, int place, int z) const {
    if (place < tile.nz) {
      Storage* const rim = (Storage*)(rim_at + (k & 1) * rim_bytes);
      const Storage* const grid = tile.array(level == 0 ? pass : 0) + z * tile.w.plane;
      // The last plane of a pass over a periodic axis has its rim among the first ones.
      const int record = (wrap && place == tile.nz - 1 ? history + (pass & 1) : (k - DELAY + wrap + history) % history) *
                         (LEVELS * around);
      const int row_stride = (int)tile.w.row;
      if (is_left || is_right) {
        const Storage* const from = grid_x ? grid + cell_x : record_x + record;
        const int step = grid_x ? row_stride : lanes_y;
        Storage* const to = rim + begin(is_left ? 0 : 1) + tile.ly;
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
          fetch<sizeof(Storage)>(to + i * lanes_y,
                                 from + (WHOLE || !grid_x ? i : min(i, max(tile.ny - 1 - tile.row(), 0))) * step);
      }
      if (is_upper || is_lower) {
        const Storage* const from = grid_y ? grid + cell_y : record_y + record;
        const int step = grid_y ? 1 : lanes_x;
        Storage* const to = rim + begin(is_upper ? 2 : 3) + tile.lx;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          fetch<sizeof(Storage)>(to + j * lanes_x,
                                 from + (WHOLE || !grid_y ? j : min(j, max(tile.nx - 1 - tile.column(), 0))) * step);
      }
    }
    end_of_fetches();
  }
  STENCIL_OP int later(int by) const { return slot + by < slots ? slot + by : slot + by - slots; }

  template <int turn>
  STENCIL_OP void advance(int k) {
    Storage(&below)[ROWS][COLUMNS] = state[turn];
    Storage(&here)[ROWS][COLUMNS] = state[(turn + 1) % 3];
    Storage(&above)[ROWS][COLUMNS] = state[(turn + 2) % 3];
    const int nz = tile.nz;
    if (place == 0) {
      from_below(here, later(wrap));
      if constexpr (wrap)
        from_below(below, slot);
      else if constexpr (faces[0][0] == 0)
        from_grid(below, -1);
    }
    if (place < nz - 1 - wrap)
      from_below(above, later(1 + wrap));
    else if constexpr (wrap)
      from_below(above, slots + place - (nz - 2));
    else if constexpr (faces[0][1] == 0)
      from_grid(above, nz);
    // Neighbours in other lanes' points, or in the rim.
    const unsigned char* const plane = planes + (wrap && place == nz - 1 ? slots : later(wrap)) * plane_bytes;
    const unsigned char* const rim = rim_at + (k & 1) * rim_bytes;
    const auto pick = [&](bool is_rim, int first, int step, int rim_step) {
      return [=](int i) {
        return *(const Storage*)((is_rim ? rim : plane) + first + i * (is_rim ? rim_step : step) * (int)sizeof(Storage));
      };
    };
    const auto to_left = pick(is_left, left, 32 * COLUMNS, lanes_y), to_right = pick(is_right, right, 32 * COLUMNS, lanes_y),
               to_upper = pick(is_upper, upper, 32, lanes_x), to_lower = pick(is_lower, lower, 32, lanes_x);
    Storage fresh[ROWS][COLUMNS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        Around at(tile.w);
        at.near[0][1][1][1] = here[i][j];
        at.near[0][1][1][0] = j > 0 ? here[i][j - 1] : to_left(i);
        at.near[0][1][1][2] = j < COLUMNS - 1 ? here[i][j + 1] : to_right(i);
        at.near[0][1][0][1] = i > 0 ? here[i - 1][j] : to_upper(j);
        at.near[0][1][2][1] = i < ROWS - 1 ? here[i + 1][j] : to_lower(j);
        at.near[0][0][1][1] = below[i][j];
        at.near[0][2][1][1] = above[i][j];
        const int y = tile.row() + i, x = tile.column() + j;
        at.mirror(tile.r.grid, z, nz, y, tile.ny, x, tile.nx);
        if constexpr (reads > evolving)
          at.at = z * tile.w.plane + (Index)min(y, tile.ny - 1) * tile.w.row + min(x, tile.nx - 1);
        Storage v[1];
        at.compute(v);
        fresh[i][j] = WHOLE || (inside >> (i * COLUMNS + j) & 1) ? v[0] : here[i][j];
      }
    // Above the levels of the last pass a plane is handed on as it is.
    if (pass == tile.r.passes - 1 && level >= tile.r.last) {
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) fresh[i][j] = here[i][j];
    }
    if (level < LEVELS - 1) {
      leave(k % history * (LEVELS * around), slot, fresh);
      if constexpr (wrap)
        if (place < kept_aside) leave((history + (pass & 1)) * (LEVELS * around), slots + place, fresh, place == 0);
    } else {
      Storage* const to = tile.array(pass + 1) + z * tile.w.plane + (Index)tile.row() * tile.w.row + tile.column();
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          if (WHOLE || (inside >> (i * COLUMNS + j) & 1)) to[i * tile.w.row + j] = fresh[i][j];
    }
  }
  template <int turn>
  STENCIL_OP bool go(int k) {
    if (k == end) return false;
    // What is read must be there, and what is overwritten have been read.
    await_warps(tile.shared.done, tile.lane,
                tile.lane == level - 1   ? k - DELAY + 2 + wrap
                : tile.lane == LEVELS    ? k - DELAY + 2 + wrap
                : tile.lane == level + 1 ? k - 1
                                         : 0);
    if (level == 0) await_barrier(&tile.shared.brought[k % ahead], k / ahead & 1);
    int next_pass = pass, next_place = place + 1, next_z = z + 1 == tile.nz ? 0 : z + 1;
    if (next_place == tile.period()) {
      next_place = 0;
      ++next_pass;
      next_z = wrap ? (next_pass * LEVELS + level) % tile.nz : 0;
    }
    fetch_rim(k + 1, next_pass, k + 1 < end ? next_place : tile.nz, next_z);
    await_fetches<1>();
    if (!wrap || place < tile.nz) advance<turn>(k);
    slot = later(1);
    pass = next_pass, place = next_place, z = next_z;
    __syncwarp();
    if (tile.lane == 0) set_count(&tile.shared.done[level], k + 1 < end ? k + 1 : tile.turns());
    return true;
  }
  STENCIL_OP void run() {
    int k = DELAY * level;
    if constexpr (wrap) z = level % tile.nz;
    await_warps(tile.shared.done, tile.lane, tile.lane == LEVELS ? k - DELAY + 1 + wrap : 0);
    fetch_rim(k, 0, 0, z);
#pragma unroll 1
    while (go<0>(k) && go<1>(k + 1) && go<2>(k + 2)) k += 3;
  }
};

extern "C" __global__ void __launch_bounds__(32 * (LEVELS + 3), 1)
    resident(const __grid_constant__ StencilWork w, const __grid_constant__ ResidentWork r) {
  extern __shared__ __align__(16) unsigned char raw[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Tile tile{w,
                  r,
                  *(Shared*)raw,
                  lane,
                  lane % lanes_x,
                  lane / lanes_x,
                  (int)(blockIdx.x % r.grid.tiles_x),
                  (int)(blockIdx.x / r.grid.tiles_x),
                  (int)w.nx,
                  (int)w.ny,
                  (int)w.nz};
  if (warp == 0) {
    // Turns before a warp's first one.
    tile.shared.done[lane] = lane < LEVELS ? DELAY * lane : lane == LEVELS ? 0 : 0x7fffffff;
    if (lane < ahead) begin_barrier(&tile.shared.brought[lane], 32);
  }
  __syncthreads();
  if (warp == LEVELS)
    bring(tile);
  else if (warp == LEVELS + 1)
    listen(tile);
  else if (warp == LEVELS + 2)
    announce(tile);
  else
    Level(tile, warp).run();
}
