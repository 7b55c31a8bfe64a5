// LEVELS applications of a stencil in one pass over the grid. A block of WARPS warps owns a tile of 32 * POINTS columns and
// WARPS * ROWS rows and goes through the planes; each thread keeps two planes of every level in registers, POINTS x ROWS of
// its own points each. Level t computes plane k - t - 1 when plane k comes in. Neighbours along z are in the same thread,
// along x in the next lane, along y in the same thread or, at the ends of its rows, in shared memory. Once a plane a block
// waits for its warps or, PAIRWISE, a warp for the two next to it, and for what they did a plane ago. Tiles overlap by
// LEVELS on every side that lies within the grid.
//
// FLUSH: the first tile along y begins with the grid and the last one ends with it, so that both run the code of tiles that
// are far from faces. It takes faces that mirror, or cells outside with one value each: that lies in shared memory where the
// rows of another warp would.
//
// Outside of the grid: cells of faces with fixed values stay what they are at all levels (an inside mask keeps them), axes
// that are periodic are followed around, and where a face mirrors, the neighbour is replaced when it is read.
#include "stencil_values.cuh"
#include "stencil_overlap.cuh"

constexpr int width = 32 * POINTS, height = ROWS * WARPS;
constexpr int step_x = (width - 2 * LEVELS) / POINTS * POINTS, step_y = height - 2 * LEVELS;
constexpr int rim_x = (width - step_x) / 2;  // columns on either side that are not stored
constexpr int start_x = periodic_x ? (LEVELS + POINTS - 1) / POINTS * POINTS : POINTS,
              start_y = periodic_y ? (LEVELS + 1) / 2 * 2 : FLUSH ? 0 : 2;

typedef RowOf<POINTS> Points;

// A thread's rows in the order in which it takes them. Where the block waits as a whole, those that need no other warp come
// first: the others then have had time to be done with the plane before. Doubles gained nothing by it.
__device__ constexpr int row_of(int turn) { return PAIRWISE ? turn : turn < ROWS - 2 ? turn + 1 : turn == ROWS - 2 ? 0 : ROWS - 1; }
constexpr int meeting = !PAIRWISE && ROWS > 3 ? ROWS - 3 : 0;  // the turn before which they are waited for
template <int turn = 0, class Row>
STENCIL_OP void go_through_rows(const Row& row) {
  row(Fixed<turn>{});
  if constexpr (turn + 1 < ROWS) go_through_rows<turn + 1>(row);
}

constexpr int ahead = AHEAD;  // planes under way: a power of two less one

// Of a red-black row the points of one colour change: those with this place along x, at all levels alike.
constexpr int every = red_black ? 2 : 1;
__device__ constexpr int first_of(int r, int parity) { return red_black ? (r + parity + 1 + COLOUR) % 2 : 0; }

