// A stable radix sort of 32-bit keys with their positions, eight bits at a time. Each block counts its digits, the
// counts of all blocks are summed up digit by digit, and each block moves its keys behind all that come before them.
// Ranks follow from the keys' order alone, so the same keys give the same order.
typedef unsigned U32;

constexpr int threads = 256, warps = threads / 32, digits = 256, keys_per_warp = 512;
constexpr long long keys_per_block = (long long)warps * keys_per_warp;

__device__ inline U32 digit_of(U32 key, int shift) { return key >> shift & (digits - 1); }

// counts[digit][block]
extern "C" __global__ void __launch_bounds__(threads)
    count_digits(const U32* keys, long long size, int shift, U32* counts) {
  __shared__ U32 mine[digits];
  mine[threadIdx.x] = 0;
  __syncthreads();
  const long long begin = blockIdx.x * keys_per_block;
  for (int i = threadIdx.x; i < keys_per_block; i += threads)
    if (begin + i < size) atomicAdd(&mine[digit_of(keys[begin + i], shift)], 1u);
  __syncthreads();
  counts[(long long)threadIdx.x * gridDim.x + blockIdx.x] = mine[threadIdx.x];
}

// Each value becomes the sum of those before it. One block of 1024 threads.
extern "C" __global__ void __launch_bounds__(1024) sum_up(U32* values, long long size) {
  constexpr int each = 8;
  __shared__ U32 of_warp[32];
  U32 before = 0;
  for (long long begin = 0; begin < size; begin += 1024 * each) {
    U32 own[each], sum = 0;
    for (int i = 0; i < each; ++i) {
      const long long at = begin + (long long)threadIdx.x * each + i;
      own[i] = at < size ? values[at] : 0;
      sum += own[i];
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    U32 inclusive = sum;
    for (int step = 1; step < 32; step *= 2) {
      const U32 other = __shfl_up_sync(~0u, inclusive, step);
      if (lane >= step) inclusive += other;
    }
    if (lane == 31) of_warp[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
      U32 total = of_warp[lane];
      for (int step = 1; step < 32; step *= 2) {
        const U32 other = __shfl_up_sync(~0u, total, step);
        if (lane >= step) total += other;
      }
      of_warp[lane] = total;
    }
    __syncthreads();
    U32 at_mine = before + inclusive - sum + (warp > 0 ? of_warp[warp - 1] : 0);
    before += of_warp[31];
    for (int i = 0; i < each; ++i) {
      const long long at = begin + (long long)threadIdx.x * each + i;
      if (at < size) values[at] = at_mine;
      at_mine += own[i];
    }
    __syncthreads();
  }
}

// offsets: the summed counts. A null `order` stands for 0, 1, 2, ...
extern "C" __global__ void __launch_bounds__(threads)
    move_keys(const U32* keys, const U32* order, long long size, int shift, const U32* offsets, U32* sorted_keys,
              U32* sorted_order) {
  __shared__ U32 next[warps][digits];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int w = 0; w < warps; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();
  const long long begin = blockIdx.x * keys_per_block + (long long)warp * keys_per_warp;
  for (int i = lane; i < keys_per_warp; i += 32)
    if (begin + i < size) atomicAdd(&next[warp][digit_of(keys[begin + i], shift)], 1u);
  __syncthreads();
  U32 at = offsets[(long long)threadIdx.x * gridDim.x + blockIdx.x];
  for (int w = 0; w < warps; ++w) {
    const U32 count = next[w][threadIdx.x];
    next[w][threadIdx.x] = at;
    at += count;
  }
  __syncthreads();
  for (int i = lane; i < keys_per_warp; i += 32) {
    const bool is_there = begin + i < size;
    const U32 there = __ballot_sync(~0u, is_there);
    if (is_there) {
      const U32 key = keys[begin + i], digit = digit_of(key, shift);
      const U32 equal = __match_any_sync(there, digit);
      const U32 rank = __popc(equal & ((1u << lane) - 1));
      const U32 to = next[warp][digit] + rank;
      __syncwarp(there);
      if (rank == 0) next[warp][digit] += __popc(equal);
      __syncwarp(there);
      sorted_keys[to] = key;
      sorted_order[to] = order != nullptr ? order[begin + i] : (U32)(begin + i);
    }
  }
}

// begins[b]: how many sorted keys are below b, for b = 0 to bins.
extern "C" __global__ void __launch_bounds__(threads)
    find_begins(const U32* keys, long long size, long long bins, U32* begins) {
  const long long b = (long long)blockIdx.x * threads + threadIdx.x;
  if (b > bins) return;
  long long low = 0, high = size;
  while (low < high) {
    const long long middle = (low + high) / 2;
    if (keys[middle] < b)
      low = middle + 1;
    else
      high = middle;
  }
  begins[b] = (U32)low;
}
