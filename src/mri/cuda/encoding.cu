// Coil sensitivities times images, for all coils of a batch. REAL is float or double; WIDTH complex numbers are one
// access of 16 bytes, or 1 where the arrays' rows are not aligned to that. What is fused is written out, so that either
// gives the same bits.
struct Complex {
  REAL re, im;
};
struct __align__(WIDTH * sizeof(Complex)) Pack {
  Complex v[WIDTH];
};

typedef long long Index;

// As in encoding.cpp.
constexpr int threads = 256, coils_at_once = 4;

__device__ inline Pack times(const Pack& a, const Pack& b, REAL scale) {
  Pack c;
  for (int j = 0; j < WIDTH; ++j) {
    c.v[j].re = scale * fma(a.v[j].re, b.v[j].re, -(a.v[j].im * b.v[j].im));
    c.v[j].im = scale * fma(a.v[j].re, b.v[j].im, a.v[j].im * b.v[j].re);
  }
  return c;
}

// images[c, n] = scale s[c, n] x[n]. Rows of `packs` accesses; a block's y takes coils_at_once coils, whose loads are all
// under way before the first is used.
extern "C" __global__ void __launch_bounds__(threads)
    expand(const Pack* maps, const Pack* x, REAL scale, Index packs, int coils, Pack* images) {
  const Index n = (Index)blockIdx.x * threads + threadIdx.x;
  if (n >= packs) return;
  const int first = blockIdx.y * coils_at_once;
  const Pack v = x[n];
  Pack s[coils_at_once];
#pragma unroll
  for (int i = 0; i < coils_at_once; ++i)
    if (first + i < coils) s[i] = maps[(first + i) * packs + n];
#pragma unroll
  for (int i = 0; i < coils_at_once; ++i)
    if (first + i < coils) images[(first + i) * packs + n] = times(s[i], v, scale);
}

// x[n] = x[n] + scale sum_c conj(s[c, n]) images[c, n], coil by coil in order; x starts at 0 when `starts`.
extern "C" __global__ void __launch_bounds__(threads)
    combine(const Pack* maps, const Pack* images, REAL scale, Index packs, int coils, int starts, Pack* x) {
  const Index n = (Index)blockIdx.x * threads + threadIdx.x;
  if (n >= packs) return;
  Pack sum = {};
  if (!starts) sum = x[n];
  for (int first = 0; first < coils; first += coils_at_once) {
    Pack s[coils_at_once], in[coils_at_once];
#pragma unroll
    for (int i = 0; i < coils_at_once; ++i)
      if (first + i < coils) {
        s[i] = maps[(first + i) * packs + n];
        in[i] = images[(first + i) * packs + n];
      }
#pragma unroll
    for (int i = 0; i < coils_at_once; ++i)
      if (first + i < coils)
        for (int j = 0; j < WIDTH; ++j) {
          const Complex a = s[i].v[j], b = in[i].v[j];
          sum.v[j].re = fma(scale, fma(a.re, b.re, a.im * b.im), sum.v[j].re);
          sum.v[j].im = fma(scale, fma(a.re, b.im, -(a.im * b.re)), sum.v[j].im);
        }
  }
  x[n] = sum;
}

// y[c, m] = w[m] y[c, m]; a sample is a Complex whatever WIDTH is.
extern "C" __global__ void __launch_bounds__(threads)
    weigh(const double* weights, Index samples, int coils, Complex* y) {
  const Index m = (Index)blockIdx.x * threads + threadIdx.x;
  if (m >= samples) return;
  const REAL w = (REAL)weights[m];
  for (int c = 0; c < coils; ++c) {
    Complex& v = y[c * samples + m];
    v = {w * v.re, w * v.im};
  }
}
