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
  void* outside;     // what lies past the sides that are faces, for all planes
  unsigned* done;    // turns of each block
};

constexpr int lanes_x = LANES_X, lanes_y = 32 / LANES_X, tile_x = lanes_x * COLUMNS, tile_y = lanes_y * ROWS;
constexpr int slots = DELAY + 2, history = 2 * DELAY, rims = 4;
// Where z is periodic, a level's planes begin one later than those of the level below, so that the plane before the first
// one is there; its last two planes then need the first two of the level below again, which are put aside, and so are
// their rims. All that it reads comes one turn later, and passes are DELAY + 1 turns apart.
constexpr int wrap = periodic_z ? 1 : 0, kept_aside = 2 * wrap;
// Of a rim or a record: columns at the left and right, rows above and below; of each the parts of all levels together, and
// a part as the lanes at that side have it.
constexpr int around = 2 * (tile_x + tile_y);
STENCIL_OP constexpr int length(int side) { return side < 2 ? tile_y : tile_x; }
STENCIL_OP constexpr int begin(int side) { return side < 2 ? side * tile_y : 2 * tile_y + (side - 2) * tile_x; }
STENCIL_OP constexpr int part(int side, int level) { return begin(side) * LEVELS + level * length(side); }
static_assert(evolving == 1 && DELAY >= 3 + wrap && DELAY <= rims + 1);
static_assert(tile_x * sizeof(Storage) % 16 == 0 && tile_y * sizeof(Storage) % 16 == 0);

struct alignas(16) Shared {
  Storage plane[LEVELS][slots + kept_aside][ROWS][COLUMNS][32];  // what each level reads
  Storage rim[rims][LEVELS * around];
  unsigned long long brought[rims];  // barriers: what a turn needs from elsewhere has come
  int done[32];                      // turns of each warp
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
// Barriers that also count bytes.
STENCIL_OP void begin_barrier(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_place(barrier)), "r"(arrivals) : "memory");
}
STENCIL_OP void await_barrier(const unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN_%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra.uni AGAIN_%=;\n}" ::"r"(
          shared_place(barrier)),
      "r"(parity)
      : "memory");
}
STENCIL_OP void arrive_expecting(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_place(barrier)), "r"(bytes) : "memory");
}
// Once what this thread has fetched so far has come.
STENCIL_OP void arrive_with_fetches(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_place(barrier)) : "memory");
}
STENCIL_OP void bulk_copy(Storage* to, const Storage* from, int count, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_place(to)),
               "l"(from), "r"(count * (int)sizeof(Storage)), "r"(shared_place(barrier))
               : "memory");
}
// Between what threads have written and bulk copies of it.
STENCIL_OP void before_bulk_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }

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
  // Cell i of what lies past a side, in plane 0.
  STENCIL_OP Index cell(int side, int i) const {
    const int x0 = bx * tile_x, y0 = by * tile_y;
    return side < 2 ? at(0, y0 + i % lanes_y * ROWS + i / lanes_y, side == 0 ? x0 - 1 : x0 + tile_x)
                    : at(0, side == 2 ? y0 - 1 : y0 + tile_y, x0 + i % lanes_x * COLUMNS + i / lanes_x);
  }
  STENCIL_OP Storage* outside(int side, int z) const {
    const int along_y = r.grid.tiles_y * tile_y, along_x = r.grid.tiles_x * tile_x;
    const int before = side < 2 ? side * along_y + by * tile_y : 2 * along_y + (side - 2) * along_x + bx * tile_x;
    return (Storage*)r.outside + (Index)before * nz + z * length(side);
  }
  STENCIL_OP Storage* record(int block, int turn) const {
    return (Storage*)r.records + ((Index)block * (history + kept_aside) + turn % history) * (LEVELS * around);
  }
  // Of the first planes of a pass.
  STENCIL_OP Storage* first_record(int block, int pass) const {
    return record(block, 0) + (history + (pass & 1)) * (LEVELS * around);
  }
};

// What never changes past sides that are faces, as bulk copies take it.
STENCIL_OP void copy_outside(const Tile& tile) {
  const Storage* const from = tile.array(0);
  for (int side = 0; side < 4; ++side) {
    if (!tile.is_face(side)) continue;
    const int n = length(side);
    for (int i = threadIdx.x; i < n * tile.nz; i += blockDim.x)
      tile.outside(side, 0)[i] = from[tile.cell(side, i % n) + i / n * tile.w.plane];
  }
  before_bulk_copies();
}

