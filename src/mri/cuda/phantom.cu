// The Fourier transform of ellipsoids seen by coils that are sums of exponentials, in double: one thread per sample and
// group of COILS coils. DIMS is 2 or 3.
struct Complex {
  double re, im;
};

typedef long long Index;

// As in phantom.cpp.
constexpr int threads = 128;
struct Shape {
  double to_unit[3][3], center[3];
};

/// Transform of the unit ball (DIMS 3) or unit disk (DIMS 2) at |q|^2 = square, q in cycles; see unit_ball-inl.hpp.
__device__ inline double unit_ball(double square) {
  constexpr double pi = 3.14159265358979323846;
  const double q = sqrt(square), x = 2 * pi * q;
#if DIMS == 3
  if (x < 1) {  // the difference below cancels
    constexpr double a[] = {1.0 / 3,           -1.0 / 30,             1.0 / 840,           -1.0 / 45360, 1.0 / 3991680,
                            -1.0 / 518918400,  1.0 / 93405312000.0,   -1.0 / 22230464256000.0,
                            1.0 / 6758061133824000.0};
    const double x2 = x * x;
    double series = a[8];
#pragma unroll
    for (int n = 7; n >= 0; --n) series = series * x2 + a[n];
    return 4 * pi * series;
  }
  double sine, cosine;
  sincospi(2 * q, &sine, &cosine);
  return 4 * pi * (sine - x * cosine) / (x * x * x);
#else
  return x < 1e-8 ? pi : 2 * pi * j1(x) / x;
#endif
}

// y[c, m] = sum over ellipsoids of exp(-2 pi i center.k) sum_p S(|to_unit k - shift_p|) weight_pc for samples first to
// first + count of all; y holds `count` samples a coil. shifts: [ellipsoids, terms, DIMS], weights: [ellipsoids, terms,
// coils].
extern "C" __global__ void __launch_bounds__(threads)
    phantom(const Shape* shapes, int ellipsoids, const double* shifts, const Complex* weights, int terms, int coils,
            const double* k, Index samples, Index first, Index count, Complex* y) {
  const Index m = (Index)blockIdx.x * threads + threadIdx.x;
  if (m >= count) return;
  const int c = blockIdx.y * COILS, used = coils - c < COILS ? coils - c : COILS;
  double position[DIMS];
#pragma unroll
  for (int d = 0; d < DIMS; ++d) position[d] = k[d * samples + first + m];
  Complex total[COILS] = {};
  for (int e = 0; e < ellipsoids; ++e) {
    double at[DIMS], phase = 0;
#pragma unroll
    for (int i = 0; i < DIMS; ++i) {
      phase += position[i] * shapes[e].center[i];
      at[i] = 0;
#pragma unroll
      for (int j = 0; j < DIMS; ++j) at[i] += position[j] * shapes[e].to_unit[i][j];
    }
    Complex sum[COILS] = {};
    for (int p = 0; p < terms; ++p) {
      const double* shift = shifts + ((Index)e * terms + p) * DIMS;
      const Complex* weight = weights + ((Index)e * terms + p) * coils + c;
      double square = 0;
#pragma unroll
      for (int i = 0; i < DIMS; ++i) square += (at[i] - shift[i]) * (at[i] - shift[i]);
      const double ball = unit_ball(square);
#pragma unroll
      for (int i = 0; i < COILS; ++i)
        if (i < used) {
          sum[i].re += ball * weight[i].re;
          sum[i].im += ball * weight[i].im;
        }
    }
    double sine, cosine;
    sincospi(2 * phase, &sine, &cosine);
#pragma unroll
    for (int i = 0; i < COILS; ++i) {
      total[i].re += sum[i].re * cosine + sum[i].im * sine;
      total[i].im += sum[i].im * cosine - sum[i].re * sine;
    }
  }
#pragma unroll
  for (int i = 0; i < COILS; ++i)
    if (i < used) y[(c + i) * count + m] = total[i];
}
