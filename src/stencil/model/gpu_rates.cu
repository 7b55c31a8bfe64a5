// What a GPU can do at most, for the model of stencils: copies in the two orders in which blocks go through memory, a copy
// that stays in the level 2 cache, and arithmetic.

// Blocks follow one another as memory lies; a thread has four loads under way.
extern "C" __global__ void __launch_bounds__(256) copy_in_order(const float4* from, float4* to) {
  const long long at = (long long)blockIdx.x * 1024 + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = from[at + i * 256];
#pragma unroll
  for (int i = 0; i < 4; ++i) __stcs(to + at + i * 256, v[i]);
}

// Blocks of 128 columns x 8 rows of floats go through `depth` planes, the next one under way.
extern "C" __global__ void __launch_bounds__(256)
    copy_marching(const float4* from, float4* to, int tiles_x, int tiles_y, int depth) {
  const int row = tiles_x * 32;
  const long long plane = (long long)row * tiles_y * 8;
  const int x = blockIdx.x % tiles_x * 32 + threadIdx.x, y = blockIdx.x / tiles_x % tiles_y * 8 + threadIdx.y;
  const long long at = blockIdx.x / (tiles_x * tiles_y) * depth * plane + (long long)y * row + x;
  const float4* p = from + at;
  float4* q = to + at;
  float4 next = *p;
  for (int z = 1; z < depth; ++z) {
    const float4 now = next;
    p += plane;
    next = *p;
    __stcs(q, now);
    q += plane;
  }
  __stcs(q, next);
}

// Arrays of blocks x 1024 that a block copies again and again, each time another block's part: past the level 1 cache.
extern "C" __global__ void __launch_bounds__(256) copy_in_level2(const float4* from, float4* to, int times) {
  for (int t = 0; t < times; ++t) {
    const long long at = (long long)((blockIdx.x + t * 7) % gridDim.x) * 1024 + threadIdx.x;
    float4 v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = __ldcg(from + at + i * 256);
#pragma unroll
    for (int i = 0; i < 4; ++i) __stcg(to + at + i * 256, v[i]);
  }
}

// Eight chains of fma a thread.
template <class Real>
__device__ __forceinline__ void chains(Real* out, int times, Real a, Real b) {
  Real v[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = a + i;
  for (int t = 0; t < times; ++t) {
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = v[i] * a + b;
  }
  Real sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += v[i];
  if (sum == (Real)12345) *out = sum;  // never; the compiler cannot know
}
extern "C" __global__ void __launch_bounds__(256) arithmetic_float(float* out, int times, float a, float b) {
  chains(out, times, a, b);
}
extern "C" __global__ void __launch_bounds__(256)
    arithmetic_double(double* out, int times, double a, double b) {
  chains(out, times, a, b);
}

extern "C" __global__ void nothing() {}