struct Shared {
  Points incoming[ahead + 1][evolving][WARPS][ROWS][32];
  // Of the two last planes: first and last row of each warp, between the rows below and above the tile.
  Points rows[2][LEVELS][evolving][2 * WARPS + 2][32];
  int column[width], row[height];                  // where a cell of the tile lies in the grid
  int pack[32];                                    // where a lane's points do, when they lie together
  int done[WARPS];                                 // planes that a warp is through with
  Turnstile all;                                   // of a plane's ends of rows
};

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
    overlapped(const __grid_constant__ StencilWork w, const __grid_constant__ OverlapWork o) {
  extern __shared__ __align__(16) unsigned char raw[];
  Shared& shared = *(Shared*)raw;
  const int nx = (int)w.nx, ny = (int)w.ny, nz = (int)w.nz, row = (int)w.row;
  const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * 32 + lane;
  const int bx = blockIdx.x % o.tiles_x, by = blockIdx.x / o.tiles_x % o.tiles_y, bz = blockIdx.x / (o.tiles_x * o.tiles_y);
  const int last_ys = max(0, red_black ? (ny - height + 1) / 2 * 2 : ny - height);  // a red-black tile begins with an even row
  const int xs = bx * step_x - start_x, ys = FLUSH ? min(by * step_y, last_ys) : by * step_y - start_y;
  const int x0 = xs + lane * POINTS, y0 = ys + warp * ROWS;
  const int z0 = bz * o.depth, z1 = min(nz, z0 + o.depth);
  const bool is_beside = ys >= 0 && ys + height <= ny && nx % POINTS == 0;
  const bool is_inner = xs >= 0 && xs + width <= nx && ys >= mirrors_below && ys + height <= ny - mirrors_above;
  const bool is_outside = !periodic_x && (x0 < 0 || x0 >= nx);  // of tiles beside a face
  const int x_low = bx == 0 ? 0 : xs + rim_x, x_high = bx == o.tiles_x - 1 ? nx : xs + rim_x + step_x;
  const int y_low = by == 0 ? 0 : by * step_y - start_y + LEVELS, y_high = by == o.tiles_y - 1 ? ny : ys + LEVELS + step_y;
  for (int i = thread; i < width; i += 32 * WARPS)
    shared.column[i] = place<periodic_x>(xs + i, nx, o.lowest[2], o.highest[2]);
  if (lane == 0) shared.done[warp] = 0;
  if (thread == 0) shared.all.start(WARPS);
  if (warp == 0) shared.pack[lane] = periodic_x ? place<true>(x0, nx, 0, 0) : min(x0, o.highest[2] / POINTS * POINTS);
  for (int i = thread; i < height; i += 32 * WARPS)
    shared.row[i] = place<periodic_y>(ys + i, ny, o.lowest[1], o.highest[1]);
  for (int i = thread; i < (int)(sizeof(shared.rows) / sizeof(int)); i += 32 * WARPS) ((int*)shared.rows)[i] = 0;
  unsigned inside = 0, kept = 0;  // bit r * POINTS + i
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int i = 0; i < POINTS; ++i) {
      if (y0 + r >= y_low && y0 + r < y_high && x0 + i >= x_low && x0 + i < x_high) kept |= 1u << (r * POINTS + i);
      if ((periodic_y || (y0 + r >= 0 && y0 + r < ny)) && (periodic_x || (x0 + i >= 0 && x0 + i < nx)))
        inside |= 1u << (r * POINTS + i);
    }
  }
  constexpr bool whole_packs = rim_x % POINTS == 0;

  // In plane k - t of level t and the one below: which is which changes from plane to plane.
  Storage state[2][LEVELS][evolving][ROWS][POINTS];
#pragma unroll
  for (int t = 0; t < LEVELS; ++t)
#pragma unroll
    for (int e = 0; e < evolving; ++e)
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < POINTS; ++i) state[0][t][e][r][i] = state[1][t][e][r][i] = Storage{};
  __syncthreads();
  if constexpr (FLUSH) {
    const auto put_outside = [&](int slot, int y) {
      for (int e = 0; e < evolving; ++e)
        for (int i = 0; i < POINTS; ++i) {
          const Storage v = ((const Storage*)w.in[read_of[e]])[(Index)y * row + shared.column[lane * POINTS + i]];
          for (int t = 0; t < LEVELS; ++t)
            shared.rows[0][t][e][slot][lane].at[i] = shared.rows[1][t][e][slot][lane].at[i] = v;
        }
    };
    if (warp == 0 && ys == 0) put_outside(0, max(-1, o.lowest[1]));
    if (warp == 0 && ys + height == ny) put_outside(2 * WARPS + 1, min(ny, o.highest[1]));
    __syncthreads();
  }

  const Index own = (Index)y0 * row + x0;
  const unsigned row_bytes = (unsigned)row * (unsigned)sizeof(Storage);
  const bool packs_stay_whole = !periodic_x || nx % POINTS == 0;
  // A thread's points of plane k.
  const auto fetch_plane = [&](auto near, int k) {
    constexpr bool is_edge = decltype(near)::value == to_any, is_side = decltype(near)::value == to_sides;
    const Index plane = place<periodic_z>(k, nz, o.lowest[0], o.highest[0]) * w.plane;
#pragma unroll
    for (int e = 0; e < evolving; ++e) {
      const Storage* const from = (const Storage*)w.in[read_of[e]] + plane;
      const Storage* const mine = as_it_is(from + (is_side ? (Index)y0 * row + shared.pack[lane] : own));
      Points(*const to)[32] = shared.incoming[k & ahead][e][warp];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const Storage* const at =
            is_edge ? from + (Index)shared.row[warp * ROWS + r] * row : rows_on(mine, row_bytes, r);
        if (!is_edge || packs_stay_whole) {
          fetch<sizeof(Points)>(&to[r][lane], is_edge ? at + shared.pack[lane] : at);
        } else {
#pragma unroll
          for (int i = 0; i < POINTS; ++i)
            fetch<sizeof(Storage)>(&to[r][lane].at[i], at + shared.column[lane * POINTS + i]);
        }
      }
    }
    end_of_fetches();
  };

  const int k0 = periodic_z ? z0 - LEVELS : max(z0 - LEVELS, -2);
  Storage* out_plane[evolving];
