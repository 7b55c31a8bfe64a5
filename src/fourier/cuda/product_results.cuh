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
};

#if FORWARD
struct TurnedSum {
  Complexf sum;
  __device__ TurnedSum() : sum{0, 0} {}
  /// Adds group g's sum, turned by -psi.
  __device__ void add(const Results& r, int rows, int m, int g, float re, float im) {
    if (g >= r.groups) return;
    const int z = g / r.outers, outer = g - z * r.outers;
    const float2 a = r.z_table[(Index)z * rows + m], b = r.outer_table[(Index)outer * rows + m];
    const Complexf turn = Complexf{a.x, -a.y} * Complexf{b.x, -b.y}, v = turn * Complexf{re, im};
    sum.re += v.re;
    sum.im += v.im;
  }
  /// Adds over the four lanes that share a row.
  __device__ void gather() {
    for (int step = 1; step < 4; step *= 2) {
      sum.re += __shfl_xor_sync(0xffffffffu, sum.re, step);
      sum.im += __shfl_xor_sync(0xffffffffu, sum.im, step);
    }
  }
};
#else
__device__ inline void store_sum(const Results& r, Index rows, Index columns, Index row, Index column, float first,
                                 float second) {
  float2* at = (float2*)(r.sums + (blockIdx.z * rows + row) * columns + column);
  float2 v = make_float2(first, second);
  if (!r.is_first) {
    const float2 before = *at;
    v = make_float2(v.x + before.x, v.y + before.y);
  }
  *at = v;
}
#endif