// Brings what turns read from elsewhere.
struct Bringer {
  static constexpr int cells = (around + 31) / 32;
  const Tile& tile;
  int n;                            // the turn
  bool faces_here[4];
  unsigned seen;                    // turns of the neighbour that this lane watches
  const unsigned* watched;
  const Storage* records;           // of that neighbour
  int pass, place, z;               // of this lane's level
  int next_pass, next_place;        // of what the first level reads
  int cell[cells], row[ROWS], column[COLUMNS];  // places in a plane

  STENCIL_OP Bringer(const Tile& t)
      : tile(t), n(0), seen(0), pass(0), place(-DELAY * t.lane), z(0), next_pass(0), next_place(0) {
#pragma unroll
    for (int side = 0; side < 4; ++side) faces_here[side] = tile.is_face(side);
    const int side = tile.lane & 3, other = tile.neighbour(side);
    watched = tile.lane < 4 && !tile.is_face(side) ? tile.r.done + other : nullptr;
    records = tile.record(other, 0);
#pragma unroll
    for (int c = 0; c < cells; ++c) {
      const int i = min(tile.lane + 32 * c, around - 1), s = i < begin(1) ? 0 : i < begin(2) ? 1 : i < begin(3) ? 2 : 3;
      cell[c] = (int)tile.cell(s, i - begin(s));
    }
    const int corner = (int)tile.at(0, tile.row(), tile.column());
#pragma unroll
    for (int i = 0; i < ROWS; ++i) row[i] = (int)tile.at(0, tile.row() + i, tile.column());
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) column[j] = (int)tile.at(0, tile.row(), tile.column() + j) - corner;
  }
  // The first level's own points, in the next plane that it reads.
  STENCIL_OP void next_plane(int slot) {
    if (next_pass < tile.r.passes && next_place < tile.nz) {
      int z = next_place;
      if constexpr (wrap) z = (next_pass * LEVELS + next_place + tile.nz - 1) % tile.nz;
      const Storage* const from = tile.array(next_pass) + z * tile.w.plane;
      Storage(*const to)[COLUMNS][32] = tile.shared.plane[0][slot];
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
          fetch<sizeof(Storage)>(&to[r][c][tile.lane], from + row[r] + column[c]);
          if constexpr (wrap)
            if (next_place < kept_aside)
              fetch<sizeof(Storage)>(&tile.shared.plane[0][slots + next_place][r][c][tile.lane],
                                     from + row[r] + column[c]);
        }
    }
    if (++next_place == tile.period()) next_place = 0, ++next_pass;
  }
  STENCIL_OP void bring(unsigned long long* barrier, Storage* rim) {
    if (tile.lane == 0) arrive_expecting(barrier, (LEVELS - 1) * around * (int)sizeof(Storage));
    if (watched != nullptr)
      while ((int)seen < n - DELAY + 1 + wrap)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(watched) : "memory");
    before_bulk_copies();
    __syncwarp();
    // The neighbours' records of all levels,
    const int latest = (n - DELAY + wrap + history) % history * (LEVELS * around);
    const bool is_level = tile.lane > 0 && tile.lane < LEVELS;
    const bool is_special = wrap && is_level && place == tile.nz - 1;
    const bool one_by_one = wrap && __any_sync(0xffffffffu, is_special);
    if (LEVELS > 1 && !one_by_one && watched != nullptr)
      bulk_copy(rim + part(tile.lane, 1), records + latest + part(tile.lane ^ 1, 1), (LEVELS - 1) * length(tile.lane),
                barrier);