#pragma unroll
  for (int e = 0; e < evolving; ++e) out_plane[e] = (Storage*)w.out[output_of[e]] + own + (k0 - LEVELS) * w.plane;
  const int above = warp > 0 ? warp - 1 : 0, below = warp < WARPS - 1 ? warp + 1 : warp;
  int planes = 0;
  // What a row needs from other lanes and from memory is asked for one row ahead, across planes as well, unless PAIRWISE.
  Storage left[2][LEVELS][evolving], right[2][LEVELS][evolving];
  Points arriving[2][evolving];
  const auto prepare = [&](auto turn, auto parity, int k) {
    constexpr int r = row_of(decltype(turn)::value), P = decltype(parity)::value, Q = 1 - P;
    constexpr int B = (decltype(turn)::value + P * ROWS) % 2, first = first_of(r, P);
#pragma unroll
    for (int e = 0; e < evolving; ++e) arriving[B][e] = shared.incoming[k & ahead][e][warp][r][lane];
#pragma unroll
    for (int t = 0; t < LEVELS; ++t)
#pragma unroll
      for (int e = 0; e < evolving; ++e) {
        if (!red_black || first == 0) left[B][t][e] = from_lane_below(state[Q][t][e][r][POINTS - 1]);
        if (!red_black || first == 1) right[B][t][e] = from_lane_above(state[Q][t][e][r][0]);
      }
  };
  const auto advance = [&](auto near, auto parity, int k) {
    constexpr bool is_edge = decltype(near)::value == to_any, is_side = decltype(near)::value == to_sides;
    constexpr int P = decltype(parity)::value, Q = 1 - P;
    if constexpr (PAIRWISE)
      await_fetches<ahead - 1>();
    else
      fetch_plane(near, k + ahead);
    unsigned live[LEVELS];
    if constexpr (is_edge) {
#pragma unroll
      for (int t = 0; t < LEVELS; ++t) {
        const int q = k - t - 1;
        const bool in_grid = t < o.levels && (periodic_z || (q >= 0 && q < nz));
        live[t] = in_grid ? inside : 0u;
      }
    }
    Points up[LEVELS][evolving], down[LEVELS][evolving];
    Storage* first_row[evolving];
#pragma unroll
    for (int e = 0; e < evolving; ++e) {
      first_row[e] = as_it_is(out_plane[e]);
      out_plane[e] += w.plane;
    }
    const unsigned keep = k - LEVELS >= z0 && k - LEVELS < z1 ? kept : 0u;
    const auto do_row = [&](auto which) {
      constexpr int turn = decltype(which)::value, r = row_of(turn), B = (turn + P * ROWS) % 2;
      const Index row_at = (k - 1) * w.plane + own + r * row;
      if constexpr (reads > evolving && !is_edge && !is_side)
#pragma unroll
        for (int f = 0; f < reads; ++f)
          if (evolving_of(f) < 0) expect((const Storage*)w.in[f] + row_at + (min(k + 2, nz - 1) - (k - 1)) * w.plane);
      constexpr int first = first_of(r, P);
      if constexpr (turn == meeting) {
        if constexpr (PAIRWISE)
          await_count(&shared.done[above], planes);
        else
          shared.all.await(Q);
#pragma unroll
        for (int t = 0; t < LEVELS; ++t)
#pragma unroll
          for (int e = 0; e < evolving; ++e) up[t][e] = shared.rows[P][t][e][2 * warp][lane];
      }
      if constexpr (PAIRWISE ? r == ROWS - 1 : r == 0) {
        if constexpr (PAIRWISE) await_count(&shared.done[below], planes);
#pragma unroll
        for (int t = 0; t < LEVELS; ++t)
#pragma unroll
          for (int e = 0; e < evolving; ++e) down[t][e] = shared.rows[P][t][e][2 * warp + 3][lane];
      }
      const auto prepare_next = [&] {
        if constexpr (turn + 1 < ROWS) {
          prepare(Fixed<turn + 1>{}, parity, k);
        } else {
          await_fetches<ahead - 1>();
          prepare(Fixed<0>{}, Fixed<Q>{}, k + 1);
        }
      };
      if constexpr (PAIRWISE)
        prepare(which, parity, k);
      else if constexpr (ROWS > 1)
        prepare_next();
      Storage result[evolving][POINTS];
#pragma unroll
      for (int i = 0; i < POINTS; ++i) {
        Storage v[evolving];
#pragma unroll
        for (int e = 0; e < evolving; ++e) v[e] = arriving[B][e].at[i];
#pragma unroll
        for (int t = 0; t < LEVELS; ++t) {
          Storage n[evolving];
#pragma unroll
          for (int e = 0; e < evolving; ++e) n[e] = state[Q][t][e][r][i];
          if (i % every == first) {
            Around at(w);
#pragma unroll
            for (int e = 0; e < evolving; ++e) {
              at.near[e][1][1][1] = state[Q][t][e][r][i];
              at.near[e][1][1][0] = i > 0 ? state[Q][t][e][r][i - 1] : left[B][t][e];
              at.near[e][1][1][2] = i < POINTS - 1 ? state[Q][t][e][r][i + 1] : right[B][t][e];
              at.near[e][1][0][1] = r > 0 ? state[Q][t][e][r - 1][i] : up[t][e].at[i];
              at.near[e][1][2][1] = r < ROWS - 1 ? state[Q][t][e][r + 1][i] : down[t][e].at[i];
              at.near[e][0][1][1] = state[P][t][e][r][i];
              at.near[e][2][1][1] = v[e];
            }
            if constexpr (is_edge || is_side) at.mirror(o, k - t - 1, nz, y0 + r, ny, x0 + i, nx);
            if constexpr (reads > evolving) {
              if constexpr (is_edge || is_side)
                at.at = min(max(place<periodic_z>(k - t - 1, nz, 0, nz - 1), 0), nz - 1) * w.plane +
                        (Index)min(max(shared.row[warp * ROWS + r], 0), ny - 1) * row +
                        min(max(shared.column[lane * POINTS + i], 0), nx - 1);
              else
                at.at = row_at - t * w.plane + i;
            }
            Storage fresh[evolving];
            at.compute(fresh);
#pragma unroll
            for (int e = 0; e < evolving; ++e)
              if constexpr (is_edge)
                n[e] = live[t] & (1u << (r * POINTS + i)) ? fresh[e] : n[e];
              else if (is_side && (i == 0 || i == POINTS - 1))  // what the next cell reads
                n[e] = is_outside ? n[e] : fresh[e];
              else
                n[e] = fresh[e];
          }
#pragma unroll
          for (int e = 0; e < evolving; ++e) {
            state[P][t][e][r][i] = v[e];
            v[e] = n[e];
          }
        }
#pragma unroll
        for (int e = 0; e < evolving; ++e) result[e][i] = v[e];
      }
      if (r == 0 || r == ROWS - 1)
#pragma unroll
        for (int t = 0; t < LEVELS; ++t)
#pragma unroll
          for (int e = 0; e < evolving; ++e) {
            Points p;
#pragma unroll
            for (int i = 0; i < POINTS; ++i) p.at[i] = state[P][t][e][r][i];
            if (r == 0) shared.rows[Q][t][e][2 * warp + 1][lane] = p;
            if (r == ROWS - 1) shared.rows[Q][t][e][2 * warp + 2][lane] = p;
          }
#pragma unroll
      for (int e = 0; e < evolving; ++e) {
        Storage* const to = rows_on(first_row[e], row_bytes, r);
        if constexpr (!is_edge && whole_packs) {
          Points p;
#pragma unroll
          for (int i = 0; i < POINTS; ++i) p.at[i] = result[e][i];
          if constexpr (PAIRWISE)
            store_if(keep & (1u << (r * POINTS)), to, p);
          else if (keep & (1u << (r * POINTS)))
            store_if(1u, to, p);
        } else {
#pragma unroll
          for (int i = 0; i < POINTS; ++i)
            if constexpr (is_edge) {
              if (keep & (1u << (r * POINTS + i))) to[i] = result[e][i];
            } else {
              store_if(keep & (1u << (r * POINTS + i)), to + i, RowOf<1>{{result[e][i]}});
            }
        }
      }
      if constexpr (!PAIRWISE && ROWS == 1) prepare_next();
    };
    go_through_rows(do_row);
    if constexpr (PAIRWISE) fetch_plane(near, k + ahead);
    ++planes;
    if constexpr (PAIRWISE) {
      __syncwarp();
      if (lane == 0) set_count(&shared.done[warp], planes);
    } else {
      shared.all.pass(lane);
    }
  };

  const int end = z1 + LEVELS;
  const int k = k0;
  for (int i = 0; i < ahead; ++i) fetch_plane(Fixed<to_any>{}, k + i);
  if constexpr (!PAIRWISE) {
    await_fetches<ahead - 1>();
    prepare(Fixed<0>{}, Fixed<0>{}, k);
  }
  go_through<true, PAIRS>(k, end, nz, o.levels == LEVELS, is_inner, is_beside, advance);
}
