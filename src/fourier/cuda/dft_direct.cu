// The exact DFT summed term by term, with one sine and cosine for each voxel and sample: for double precision, for cards
// without FP16 tensor cores, and as what the faster forms are checked against. REAL: float or double. COILS: how many
// coils share a sine and cosine. OFF_RESONANCE: 1 where a voxel's frequency times a sample's time adds to the phase.
#include "fixed_turns.cuh"

struct Complex {
  REAL re, im;
};
struct Matrix {
  int nz, ny, nx;
};

constexpr int threads = 128;

__device__ inline Complex unit_of(Turns t) {
  if (sizeof(REAL) == 4) {
    const Complexf v = unit(t);
    return {(REAL)v.re, (REAL)v.im};
  }
  double s, c;
  sincospi((double)(Index)t * 0x1p-63, &s, &c);
  return {(REAL)c, (REAL)s};
}

/// f t as a fraction of a turn, with the digits of the product that a rounded one would lose.
__device__ inline Turns turns_of(float f, float t) {
  const float product = f * t, rest = fmaf(f, t, -product);
  return (Turns)__float2ll_rn(((product - rintf(product)) + rest) * 0x1p32f) << 32;
}
__device__ inline Turns turns_of(double f, double t) {
  const double product = f * t, rest = fma(f, t, -product);
  return (Turns)__double2ll_rn(((product - rint(product)) + rest) * 0x1p62) << 2;
}

// Sums of many terms are kept in two levels: some hundred terms in REAL, those sums in double.
struct Sum {
  Complex near[COILS];
  double re[COILS], im[COILS];
  __device__ Sum() {
    for (int c = 0; c < COILS; ++c) {
      near[c] = {0, 0};
      re[c] = im[c] = 0;
    }
  }
  __device__ void add(int c, Complex v, Complex turn) {
    near[c].re += v.re * turn.re - v.im * turn.im;
    near[c].im += v.re * turn.im + v.im * turn.re;
  }
  __device__ void carry() {
    for (int c = 0; c < COILS; ++c) {
      re[c] += near[c].re;
      im[c] += near[c].im;
      near[c] = {0, 0};
    }
  }
};

// A thread gathers one voxel of COILS coils; samples pass through shared memory.
extern "C" __global__ void __launch_bounds__(threads)
    adjoint(Matrix g, const Turns* k, Index samples, const REAL* hz, const REAL* times, const Complex* kspace, int coils, Complex* image) {
  __shared__ Turns shared_k[3][threads];
  __shared__ Complex shared_y[COILS][threads];
  __shared__ REAL shared_t[threads];
  const Index voxels = (Index)g.nz * g.ny * g.nx, n = (Index)blockIdx.x * threads + threadIdx.x;
  const int first_coil = blockIdx.y * COILS;
  const int wx = 2 * ((int)(n % g.nx) - g.nx / 2), wy = 2 * ((int)(n / g.nx % g.ny) - g.ny / 2),
            wz = 2 * ((int)(n / g.nx / g.ny) - g.nz / 2);
  const REAL f = OFF_RESONANCE && n < voxels ? hz[n] : 0;
  Sum sum;
  for (Index begin = 0; begin < samples; begin += threads) {
    const Index m = begin + threadIdx.x;
    __syncthreads();
    if (m < samples) {
      for (int d = 0; d < 3; ++d) shared_k[d][threadIdx.x] = k[d * samples + m];
      if (OFF_RESONANCE) shared_t[threadIdx.x] = times[m];
      for (int c = 0; c < COILS; ++c)
        shared_y[c][threadIdx.x] =
            first_coil + c < coils ? kspace[(first_coil + c) * samples + m] : Complex{0, 0};
    }
    __syncthreads();
    const int count = (int)(samples - begin < threads ? samples - begin : threads);
    for (int i = 0; i < count; ++i) {
      Turns phase = turns(shared_k[0][i], wz) + turns(shared_k[1][i], wy) + turns(shared_k[2][i], wx);
      if (OFF_RESONANCE) phase += turns_of(f, shared_t[i]);
      const Complex turn = unit_of(phase);
      for (int c = 0; c < COILS; ++c) sum.add(c, shared_y[c][i], turn);
    }
    sum.carry();
  }
  if (n < voxels)
    for (int c = 0; c < COILS && first_coil + c < coils; ++c)
      image[(first_coil + c) * voxels + n] = {(REAL)sum.re[c], (REAL)sum.im[c]};
}

// A thread gathers one sample of COILS coils; all threads read the same voxel at a time.
extern "C" __global__ void __launch_bounds__(threads)
    forward(Matrix g, const Turns* k, Index samples, const REAL* hz, const REAL* times, const Complex* image, int coils, Complex* kspace) {
  const Index voxels = (Index)g.nz * g.ny * g.nx, m = (Index)blockIdx.x * threads + threadIdx.x;
  if (m >= samples) return;
  const int first_coil = blockIdx.y * COILS;
  const Turns kz = k[m], ky = k[samples + m], kx = k[2 * samples + m];
  const REAL time = OFF_RESONANCE ? times[m] : 0;
  Sum sum;
  Index n = 0;
  for (int z = 0; z < g.nz; ++z)
    for (int y = 0; y < g.ny; ++y) {
      Turns t = turns(kz, 2 * (z - g.nz / 2)) + turns(ky, 2 * (y - g.ny / 2)) + turns(kx, -2 * (g.nx / 2));
      for (int x = 0; x < g.nx; ++x, ++n, t += 2 * kx) {
        const Complex turn = unit_of(0 - (OFF_RESONANCE ? t + turns_of(hz[n], time) : t));
        for (int c = 0; c < COILS; ++c)
          if (first_coil + c < coils) sum.add(c, image[(first_coil + c) * voxels + n], turn);
        if (x % 256 == 255) sum.carry();
      }
      sum.carry();
    }
  for (int c = 0; c < COILS && first_coil + c < coils; ++c)
    kspace[(first_coil + c) * samples + m] = {(REAL)sum.re[c], (REAL)sum.im[c]};
}
