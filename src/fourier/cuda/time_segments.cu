// What time segments multiply with; see segment_factors.hpp. REAL: float or double.
typedef long long Index;

struct Complex {
  REAL re, im;
};

__device__ inline Index first_index() { return (Index)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline Index stride() { return (Index)gridDim.x * blockDim.x; }

// factors[n] = exp(-2 pi i hz[n] time), whole turns off before what is left meets REAL's digits
extern "C" __global__ void __launch_bounds__(256)
    voxel_factors(const REAL* hz, double time, Complex* factors, Index size) {
  for (Index n = first_index(); n < size; n += stride()) {
    const double turns = (double)hz[n] * time;
    const REAL rest = (REAL)(-2 * (turns - rint(turns)));
    REAL s, c;
    if (sizeof(REAL) == 4) {
      float fs, fc;
      sincospif((float)rest, &fs, &fc);
      s = (REAL)fs;
      c = (REAL)fc;
    } else {
      double ds, dc;
      sincospi((double)rest, &ds, &dc);
      s = (REAL)ds;
      c = (REAL)dc;
    }
    factors[n] = {c, s};
  }
}

// factors[m] = weights[m] turns[m]
extern "C" __global__ void __launch_bounds__(256)
    sample_factors(const REAL* weights, const Complex* turns, Complex* factors, Index size) {
  for (Index m = first_index(); m < size; m += stride())
    factors[m] = {weights[m] * turns[m].re, weights[m] * turns[m].im};
}

// out[c, i] = or += factors[i] in[c, i], the factor's imaginary part times `sign`
extern "C" __global__ void __launch_bounds__(256)
    multiply(const Complex* factors, int sign, const Complex* in, Complex* out, int is_added, Index coils,
             Index size) {
  for (Index i = first_index(); i < size; i += stride()) {
    const REAL re = factors[i].re, im = (REAL)sign * factors[i].im;
    for (Index at = i; at < coils * size; at += size) {
      const Complex v = in[at];
      Complex product = {re * v.re - im * v.im, re * v.im + im * v.re};
      if (is_added) {
        product.re += out[at].re;
        product.im += out[at].im;
      }
      out[at] = product;
    }
  }
}
