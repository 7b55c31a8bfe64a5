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
constexpr int slots = DELAY + 2, history = 2 * DELAY, rims = 4;
// Where z is periodic, a level's planes begin one later than those of the level below, so that the plane before the first
// one is there; its last two planes then need the first two of the level below again, which are put aside, and so are
// their rims. All that it reads comes one turn later, and passes are DELAY turns apart.
constexpr int wrap = periodic_z ? 1 : 0, kept_aside = 2 * wrap;
// Of a rim or a record: columns at the left and right, rows above and below; as the lanes at the sides have them.
constexpr int right_side = tile_y, upper_side = 2 * tile_y, lower_side = upper_side + tile_x, around = lower_side + tile_x;
static_assert(evolving == 1 && DELAY >= 3 + wrap && DELAY <= rims + 1);
static_assert(tile_x * sizeof(Storage) % 16 == 0 && tile_y * sizeof(Storage) % 16 == 0);

struct Shared {
  Storage plane[LEVELS][slots + kept_aside][ROWS][COLUMNS][32];  // what each level reads
  Storage rim[rims][LEVELS][around];
  unsigned long long brought[rims];  // barriers: what a turn needs from elsewhere has come
  int done[32];                      // turns of each warp
};

STENCIL_OP int done_of(const int* count) {
  int seen;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(seen) : "r"((unsigned)__cvta_generic_to_shared(count)) : "memory");
  return seen;
}
// Each lane waits for a warp of its own.
STENCIL_OP void await_warps(const int* counts, int lane, int turns) {
  while (!__all_sync(0xffffffffu, done_of(counts + lane) >= turns)) continue;
  __syncwarp();
}
STENCIL_OP void begin_barrier(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(arrivals) : "memory");
}
STENCIL_OP void await_barrier(const unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN_%=:\nmbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n@!p bra.uni AGAIN_%=;\n}" ::"r"(
          (unsigned)__cvta_generic_to_shared(barrier)),
      "r"(parity)
      : "memory");
}
// Once what this thread has fetched so far has come.
STENCIL_OP void arrive_with_fetches(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
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
  // Where in the grid a level's q-th plane is.
  STENCIL_OP int plane(int level, int q) const {
    if constexpr (wrap) {
      const int at = (q / period() * LEVELS + level + q % period()) % nz;
      return at < 0 ? at + nz : at;
    }
    return q % nz;
  }
  STENCIL_OP bool is_at_work(int q) const {
    return q >= 0 && q < planes() && (!wrap || q % period() < nz);
  }
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

// Brings what a turn reads from elsewhere. A lane has the same places of every rim, and where they come from, at hand.
struct Bringer {
  static constexpr int unit = 16 / sizeof(Storage), units = around / unit;  // of a record, sixteen bytes each
  static constexpr int packs = (units + 31) / 32, cells = (around + 31) / 32;
  const Tile& tile;
  unsigned faces_here, kept_cells;  // sides that are faces; this lane's cells beside those
  unsigned seen;                    // turns of the neighbour that this lane watches
  const unsigned* watched;
  const Storage* pack[packs];  // in the first level of a neighbour's first record, null at faces
  int cell[cells], row[ROWS], column[COLUMNS];  // places in a plane

  STENCIL_OP static int side_of(int i) { return i < right_side ? 0 : i < upper_side ? 1 : i < lower_side ? 2 : 3; }
  STENCIL_OP Bringer(const Tile& t) : tile(t), faces_here(0), kept_cells(0), seen(0) {
#pragma unroll
    for (int side = 0; side < 4; ++side)
      if (tile.is_face(side)) faces_here |= 1u << side;
    watched = tile.lane < 4 && !(faces_here >> tile.lane & 1) ? tile.r.done + tile.neighbour(tile.lane) : nullptr;
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const int to = min(tile.lane + 32 * p, units - 1) * unit, side = side_of(to);
      const int from = side == 0 ? to + tile_y : side == 1 ? to - tile_y : side == 2 ? to + tile_x : to - tile_x;
      const bool is_there = tile.lane + 32 * p < units && !(faces_here >> side & 1);
      pack[p] = is_there ? tile.record(tile.neighbour(side), 0) + from : nullptr;
    }
#pragma unroll
    for (int c = 0; c < cells; ++c) {
      const int i = min(tile.lane + 32 * c, around - 1), x0 = tile.bx * tile_x, y0 = tile.by * tile_y;
      if (tile.lane + 32 * c < around && faces_here >> side_of(i) & 1) kept_cells |= 1u << c;
      if (i < upper_side) {
        const int k = i % tile_y;
        cell[c] = (int)tile.at(0, y0 + k % lanes_y * ROWS + k / lanes_y, i < right_side ? x0 - 1 : x0 + tile_x);
      } else {
        const int k = (i - upper_side) % tile_x;
        cell[c] = (int)tile.at(0, i < lower_side ? y0 - 1 : y0 + tile_y, x0 + k % lanes_x * COLUMNS + k / lanes_x);
      }
    }
    const int corner = (int)tile.at(0, tile.row(), tile.column());
#pragma unroll
    for (int i = 0; i < ROWS; ++i) row[i] = (int)tile.at(0, tile.row() + i, tile.column());
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) column[j] = (int)tile.at(0, tile.row(), tile.column() + j) - corner;
  }
  STENCIL_OP void await_neighbours(int turns) {
    if (watched != nullptr)
      while ((int)seen < turns) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(watched) : "memory");
    __syncwarp();
  }
  // The first level's own points, in the q-th plane that it reads.
  STENCIL_OP void plane(int q) const {
    const int pass = q / tile.period(), i = q - pass * tile.period();
    if (q >= tile.planes() || i >= tile.nz) return;
    const Storage* const from = tile.array(pass) + tile.plane(-wrap, q) * tile.w.plane;
    Storage(*const to)[COLUMNS][32] = tile.shared.plane[0][q % slots];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) {
        fetch<sizeof(Storage)>(&to[r][c][tile.lane], from + row[r] + column[c]);
        if (wrap && i < kept_aside)
          fetch<sizeof(Storage)>(&tile.shared.plane[0][slots + i][r][c][tile.lane], from + row[r] + column[c]);
      }
  }
  STENCIL_OP void bring(int n) {
    await_neighbours(n - DELAY + 1 + wrap);
    for (int q = n == 0 ? 0 : n + 1 + wrap; q <= n + 1 + wrap; ++q) plane(q);
    Storage* const rim = tile.shared.rim[n % rims][0];
    // The first level's is in the grid.
    if (tile.is_at_work(n)) {
      const Storage* const from = tile.array(n / tile.period()) + tile.plane(0, n) * tile.w.plane;
#pragma unroll
      for (int c = 0; c < cells; ++c)
        if (tile.lane + 32 * c < around) fetch<sizeof(Storage)>(&rim[tile.lane + 32 * c], from + cell[c]);
    }
    // Those of the others are in the neighbours' records,
    const int end = min(LEVELS, n / DELAY + 1);
    const Index latest = (n - DELAY + wrap + history) % history * (LEVELS * around);
    // where the last plane of a pass over a periodic axis has its rim among the first ones,
    const int last = wrap ? (n + 1 + tile.period() - tile.nz) : 0, pass = wrap ? last / tile.period() - 1 : 0;
    const int special = wrap ? last % tile.period() : -1;
    const Index first = (history + (pass & 1)) * (LEVELS * around);
#pragma unroll
    for (int level = 1; level < LEVELS; ++level)
      if (level < end) {
        const Index there = (wrap && special == level * DELAY ? first : latest) + level * around;
#pragma unroll
        for (int p = 0; p < packs; ++p)
          if (pack[p] != nullptr) fetch<16>(&rim[level * around + (tile.lane + 32 * p) * unit], pack[p] + there);
      }
    // or outside of the grid, where nothing changes.
    if (faces_here == 0) return;
    const int nz = tile.nz, since = n % tile.period();
    int i = since, z = tile.plane(0, n);  // place in its pass, and plane, of each level
#pragma unroll
    for (int level = 1; level < LEVELS; ++level)
      if (level < end) {
        i -= DELAY;
        z += wrap - DELAY;
        if (i < 0) {
          i += tile.period();
          z += wrap ? tile.period() - LEVELS : nz;
        }
        while (z < 0) z += nz;
        while (z >= nz) z -= nz;
        const Storage* const from = tile.array(0) + z * tile.w.plane;
#pragma unroll
        for (int c = 0; c < cells; ++c)
          if (kept_cells >> c & 1) fetch<sizeof(Storage)>(&rim[level * around + tile.lane + 32 * c], from + cell[c]);
      }
  }
  STENCIL_OP void run() {
    const int turns = tile.turns();
#pragma unroll 1
    for (int n = 0; n < turns; ++n) {
      await_warps(tile.shared.done, tile.lane, tile.lane < LEVELS ? n - rims + 1 : 0);
      bring(n);
      arrive_with_fetches(&tile.shared.brought[n % rims]);
    }
    end_of_fetches();
    await_fetches<0>();
  }
};

