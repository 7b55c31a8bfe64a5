// sums[row, column] = sum_k a[row, k] b[column, k] on tensor cores, for sm_90a; operands as in operands.cuh. One warp
// keeps STAGES blocks of k coming by bulk copies, two groups of four warps multiply 64 rows x TILE_COLUMNS each.
// SPLIT, FORWARD: 0 or 1. TILE_COLUMNS: 128 (with SPLIT, which needs registers for the carried sums) or 256.
#include "fixed_turns.cuh"
#include "product_results.cuh"
#include "warpgroup.cuh"

constexpr int tile_rows = 128;
constexpr int operand_parts = SPLIT ? 2 : 1;
constexpr unsigned a_bytes = tile_rows * 128, b_bytes = TILE_COLUMNS * 128;
constexpr unsigned stage_bytes = (a_bytes + b_bytes) * operand_parts;
constexpr int sums_per_thread = TILE_COLUMNS / 2;
// As in product_mma.cu: tensor cores cut off low bits as they add.
constexpr int blocks_between_carries = 2;

extern "C" __global__ void __launch_bounds__(384, 1)
    product(const char* a_hi, const char* a_lo, int a_rows, const char* b_hi, const char* b_lo, int b_rows,
            int k_blocks, int k_blocks_per_part, Results results) {
  extern __shared__ __align__(1024) char stages[];
  __shared__ __align__(8) Turns barriers[2 * STAGES];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(stages);
  const unsigned full = (unsigned)__cvta_generic_to_shared(barriers), empty = full + 8 * STAGES;
#if FORWARD
  const Index row0 = ((Index)blockIdx.z * gridDim.x + blockIdx.x) * tile_rows;
  if (row0 >= a_rows) return;
  const Index column0 = first_column(results, TILE_COLUMNS, row0);
  const int first_block = 0, blocks = k_blocks;
#else
  const Index row0 = (Index)blockIdx.x * tile_rows, column0 = (Index)blockIdx.y * TILE_COLUMNS;
  int first_block = blockIdx.z * k_blocks_per_part;
  int blocks = max(0, min(k_blocks - first_block, k_blocks_per_part));
  if (results.part_starts != nullptr) {
    first_block = results.part_starts[blockIdx.z] - results.part_starts[0];
    blocks = results.part_starts[blockIdx.z + 1] - results.part_starts[blockIdx.z];
  }
#endif
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;

  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      init_barrier(full + 8 * s, 1);
      init_barrier(empty + 8 * s, 8);  // warps that read it
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      for (int i = 0; i < blocks; ++i) {
        const int s = i % STAGES, round = i / STAGES;
        if (round > 0) wait_barrier(empty + 8 * s, (round - 1) & 1);
        const unsigned to = shared + s * stage_bytes, done = full + 8 * s;
        const Index a = ((Index)(first_block + i) * a_rows + row0) * 128;
        const Index b = ((Index)(first_block + i) * b_rows + column0) * 128;
        expect_bytes(done, stage_bytes);
        copy_bulk(to, a_hi + a, a_bytes, done);
        copy_bulk(to + a_bytes, b_hi + b, b_bytes, done);
        if (SPLIT) {
          copy_bulk(to + a_bytes + b_bytes, a_lo + a, a_bytes, done);
          copy_bulk(to + 2 * a_bytes + b_bytes, b_lo + b, b_bytes, done);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sum[sums_per_thread];
#if SPLIT
    float carried[sums_per_thread];
#pragma unroll
    for (int e = 0; e < sums_per_thread; ++e) carried[e] = 0;
#endif
#pragma unroll
    for (int e = 0; e < sums_per_thread; ++e) sum[e] = 0;
    const int group_row = (group - 1) * 64;
    for (int i = 0; i < blocks; ++i) {
      const int s = i % STAGES;
      wait_barrier(full + 8 * s, (i / STAGES) & 1);
      const unsigned a = shared + s * stage_bytes + group_row * 128, b = shared + s * stage_bytes + a_bytes;
      begin_products();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        const Turns a_hi_part = describe_operand(a + 32 * step), b_hi_part = describe_operand(b + 32 * step);
        const int keep = SPLIT ? (i % blocks_between_carries != 0 || step > 0) : 1;
        multiply_add(sum, a_hi_part, b_hi_part, keep);
        if (SPLIT) {
          const Turns a_lo_part = describe_operand(a + a_bytes + b_bytes + 32 * step);
          const Turns b_lo_part = describe_operand(b + a_bytes + b_bytes + 32 * step);
          multiply_add(sum, a_hi_part, b_lo_part, 1);
          multiply_add(sum, a_lo_part, b_hi_part, 1);
        }
      }
      commit_products();
#if SPLIT
      wait_products<0>();
      if (lane == 0) arrive(empty + 8 * s);
      if (i % blocks_between_carries == blocks_between_carries - 1 || i + 1 == blocks) {
#pragma unroll
        for (int e = 0; e < sums_per_thread; ++e) carried[e] += sum[e];
      }
#else
      // One block's products stay under way; the block before it is done with its stage.
      wait_products<1>();
      if (i > 0 && lane == 0) arrive(empty + 8 * ((i - 1) % STAGES));
#endif
    }
    wait_products<0>();
#if SPLIT
    const auto& total = carried;
#else
    const auto& total = sum;
#endif
    const int row = group_row + threadIdx.x % 128 / 32 * 16 + lane / 4;
#if FORWARD
    const int tiles = results.columns_per_coil / TILE_COLUMNS, coil = blockIdx.y / tiles,
              tile = blockIdx.y % tiles;
    // Both rows of a thread run through the same groups.
    TurnedSum turned[2] = {{results, a_rows, (int)row0 + row}, {results, a_rows, (int)row0 + row + 8}};
    GroupWalk walk(results, tile * (TILE_COLUMNS / 2) + lane % 4);
#pragma unroll
    for (int c = 0; c < TILE_COLUMNS / 8; ++c) {
      turned[0].add(walk, total[4 * c], total[4 * c + 1]);
      turned[1].add(walk, total[4 * c + 2], total[4 * c + 3]);
      walk.step();
    }
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const Complexf v = turned[below].gather();
      if (lane % 4 == 0)
        results.partial[((Index)coil * tiles + tile) * a_rows + row0 + row + 8 * below] =
            make_float2(v.re, v.im);
    }
#else
#pragma unroll
    for (int c = 0; c < TILE_COLUMNS / 8; ++c)
#pragma unroll
      for (int below = 0; below < 2; ++below)
        store_sum(results, a_rows, b_rows, row0 + row + 8 * below, column0 + 8 * c + 2 * (lane % 4),
                  total[4 * c + 2 * below], total[4 * c + 2 * below + 1]);
#endif
  }
}
