// An image, guide or map of sigma with its border, one channel after the other, in units in which h is near 1: what the
// other kernels read without a thought of the image's ends. REAL: float or double; PAIRS: doubles are written as pairs of
// floats, once, so that no other kernel converts them.
#if PAIRS
#include "nlm_two.cuh"
typedef Two Field;
#else
typedef REAL Field;
#endif

typedef long long Index;

struct Pad {
  Index extent[4];  // of the whole image
  Index begin[4];   // where the voxels to filter begin in it
  Index before[4];  // border
  Index padded[4];
  Index first[4];   // where what is given begins in the image, and its extent
  Index given[4];
  Index channels;
  REAL unit;
  double gain;      // of variances
};

// Axes hold less than 2^30 elements.
__device__ __noinline__ int reflect(int i, int n) {
  if (i >= 0 && i < n) return i;
  if (n == 1) return 0;
  const int period = 2 * (n - 1), r = (i % period + period) % period;
  return r < n ? r : period - r;
}
__device__ inline Index source(const Pad& p, int axis, int i) {
  return reflect((int)(p.begin[axis] - p.before[axis]) + i, (int)p.extent[axis]) - p.first[axis];
}

// store(element of the result, element of what is given, channel). Rows are blockDim.y in a block; planes go along the
// grid's y and z, which are shorter than an image may be.
template <class Store>
__device__ inline void for_each(const Pad& p, const Store& store) {
  const Index channel = p.padded[0] * p.padded[1] * p.padded[2] * p.padded[3];
  const int y = blockIdx.x * blockDim.y + threadIdx.y;
  if (y >= p.padded[2]) return;
  const Index from_y = source(p, 2, y);
  for (int t = blockIdx.z; t < p.padded[0]; t += gridDim.z)
    for (int z = blockIdx.y; z < p.padded[1]; z += gridDim.y) {
      const Index from = ((source(p, 0, t) * p.given[1] + source(p, 1, z)) * p.given[2] + from_y) * p.given[3];
      const Index to = ((t * p.padded[1] + z) * p.padded[2] + y) * p.padded[3];
      for (int x = threadIdx.x; x < p.padded[3]; x += blockDim.x) {
        const Index element = (from + source(p, 3, x)) * p.channels;
        for (int c = 0; c < p.channels; ++c) store(c * channel + to + x, element + c);
      }
    }
}

extern "C" __global__ void nlm_pad(const REAL* image, Pad p, Field* result) {
  for_each(p, [=](Index to, Index from) { result[to] = (Field)(p.unit * image[from]); });
}

// gain sigma^2, which stays finite.
extern "C" __global__ void nlm_pad_variances(const REAL* sigma, Pad p, Field* result) {
  for_each(p, [=](Index to, Index from) {
    const double s = fmin(fabs((double)(REAL)(p.unit * sigma[from])), 1e15);
    result[to] = (Field)(s * s * p.gain);
  });
}
