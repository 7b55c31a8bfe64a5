#pragma once
// What becomes of the matrix product's sums. In the tensor cores' layout a thread holds, for every eight columns, two
// neighbouring columns of row lane / 4 and of the row eight below: (first + 2 (lane % 4), + 1).
struct Results {
  // Adjoint: sums[part][row][column]; added to what is there unless this is the first chunk.
  float* sums;
  int is_first;
  // Forward: columns 2 g and 2 g + 1 are real and imaginary part of group g's sum, which is turned by exp(-i psi(g, m)) and
  // added over the tile's groups: partial[coil][tile][m]. m is the row; tables are [z][m] and [outer][m].
  const float2* z_table;
  const float2* outer_table;
  float2* partial;
  int groups, outers;
  int columns_per_coil;
  // Where the parts of k begin, in blocks, and where the last ends; null when all are of one length.
  const int* part_starts;
  // Forward: with these, b holds snapshots in turns, snapshot j of all coils in slot j % slots; row r takes those from
  // snapshot_of_piece[piece_of_unit[r / 128]] on, and partial is [tap][coil][tile][m].
  const int* piece_of_unit;
  const int* snapshot_of_piece;
  int slots, coils;
};

#if FORWARD
/// First row of b for this block's tile of columns.
__device__ inline Index first_column(const Results& r, int tile_columns, Index row) {
  if (r.piece_of_unit == nullptr) return (Index)blockIdx.y * tile_columns;
  const int tiles = r.columns_per_coil / tile_columns, tap = blockIdx.y / tiles / r.coils,
            coil = blockIdx.y / tiles % r.coils;
  const int slot = (r.snapshot_of_piece[r.piece_of_unit[row / 128]] + tap) % r.slots;
  return ((Index)(slot * r.coils + coil) * tiles + blockIdx.y % tiles) * tile_columns;
}
/// Runs through every fourth group, as one thread meets them, keeping (z, outer) without divisions.
struct GroupWalk {
  const Results& results;
  int g, z, outer;
  __device__ GroupWalk(const Results& r, int first)
      : results(r), g(first), z(first / r.outers), outer(first % r.outers) {}
  __device__ void step() {
    g += 4;
    outer += 4;
    while (outer >= results.outers) {
      outer -= results.outers;
      ++z;
    }
  }
};
/// A sample's sum over groups, each turned by -psi.
struct TurnedSum {
  const float2* z_table;
  const float2* outer_table;
  int rows;
  Complexf sum;
  __device__ TurnedSum(const Results& r, int rows_, int m)
      : z_table(r.z_table + m), outer_table(r.outer_table + m), rows(rows_), sum{0, 0} {}
  __device__ void add(const GroupWalk& at, float re, float im) {
    if (at.g >= at.results.groups) return;
    const float2 a = __ldg(z_table + (Index)at.z * rows), b = __ldg(outer_table + (Index)at.outer * rows);
    const Complexf turn = Complexf{a.x, -a.y} * Complexf{b.x, -b.y}, v = turn * Complexf{re, im};
    sum.re += v.re;
    sum.im += v.im;
  }
  /// The sum over the four lanes that share a row.
  __device__ Complexf gather() {
    for (int step = 1; step < 4; step *= 2) {
      sum.re += __shfl_xor_sync(0xffffffffu, sum.re, step);
      sum.im += __shfl_xor_sync(0xffffffffu, sum.im, step);
    }
    return sum;
  }
};
#else
__device__ inline void store_sum(const Results& r, Index rows, Index columns, Index row, Index column,
                                 float first, float second) {
  float2* at = (float2*)(r.sums + (blockIdx.z * rows + row) * columns + column);
  float2 v = make_float2(first, second);
  if (!r.is_first) {
    const float2 before = *at;
    v = make_float2(v.x + before.x, v.y + before.y);
  }
  *at = v;
}
#endif
