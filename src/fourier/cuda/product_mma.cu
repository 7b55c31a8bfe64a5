// sums[row, column] = sum_k a[row, k] b[column, k] on tensor cores by mma.sync, for sm_80 and later; operands as in
// operands.cuh. A block of eight warps makes TILE_ROWS x 128 sums from STAGES blocks of k in flight.
// SPLIT, FORWARD: 0 or 1. TILE_ROWS: 64 or 128.
#include "fixed_turns.cuh"
#include "product_results.cuh"

constexpr int tile_columns = 128;
constexpr int operand_parts = SPLIT ? 2 : 1;
constexpr int a_bytes = TILE_ROWS * 128, b_bytes = tile_columns * 128;
constexpr int stage_bytes = (a_bytes + b_bytes) * operand_parts;
// Tensor cores cut off low bits as they add, so sums are carried over to plain floats after this many blocks of 64. With
// two parts 128 samples make 24 additions; with one, rounding of the operands is larger than all of it.
constexpr int blocks_between_carries = 2;
constexpr int row_fragments = TILE_ROWS / 32, column_fragments = 4;  // a warp has TILE_ROWS / 2 x 32

__device__ inline void copy_piece(unsigned to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}
__device__ inline void load_matrices(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}
__device__ inline void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(256)
    product(const char* a_hi, const char* a_lo, int a_rows, const char* b_hi, const char* b_lo, int b_rows,
            int k_blocks, int k_blocks_per_part, Results results) {
  extern __shared__ __align__(1024) char stages[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(stages);
#if FORWARD
  const Index row0 = ((Index)blockIdx.z * gridDim.x + blockIdx.x) * TILE_ROWS;
  if (row0 >= a_rows) return;
  const Index column0 = first_column(results, tile_columns, row0);
  const int first_block = 0, blocks = k_blocks;
#else
  const Index row0 = (Index)blockIdx.x * TILE_ROWS, column0 = (Index)blockIdx.y * tile_columns;
  int first_block = blockIdx.z * k_blocks_per_part;
  int blocks = max(0, min(k_blocks - first_block, k_blocks_per_part));
  if (results.part_starts != nullptr) {
    first_block = results.part_starts[blockIdx.z] - results.part_starts[0];
    blocks = results.part_starts[blockIdx.z + 1] - results.part_starts[blockIdx.z];
  }
#endif
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;

  const auto fetch = [&](int i) {
    if (i < blocks) {
      const unsigned to = shared + (i % STAGES) * stage_bytes;
      const Index a = ((Index)(first_block + i) * a_rows + row0) * 128,
                  b = ((Index)(first_block + i) * b_rows + column0) * 128;
      for (int o = thread * 16; o < a_bytes; o += 256 * 16) {
        copy_piece(to + o, a_hi + a + o);
        if (SPLIT) copy_piece(to + a_bytes + b_bytes + o, a_lo + a + o);
      }
      for (int o = thread * 16; o < b_bytes; o += 256 * 16) {
        copy_piece(to + a_bytes + o, b_hi + b + o);
        if (SPLIT) copy_piece(to + 2 * a_bytes + b_bytes + o, b_lo + b + o);
      }
    }
    asm volatile("cp.async.commit_group;");
  };
  for (int i = 0; i < STAGES - 1; ++i) fetch(i);

  const int warp_row = warp / 4 * (TILE_ROWS / 2), warp_column = warp % 4 * 32;
  float sum[row_fragments][column_fragments][4] = {}, carried[row_fragments][column_fragments][4] = {};
  // Address of the 8 x 8 matrices that a lane names for ldmatrix: row (lane % 16), piece 2 * step + lane / 16 for a; for b
  // two columns' groups of eight at once.
  const int a_row = warp_row + lane % 16, b_row = warp_column + lane % 8 + lane / 16 * 8;
  for (int i = 0; i < blocks; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    fetch(i + STAGES - 1);
    const unsigned stage = shared + (i % STAGES) * stage_bytes;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      unsigned a[operand_parts][row_fragments][4], b[operand_parts][column_fragments / 2][4];
#pragma unroll
      for (int part = 0; part < operand_parts; ++part) {
        const unsigned a_base = stage + part * (a_bytes + b_bytes), b_base = a_base + a_bytes;
#pragma unroll
        for (int f = 0; f < row_fragments; ++f) {
          const int row = a_row + 16 * f;
          load_matrices(a[part][f], a_base + row * 128 + (((2 * step + lane / 16) ^ (row & 7)) << 4));
        }
#pragma unroll
        for (int f = 0; f < column_fragments / 2; ++f) {
          const int row = b_row + 16 * f;
          load_matrices(b[part][f], b_base + row * 128 + (((2 * step + lane / 8 % 2) ^ (row & 7)) << 4));
        }
      }
#pragma unroll
      for (int r = 0; r < row_fragments; ++r)
#pragma unroll
        for (int c = 0; c < column_fragments; ++c) {
          multiply_add(sum[r][c], a[0][r], b[0][c / 2][c % 2 * 2], b[0][c / 2][c % 2 * 2 + 1]);
          if (SPLIT) {
            multiply_add(sum[r][c], a[0][r], b[operand_parts - 1][c / 2][c % 2 * 2],
                         b[operand_parts - 1][c / 2][c % 2 * 2 + 1]);
            multiply_add(sum[r][c], a[operand_parts - 1][r], b[0][c / 2][c % 2 * 2],
                         b[0][c / 2][c % 2 * 2 + 1]);
          }
        }
    }
    if (SPLIT && (i % blocks_between_carries == blocks_between_carries - 1 || i + 1 == blocks)) {
#pragma unroll
      for (int r = 0; r < row_fragments; ++r)
#pragma unroll
        for (int c = 0; c < column_fragments; ++c)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            carried[r][c][e] += sum[r][c][e];
            sum[r][c][e] = 0;
          }
    }
  }
  const auto& total = SPLIT ? carried : sum;