STENCIL_OP void announce(const Tile& tile) {
  const int turns = tile.turns();
  unsigned* const count = tile.r.done + blockIdx.x;
  for (int announced = 0; announced < turns;) {
    const int done = __reduce_min_sync(0xffffffffu, tile.lane < LEVELS ? done_of(tile.shared.done + tile.lane) : turns);
    __syncwarp();
    if (done == announced) continue;
    announced = done;
    if (tile.lane == 0) {
      __threadfence();
      asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(count), "r"(done) : "memory");
    }
    __syncwarp();
  }
}

// One level.
struct Level {
  const Tile& tile;
  int level;
  Storage state[3][ROWS][COLUMNS];  // plane below, this one, above: which is which goes round
  int end, pass, place, z, slot;  // of its turns; its pass and place there, plane of the grid, what is read
  unsigned inside;

  STENCIL_OP Level(const Tile& t, int l) : tile(t), level(l), end(DELAY * l + t.planes()), pass(0), place(0), z(0), slot(0), inside(0) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        if (tile.row() + i < tile.ny && tile.column() + j < tile.nx) inside |= 1u << (i * COLUMNS + j);
        state[0][i][j] = state[1][i][j] = state[2][i][j] = Storage{};
      }
  }
  STENCIL_OP void from_grid(Storage (&to)[ROWS][COLUMNS], int plane) const {
    const Storage* const from = tile.array(0);
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) to[i][j] = from[tile.at(plane, tile.row() + i, tile.column() + j)];
  }
  STENCIL_OP void from_below(Storage (&to)[ROWS][COLUMNS], int s) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) to[i][j] = tile.shared.plane[level][s][i][j][tile.lane];
  }

  // For the level above and the blocks beside.
  STENCIL_OP void leave(Storage* record, int s, const Storage (&fresh)[ROWS][COLUMNS], bool also_beside = true) const {
    const int lx = tile.lx, ly = tile.ly;
    record += (level + 1) * around;
    if (also_beside) {
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        const Storage v = lx == 0 ? fresh[i][0] : fresh[i][COLUMNS - 1];
        if (lx == 0 || lx == lanes_x - 1) record[(lx == 0 ? 0 : right_side) + i * lanes_y + ly] = v;
      }
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        const Storage v = ly == 0 ? fresh[0][j] : fresh[ROWS - 1][j];
        if (ly == 0 || ly == lanes_y - 1) record[(ly == 0 ? upper_side : lower_side) + j * lanes_x + lx] = v;
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) tile.shared.plane[level + 1][s][i][j][tile.lane] = fresh[i][j];
  }
  STENCIL_OP int later(int by) const { return slot + by < slots ? slot + by : slot + by - slots; }

  template <int turn>
  STENCIL_OP void advance(int k) {
    Storage(&below)[ROWS][COLUMNS] = state[turn];
    Storage(&here)[ROWS][COLUMNS] = state[(turn + 1) % 3];
    Storage(&above)[ROWS][COLUMNS] = state[(turn + 2) % 3];
    const int nz = tile.nz, lx = tile.lx, ly = tile.ly;
    if (place == 0) {
      z = wrap ? (pass * LEVELS + level) % nz : 0;
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
    Storage left[ROWS], right[ROWS], upper[COLUMNS], lower[COLUMNS];
    const Storage* const rim = tile.shared.rim[k % rims][level];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      left[i] = below_lane(here[i][COLUMNS - 1], 1);
      right[i] = above_lane(here[i][0], 1);
      if (lx == 0) left[i] = rim[i * lanes_y + ly];
      if (lx == lanes_x - 1) right[i] = rim[right_side + i * lanes_y + ly];
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      upper[j] = below_lane(here[ROWS - 1][j], lanes_x);
      lower[j] = above_lane(here[0][j], lanes_x);
      if (ly == 0) upper[j] = rim[upper_side + j * lanes_x + lx];
      if (ly == lanes_y - 1) lower[j] = rim[lower_side + j * lanes_x + lx];
    }
    const bool is_live = pass < tile.r.passes - 1 || level < tile.r.last;
    Storage fresh[ROWS][COLUMNS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        Around at(tile.w);
        at.near[0][1][1][1] = here[i][j];
        at.near[0][1][1][0] = j > 0 ? here[i][j - 1] : left[i];
        at.near[0][1][1][2] = j < COLUMNS - 1 ? here[i][j + 1] : right[i];
        at.near[0][1][0][1] = i > 0 ? here[i - 1][j] : upper[j];
        at.near[0][1][2][1] = i < ROWS - 1 ? here[i + 1][j] : lower[j];
        at.near[0][0][1][1] = below[i][j];
        at.near[0][2][1][1] = above[i][j];
        const int y = tile.row() + i, x = tile.column() + j;
        at.mirror(tile.r.grid, z, nz, y, tile.ny, x, tile.nx);
        if constexpr (reads > evolving)
          at.at = z * tile.w.plane + (Index)min(y, tile.ny - 1) * tile.w.row + min(x, tile.nx - 1);
        Storage v[1];
        at.compute(v);
        fresh[i][j] = (WHOLE || (inside >> (i * COLUMNS + j) & 1)) && is_live ? v[0] : here[i][j];
      }
    if (level < LEVELS - 1) {
      leave(tile.record(blockIdx.x, k), slot, fresh);
      if constexpr (wrap)
        if (place < kept_aside) leave(tile.first_record(blockIdx.x, pass), slots + place, fresh, place == 0);
    } else {
      Storage* const to = tile.array(pass + 1) + z * tile.w.plane + (Index)tile.row() * tile.w.row + tile.column();
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          if (WHOLE || (inside >> (i * COLUMNS + j) & 1)) to[i * tile.w.row + j] = fresh[i][j];
    }
    if (++z == nz) z = 0;
  }
  template <int turn>
  STENCIL_OP bool go(int k) {
    if (k == end) return false;
    // What is read must be there, and what is overwritten have been read.
    await_warps(tile.shared.done, tile.lane,
                tile.lane == level - 1   ? k - DELAY + 2 + wrap
                : tile.lane == level + 1 ? k - 1
                                         : 0);
    await_barrier(&tile.shared.brought[k % rims], k / rims & 1);
    if (!wrap || place < tile.nz) advance<turn>(k);
    slot = later(1);
    if (++place == tile.period()) {
      place = 0;
      ++pass;
    }
    __syncwarp();
    if (tile.lane == 0) set_count(&tile.shared.done[level], k + 1 < end ? k + 1 : tile.turns());
    return true;
  }
  STENCIL_OP void run() {
    int k = DELAY * level;
#pragma unroll 1
    while (go<0>(k) && go<1>(k + 1) && go<2>(k + 2)) k += 3;
  }
};

extern "C" __global__ void __launch_bounds__(32 * (LEVELS + 2), 1)
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
    tile.shared.done[lane] = lane < LEVELS ? DELAY * lane : 0x7fffffff;  // turns before a warp's first one
    if (lane < rims) begin_barrier(&tile.shared.brought[lane], 32);
  }
  __syncthreads();
  if (warp == LEVELS)
    Bringer(tile).run();
  else if (warp == LEVELS + 1)
    announce(tile);
  else
    Level(tile, warp).run();
}
