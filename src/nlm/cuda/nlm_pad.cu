// An image, guide or map of sigma with its border, one channel after the other, in units in which h is near 1: what the
// other kernels read without a thought of the image's ends. REAL: float or double.
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

__device__ inline Index reflect(Index i, Index n) {
  if (i >= 0 && i < n) return i;
  if (n == 1) return 0;
  const Index period = 2 * (n - 1), r = (i % period + period) % period;
  return r < n ? r : period - r;
}

// store(element of the result, element of what is given, channel)
template <class Store>
__device__ inline void for_each(const Pad& p, const Store& store) {
  const Index rows = p.padded[0] * p.padded[1] * p.padded[2];
  for (Index row = (Index)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += (Index)gridDim.x * blockDim.y) {
    Index at[3] = {row / p.padded[2] / p.padded[1], row / p.padded[2] % p.padded[1], row % p.padded[2]}, from = 0;
    for (int a = 0; a < 3; ++a)
      from = from * p.given[a] + reflect(p.begin[a] + at[a] - p.before[a], p.extent[a]) - p.first[a];
    for (Index x = threadIdx.x; x < p.padded[3]; x += blockDim.x) {
      const Index source =
          from * p.given[3] + reflect(p.begin[3] + x - p.before[3], p.extent[3]) - p.first[3];
      for (Index c = 0; c < p.channels; ++c)
        store((c * rows + row) * p.padded[3] + x, source * p.channels + c);
    }
  }
}

extern "C" __global__ void nlm_pad(const REAL* image, Pad p, REAL* result) {
  for_each(p, [=](Index to, Index from) { result[to] = p.unit * image[from]; });
}

// gain sigma^2, which stays finite.
extern "C" __global__ void nlm_pad_variances(const REAL* sigma, Pad p, REAL* result) {
  for_each(p, [=](Index to, Index from) {
    const double s = fmin(fabs((double)(REAL)(p.unit * sigma[from])), 1e15);
    result[to] = (REAL)(s * s * p.gain);
  });
}
