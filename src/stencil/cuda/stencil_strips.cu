// LEVELS applications of a 2D stencil in one pass. Each warp, a block of its own, goes down a strip of 32 * POINTS columns:
// two rows of every level are in its registers, neighbours along x in the next lane, and nothing is shared with anyone.
// Level t computes row k - t - 1 when row k comes in. Strips overlap by LEVELS on every side that lies within the grid; what
// lies outside is treated as in stencil_overlapped.cu. The slower axis of a 2D grid is z.
#include "stencil_values.cuh"
#include "stencil_overlap.cuh"

constexpr int width = 32 * POINTS, step_x = (width - 2 * LEVELS) / POINTS * POINTS;
constexpr int start_x = periodic_x ? (LEVELS + POINTS - 1) / POINTS * POINTS : POINTS;
constexpr int pack = sizeof(Storage) * POINTS > 16 ? 16 / sizeof(Storage) : POINTS;
typedef RowOf<pack> Points;

// The three points of a row around place i.
struct Three {
  Storage at[3];
};
STENCIL_OP Three three(const Storage (&row)[POINTS], int i, Storage left, Storage right) {
  return {i > 0 ? row[i - 1] : left, row[i], i < POINTS - 1 ? row[i + 1] : right};
}

// What a row of field e looks like to the faces of x, when it lies within the grid or follows what does.
template <int e>
STENCIL_OP void mirror_ends(const OverlapWork& o, Three& p, int x, int nx) {
  const Storage left = p.at[0], right = p.at[2];
  if constexpr (faces[e][4] > 1)
    if (x == 0) p.at[0] = past_face<faces[e][4]>(p.at[1], right, nx, o.add[e][4]);
  if constexpr (faces[e][5] > 1)
    if (x == nx - 1) p.at[2] = past_face<faces[e][5]>(p.at[1], left, nx, o.add[e][5]);
}

// Rows z - 1, z, z + 1 around a point become what the faces make of them: x first, then z.
template <int e = 0>
STENCIL_OP void mirror_rows(const OverlapWork& o, Three (&rows)[evolving][3], int z, int nz, int x, int nx) {
#pragma unroll
  for (int d = 0; d < 3; ++d)
    if (periodic_z || (z + d - 1 >= 0 && z + d - 1 < nz)) mirror_ends<e>(o, rows[e][d], x, nx);
  const Three low = rows[e][0], high = rows[e][2];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if constexpr (faces[e][0] > 1)
      if (z == 0) rows[e][0].at[i] = past_face<faces[e][0]>(rows[e][1].at[i], high.at[i], nz, o.add[e][0]);
    if constexpr (faces[e][1] > 1)
      if (z == nz - 1) rows[e][2].at[i] = past_face<faces[e][1]>(rows[e][1].at[i], low.at[i], nz, o.add[e][1]);
  }
  if constexpr (e + 1 < evolving) mirror_rows<e + 1>(o, rows, z, nz, x, nx);
}

constexpr int ahead = 3;  // rows under way