#if FORWARD
  // Warps side by side share rows: their sums meet in shared memory, and are added in order.
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float2* meeting = (float2*)stages;  // [4][TILE_ROWS]
  const int tiles = results.columns_per_coil / tile_columns, coil = blockIdx.y / tiles,
            tile = blockIdx.y % tiles;
#pragma unroll
  for (int r = 0; r < row_fragments; ++r)
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const int row = warp_row + 16 * r + 8 * below + lane / 4;
      TurnedSum turned(results, a_rows, (int)row0 + row);
      GroupWalk walk(results, (tile * tile_columns + warp_column) / 2 + lane % 4);
#pragma unroll
      for (int c = 0; c < column_fragments; ++c) {
        turned.add(walk, total[r][c][2 * below], total[r][c][2 * below + 1]);
        walk.step();
      }
      const Complexf v = turned.gather();
      if (lane % 4 == 0) meeting[warp % 4 * TILE_ROWS + row] = make_float2(v.re, v.im);
    }
  __syncthreads();
  for (int row = thread; row < TILE_ROWS; row += 256) {
    float2 v = meeting[row];
    for (int w = 1; w < 4; ++w)
      v = make_float2(v.x + meeting[w * TILE_ROWS + row].x, v.y + meeting[w * TILE_ROWS + row].y);
    results.partial[((Index)coil * tiles + tile) * a_rows + row0 + row] = v;
  }
#else
#pragma unroll
  for (int r = 0; r < row_fragments; ++r)
#pragma unroll
    for (int c = 0; c < column_fragments; ++c)
#pragma unroll
      for (int below = 0; below < 2; ++below)
        store_sum(results, a_rows, b_rows, row0 + warp_row + 16 * r + 8 * below + lane / 4,
                  column0 + warp_column + 8 * c + 2 * (lane % 4), total[r][c][2 * below],
                  total[r][c][2 * below + 1]);
#endif
}
