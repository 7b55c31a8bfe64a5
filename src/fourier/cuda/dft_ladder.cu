// The exact adjoint sum  rho[n] = sum_m D[m] exp(2 pi i k[m].r[n])  in single precision, written in the order in which
// one makes it fast on a GPU. Samples are arrays kx, ky, kz, dr, di; voxels arrays x, y, z (r per axis) and rho_re, rho_im.
typedef long long Index;

constexpr int threads = 256;
constexpr float two_pi = 6.283185307179586f;

struct Samples {
  const float *kx, *ky, *kz, *dr, *di;
  int count;
};
struct Voxels {
  const float *x, *y, *z;
  float *re, *im;
  Index count;
};

__device__ inline Index own_index() { return (Index)blockIdx.x * threads + threadIdx.x; }

extern "C" __global__ void split_data(const float2* data, int count, float* dr, float* di) {
  const int m = (int)own_index();
  if (m >= count) return;
  dr[m] = data[m].x;
  di[m] = data[m].y;
}
extern "C" __global__ void join_image(const float* re, const float* im, Index count, float2* image) {
  const Index n = own_index();
  if (n < count) image[n] = make_float2(re[n], im[n]);
}

// A thread has one sample and adds it to every voxel; all threads add to the same voxel at a time.
extern "C" __global__ void __launch_bounds__(threads) scatter(Samples s, Voxels v) {
  const int m = (int)own_index();
  if (m >= s.count) return;
  for (Index n = 0; n < v.count; ++n) {
    const float phase = two_pi * (s.kx[m] * v.x[n] + s.ky[m] * v.y[n] + s.kz[m] * v.z[n]);
    const float c = cosf(phase), i = sinf(phase);
    atomicAdd(v.re + n, s.dr[m] * c - s.di[m] * i);
    atomicAdd(v.im + n, s.dr[m] * i + s.di[m] * c);
  }
}

// A thread has one voxel and sums all samples: no atomics. `volatile` keeps coordinates and sums in memory, as the text
// has them; a compiler may keep them in registers unasked, which is the rung after next.
extern "C" __global__ void __launch_bounds__(threads) gather(Samples s, Voxels v) {
  const Index n = own_index();
  if (n >= v.count) return;
  const volatile float *x = v.x, *y = v.y, *z = v.z;
  volatile float *re = v.re, *im = v.im;
  for (int m = 0; m < s.count; ++m) {
    const float phase = two_pi * (s.kx[m] * x[n] + s.ky[m] * y[n] + s.kz[m] * z[n]);
    const float c = cosf(phase), i = sinf(phase);
    re[n] = re[n] + (s.dr[m] * c - s.di[m] * i);
    im[n] = im[n] + (s.dr[m] * i + s.di[m] * c);
  }
}

// Loop fission: 2 pi k is made once, by a kernel of its own.
extern "C" __global__ void __launch_bounds__(threads)
    make_angles(Samples s, float* kx, float* ky, float* kz) {
  const int m = (int)own_index();
  if (m >= s.count) return;
  kx[m] = two_pi * s.kx[m];
  ky[m] = two_pi * s.ky[m];
  kz[m] = two_pi * s.kz[m];
}
extern "C" __global__ void __launch_bounds__(threads) fission(Samples s, Voxels v) {
  const Index n = own_index();
  if (n >= v.count) return;
  const volatile float *x = v.x, *y = v.y, *z = v.z;
  volatile float *re = v.re, *im = v.im;
  for (int m = 0; m < s.count; ++m) {
    const float phase = s.kx[m] * x[n] + s.ky[m] * y[n] + s.kz[m] * z[n];
    const float c = cosf(phase), i = sinf(phase);
    re[n] = re[n] + (s.dr[m] * c - s.di[m] * i);
    im[n] = im[n] + (s.dr[m] * i + s.di[m] * c);
  }
}

// Coordinates and sums in registers: two stores per voxel in all.
extern "C" __global__ void __launch_bounds__(threads) registers(Samples s, Voxels v) {
  const Index n = own_index();
  if (n >= v.count) return;
  const float x = v.x[n], y = v.y[n], z = v.z[n];
  float re = 0, im = 0;
  for (int m = 0; m < s.count; ++m) {
    float c, i;
    sincosf(s.kx[m] * x + s.ky[m] * y + s.kz[m] * z, &i, &c);
    re += s.dr[m] * c - s.di[m] * i;
    im += s.dr[m] * i + s.di[m] * c;
  }
  v.re[n] = re;
  v.im[n] = im;
}