extern "C" __global__ void __launch_bounds__(32, BLOCKS)
    strips(const __grid_constant__ StencilWork w, const __grid_constant__ OverlapWork o) {
  __shared__ __align__(16) Storage incoming[ahead + 1][evolving][POINTS / pack][32][pack];
  const int nx = (int)w.nx, nz = (int)w.nz, lane = threadIdx.x;
  const int sx = blockIdx.x % o.tiles_x, sz = blockIdx.x / o.tiles_x;
  const int xs = sx * step_x - start_x, x0 = xs + lane * POINTS, z0 = sz * o.depth, z1 = min(nz, z0 + o.depth);
  const bool is_inner = xs >= 0 && xs + width <= nx;
  const int x_low = sx == 0 ? 0 : xs + LEVELS, x_high = sx == o.tiles_x - 1 ? nx : xs + LEVELS + step_x;
  unsigned inside = 0, kept = 0;  // bit i
#pragma unroll
  for (int i = 0; i < POINTS; ++i) {
    if (periodic_x || (x0 + i >= 0 && x0 + i < nx)) inside |= 1u << i;
    if (x0 + i >= x_low && x0 + i < x_high) kept |= 1u << i;
  }
  constexpr bool whole_packs = LEVELS % pack == 0;

  Storage state[2][LEVELS][evolving][POINTS];
#pragma unroll
  for (int t = 0; t < LEVELS; ++t)
#pragma unroll
    for (int e = 0; e < evolving; ++e)
#pragma unroll
      for (int i = 0; i < POINTS; ++i) state[0][t][e][i] = state[1][t][e][i] = Storage{};

  const bool packs_stay_whole = !periodic_x || nx % pack == 0;
  // A thread's points of row k.
  const auto fetch_row = [&](auto near, int k) {
    constexpr bool is_edge = decltype(near)::value != to_none;
    const Index row = place<periodic_z>(k, nz, o.lowest[0], o.highest[0]) * w.plane;
#pragma unroll
    for (int e = 0; e < evolving; ++e) {
      const Storage* const from = (const Storage*)w.in[read_of[e]] + row;
#pragma unroll
      for (int i = 0; i < POINTS; i += pack) {
        Storage* const to = incoming[k & ahead][e][i / pack][lane];
        if (!is_edge || packs_stay_whole) {
          const int x = !is_edge ? x0 + i : periodic_x ? place<true>(x0 + i, nx, 0, 0) : min(x0 + i, o.highest[2] / pack * pack);
          fetch<pack * sizeof(Storage)>(to, from + x);
        } else {
#pragma unroll
          for (int j = 0; j < pack; ++j)
            fetch<sizeof(Storage)>(to + j, from + place<periodic_x>(x0 + i + j, nx, o.lowest[2], o.highest[2]));
        }
      }
    }
    end_of_fetches();
  };

  const auto advance = [&](auto near, auto parity, int k) {
    constexpr bool is_edge = decltype(near)::value != to_none;
    constexpr int P = decltype(parity)::value, Q = 1 - P;
    Storage now[evolving][POINTS], fresh[evolving][POINTS];
    unsigned live[LEVELS];
    if constexpr (is_edge) {
#pragma unroll
      for (int t = 0; t < LEVELS; ++t) {
        const int z = k - t - 1;
        const bool in_grid = decltype(near)::value == to_sides || (t < o.levels && (periodic_z || (z >= 0 && z < nz)));
        live[t] = in_grid ? inside : 0u;
      }
    }
    await_fetches<ahead - 1>();
#pragma unroll
    for (int e = 0; e < evolving; ++e)
#pragma unroll
      for (int i = 0; i < POINTS; i += pack) {
        const Points p = *(const Points*)incoming[k & ahead][e][i / pack][lane];
#pragma unroll
        for (int j = 0; j < pack; ++j) now[e][i + j] = p.at[j];
      }
    fetch_row(near, k + ahead);

    Storage left[LEVELS][evolving], right[LEVELS][evolving];
#pragma unroll
    for (int t = 0; t < LEVELS; ++t)
#pragma unroll
      for (int e = 0; e < evolving; ++e) {
        left[t][e] = from_lane_below(state[Q][t][e][POINTS - 1]);
        right[t][e] = from_lane_above(state[Q][t][e][0]);
      }
    // Point i of level t; `v` is the row that just came to this level.
    const auto compute = [&](int t, int i, const Storage(&v)[evolving][POINTS], Storage* n) {
      const int z = k - t - 1;
      Three rows[evolving][3];
#pragma unroll
      for (int e = 0; e < evolving; ++e) {
        rows[e][1] = three(state[Q][t][e], i, left[t][e], right[t][e]);
        if constexpr (DIAGONAL) {
          rows[e][0] = three(state[P][t][e], i, from_lane_below(state[P][t][e][POINTS - 1]), from_lane_above(state[P][t][e][0]));
          rows[e][2] = three(v[e], i, from_lane_below(v[e][POINTS - 1]), from_lane_above(v[e][0]));
        } else {
          rows[e][0].at[1] = state[P][t][e][i];
          rows[e][2].at[1] = v[e][i];
        }
      }
      if constexpr (is_edge) mirror_rows(o, rows, z, nz, x0 + i, nx);
      Around at(w);
#pragma unroll
      for (int e = 0; e < evolving; ++e)
#pragma unroll
        for (int d = 0; d < 3; ++d)
#pragma unroll
          for (int j = 0; j < 3; ++j) at.near[e][d][1][j] = rows[e][d].at[j];
      if constexpr (reads > evolving)
        at.at = is_edge ? place<periodic_z>(z, nz, 0, nz - 1) * w.plane + place<periodic_x>(x0 + i, nx, 0, nx - 1)
                        : z * w.plane + x0 + i;
      at.compute(n);
      if constexpr (is_edge)
#pragma unroll
        for (int e = 0; e < evolving; ++e) n[e] = (live[t] & (1u << i)) ? n[e] : state[Q][t][e][i];
    };
    if constexpr (DIAGONAL) {  // a level needs all of the row before it
#pragma unroll
      for (int t = 0; t < LEVELS; ++t) {
#pragma unroll
        for (int i = 0; i < POINTS; ++i) {
          Storage n[evolving];
          compute(t, i, now, n);
#pragma unroll
          for (int e = 0; e < evolving; ++e) fresh[e][i] = n[e];
        }
#pragma unroll
        for (int e = 0; e < evolving; ++e)
#pragma unroll
          for (int i = 0; i < POINTS; ++i) {
            state[P][t][e][i] = now[e][i];
            now[e][i] = fresh[e][i];
          }
      }
    } else {  // point by point through all levels: fewer values are alive
#pragma unroll
      for (int i = 0; i < POINTS; ++i)
#pragma unroll
        for (int t = 0; t < LEVELS; ++t) {
          Storage n[evolving];
          compute(t, i, now, n);
#pragma unroll
          for (int e = 0; e < evolving; ++e) {
            state[P][t][e][i] = now[e][i];
            now[e][i] = n[e];
          }
        }
    }
    if (k - LEVELS >= z0 && k - LEVELS < z1) {
#pragma unroll
      for (int e = 0; e < evolving; ++e) {
        Storage* const to = (Storage*)w.out[output_of[e]] + (k - LEVELS) * w.plane + x0;
        if constexpr (!is_edge && whole_packs) {
#pragma unroll
          for (int i = 0; i < POINTS; i += pack) {
            Points p;
#pragma unroll
            for (int j = 0; j < pack; ++j) p.at[j] = now[e][i + j];
            store_if(kept & (1u << i), to + i, p);
          }
        } else {
#pragma unroll
          for (int i = 0; i < POINTS; ++i)
            store_if(kept & (1u << i), to + i, RowOf<1>{{now[e][i]}});
        }
      }
    }
  };

  const int end = z1 + LEVELS;
  const int k = periodic_z ? z0 - LEVELS : max(z0 - LEVELS, -2);
  for (int i = 0; i < ahead; ++i) fetch_row(Fixed<to_any>{}, k + i);
  go_through<false>(k, end, nz, o.levels == LEVELS, is_inner, false, advance);
}