#pragma unroll
    for (int side = 0; side < 4; ++side) {
      // where the last plane of a pass over a periodic axis has its rim among the first ones,
      if constexpr (wrap)
        if (one_by_one && !faces_here[side] && is_level)
          bulk_copy(rim + part(side, tile.lane),
                    (is_special ? tile.first_record(tile.neighbour(side), pass)
                                : tile.record(tile.neighbour(side), 0) + latest) +
                        part(side ^ 1, tile.lane),
                    length(side), barrier);
      // or cells outside of the grid, where nothing changes.
      if (faces_here[side] && is_level)
        bulk_copy(rim + part(side, tile.lane), tile.outside(side, z), length(side), barrier);
    }
    // The first level's rim is in the grid.
    const int first_pass = __shfl_sync(0xffffffffu, pass, 0), first_place = __shfl_sync(0xffffffffu, place, 0);
    if (first_pass < tile.r.passes && first_place < tile.nz) {
      const Storage* const from = tile.array(first_pass) + __shfl_sync(0xffffffffu, z, 0) * tile.w.plane;
#pragma unroll
      for (int c = 0; c < cells; ++c) {
        const int i = tile.lane + 32 * c, s = i < begin(1) ? 0 : i < begin(2) ? 1 : i < begin(3) ? 2 : 3;
        if (i < around) fetch<sizeof(Storage)>(rim + part(s, 0) + i - begin(s), from + cell[c]);
      }
    }
  }
  STENCIL_OP void run() {
    const int turns = tile.turns();
    int slot = 0;
    if constexpr (wrap) z = tile.lane % tile.nz;
    const auto next = [&] {
      next_plane(slot);
      slot = slot + 1 == slots ? 0 : slot + 1;
    };
#pragma unroll 1
    for (int i = 0; i < 1 + wrap; ++i) next();
#pragma unroll 1
    for (; n < turns; ++n) {
      await_warps(tile.shared.done, tile.lane, tile.lane < LEVELS ? n - rims + 1 : 0);
      unsigned long long* const barrier = &tile.shared.brought[n % rims];
      bring(barrier, tile.shared.rim[n % rims]);
      next();
      arrive_with_fetches(barrier);
      if (place >= 0 && ++z == tile.nz) z = 0;
      if (++place == tile.period()) {
        place = 0;
        ++pass;
        z = wrap ? (pass * LEVELS + tile.lane) % tile.nz : 0;
      }
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
  static constexpr int plane_bytes = ROWS * COLUMNS * 32 * (int)sizeof(Storage), rim_bytes = LEVELS * around * (int)sizeof(Storage);
  const Tile& tile;
  int level;
  Storage state[3][ROWS][COLUMNS];  // plane below, this one, above: which is which goes round
  int end, pass, place, z, slot;    // of its turns; its pass and place there, plane of the grid, what is read
  unsigned inside;
  bool is_left, is_right, is_upper, is_lower;  // at a side of the tile, whose neighbours are in the rim
  int left, right, upper, lower;               // bytes from the plane or the rim to this lane's first neighbour
  unsigned char *planes, *rim_at;              // what this level reads; a rim
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
    left = size * (is_left ? part(0, level) + ly : (COLUMNS - 1) * 32 + lane - 1);
    right = size * (is_right ? part(1, level) + ly : lane + 1);
    upper = size * (is_upper ? part(2, level) + lx : (ROWS - 1) * COLUMNS * 32 + lane - lanes_x);
    lower = size * (is_lower ? part(3, level) + lx : lane + lanes_x);
    planes = (unsigned char*)tile.shared.plane[level];
    rim_at = (unsigned char*)tile.shared.rim;
    Storage* const record = tile.record(blockIdx.x, 0);
    beside_x = record + part(is_left ? 0 : 1, level + 1) + ly;
    beside_y = record + part(is_upper ? 2 : 3, level + 1) + lx;
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
  STENCIL_OP int later(int by) const { return slot + by < slots ? slot + by : slot + by - slots; }

  template <int turn>
  STENCIL_OP void advance(int k) {
    Storage(&below)[ROWS][COLUMNS] = state[turn];
    Storage(&here)[ROWS][COLUMNS] = state[(turn + 1) % 3];
    Storage(&above)[ROWS][COLUMNS] = state[(turn + 2) % 3];
    const int nz = tile.nz;
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
    // Neighbours in other lanes' points, or in the rim.
    const unsigned char* const plane = planes + (wrap && place == nz - 1 ? slots : later(wrap)) * plane_bytes;
    const unsigned char* const rim = rim_at + k % rims * rim_bytes;
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
    if (lane < rims) begin_barrier(&tile.shared.brought[lane], 33);
  }
  copy_outside(tile);
  __syncthreads();
  if (warp == LEVELS)
    Bringer(tile).run();
  else if (warp == LEVELS + 1)
    announce(tile);
  else
    Level(tile, warp).run();
}