// Samples pass by chunks through the 64 KB of constant memory, where one read serves a whole warp: five arrays, or an
// array of structures, padded so that two reads of 16 bytes bring one in. Sums stay in memory between chunks.
constexpr int chunk = CHUNK_OF_ARRAYS ? 3264 : 2048;
struct __align__(16) Sample {
  float kx, ky, kz, dr, di, unused[3];
};
#if CHUNK_OF_ARRAYS
__constant__ float chunk_kx[chunk], chunk_ky[chunk], chunk_kz[chunk], chunk_dr[chunk], chunk_di[chunk];
__device__ inline Sample chunk_sample(int m) {
  return {chunk_kx[m], chunk_ky[m], chunk_kz[m], chunk_dr[m], chunk_di[m]};
}
#else
__constant__ Sample chunk_samples[chunk];
__device__ inline const Sample& chunk_sample(int m) { return chunk_samples[m]; }
extern "C" __global__ void __launch_bounds__(threads) pack_samples(Samples s, Sample* packed) {
  const int m = (int)own_index();
  if (m < s.count) packed[m] = {s.kx[m], s.ky[m], s.kz[m], s.dr[m], s.di[m]};
}
#endif

extern "C" __global__ void __launch_bounds__(threads) constant_chunk(int count, Voxels v) {
  const Index n = own_index();
  if (n >= v.count) return;
  const float x = v.x[n], y = v.y[n], z = v.z[n];
  float re = v.re[n], im = v.im[n];
#pragma unroll 4
  for (int m = 0; m < count; ++m) {
    const Sample& s = chunk_sample(m);
    float c, i;
    sincosf(s.kx * x + s.ky * y + s.kz * z, &i, &c);
    re += s.dr * c - s.di * i;
    im += s.dr * i + s.di * c;
  }
  v.re[n] = re;
  v.im[n] = im;
}

/// The special function units take a small angle only: what they are given is first brought within half a turn. Here k
/// counts turns, so that this is one rounding and one subtraction, both exact. Rounding is by adding and taking away
/// 1.5 * 2^23: the instruction for it would be a third one on the very units that make sines.
__device__ inline void fast_sincos(float turns, float& s, float& c) {
  const float nearest = __fsub_rn(__fadd_rn(turns, 12582912.0f), 12582912.0f);
  const float angle = two_pi * (turns - nearest);
  s = __sinf(angle);
  c = __cosf(angle);
}

extern "C" __global__ void __launch_bounds__(threads) fast_sine(int count, Voxels v) {
  const Index n = own_index();
  if (n >= v.count) return;
  const float x = v.x[n], y = v.y[n], z = v.z[n];
  float re = v.re[n], im = v.im[n];
#pragma unroll 4
  for (int m = 0; m < count; ++m) {
    const Sample& s = chunk_sample(m);
    float c, i;
    fast_sincos(s.kx * x + s.ky * y + s.kz * z, i, c);
    re += s.dr * c - s.di * i;
    im += s.dr * i + s.di * c;
  }
  v.re[n] = re;
  v.im[n] = im;
}

// Eight samples of the loop written out, four voxels to a thread: loads and loop counting are shared.
extern "C" __global__ void __launch_bounds__(threads) unrolled(int count, Voxels v) {
  constexpr int voxels = 4;
  const Index first = (Index)blockIdx.x * threads * voxels + threadIdx.x;
  float x[voxels], y[voxels], z[voxels], re[voxels], im[voxels];
#pragma unroll
  for (int j = 0; j < voxels; ++j) {
    const Index n = min(first + j * threads, v.count - 1);
    x[j] = v.x[n];
    y[j] = v.y[n];
    z[j] = v.z[n];
    re[j] = v.re[n];
    im[j] = v.im[n];
  }
#pragma unroll 8
  for (int m = 0; m < count; ++m) {
    const Sample s = chunk_sample(m);
#pragma unroll
    for (int j = 0; j < voxels; ++j) {
      float c, i;
      fast_sincos(s.kx * x[j] + s.ky * y[j] + s.kz * z[j], i, c);
      re[j] += s.dr * c - s.di * i;
      im[j] += s.dr * i + s.di * c;
    }
  }
#pragma unroll
  for (int j = 0; j < voxels; ++j) {
    const Index n = first + j * threads;
    if (n >= v.count) break;
    v.re[n] = re[j];
    v.im[n] = im[j];
  }
}

// Nothing but fast sines and cosines, to measure how many there are in a second.
extern "C" __global__ void __launch_bounds__(threads) only_sines(int count, float* sums) {
  float x = threadIdx.x * 1e-3f, a = 0, b = 0;
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    a += __sinf(x);
    b += __cosf(x);
    x += 1e-3f;
  }
  sums[own_index()] = a + b;
}
