// Forward differences along some axes, their adjoint, and D^H D, each a gather: one thread per element of the array.
struct Complex {
  REAL re, im;
};

typedef long long Index;

// As in finite_difference.cpp.
constexpr int most_axes = 8, threads = 256;
struct Axes {
  Index extent[most_axes], stride[most_axes];
  double weight[most_axes];
  int count;
};

__device__ inline Complex minus(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline void add(Complex& sum, REAL w, const Complex& v) {
  sum.re += w * v.re;
  sum.im += w * v.im;
}

// y[a, n] = weight[a] (x[n + e_a] - x[n])
extern "C" __global__ void __launch_bounds__(threads) difference(const Complex* x, Complex* y, Index size, Axes axes) {
  const Index n = (Index)blockIdx.x * threads + threadIdx.x;
  if (n >= size) return;
  for (int a = 0; a < axes.count; ++a) {
    Complex v = {0, 0};
    const Index s = axes.stride[a];
    if (n / s % axes.extent[a] + 1 < axes.extent[a]) add(v, (REAL)axes.weight[a], minus(x[n + s], x[n]));
    y[a * size + n] = v;
  }
}

// x[n] = sum_a weight[a] (y[a, n - e_a] - y[a, n]): the end of the difference before it, the start of its own
extern "C" __global__ void __launch_bounds__(threads)
    difference_adjoint(const Complex* y, Complex* x, Index size, Axes axes) {
  const Index n = (Index)blockIdx.x * threads + threadIdx.x;
  if (n >= size) return;
  Complex sum = {0, 0};
  for (int a = 0; a < axes.count; ++a) {
    const Index s = axes.stride[a], place = n / s % axes.extent[a];
    const REAL w = (REAL)axes.weight[a];
    if (place + 1 < axes.extent[a]) add(sum, -w, y[a * size + n]);
    if (place > 0) add(sum, w, y[a * size + n - s]);
  }
  x[n] = sum;
}

// y[n] = sum_a weight[a]^2 sum over the neighbours inside of (x[n] - x[neighbour])
extern "C" __global__ void __launch_bounds__(threads) roughness(const Complex* x, Complex* y, Index size, Axes axes) {
  const Index n = (Index)blockIdx.x * threads + threadIdx.x;
  if (n >= size) return;
  const Complex v = x[n];
  Complex sum = {0, 0};
  for (int a = 0; a < axes.count; ++a) {
    const Index s = axes.stride[a], place = n / s % axes.extent[a];
    const REAL w = (REAL)(axes.weight[a] * axes.weight[a]);
    if (place + 1 < axes.extent[a]) add(sum, w, minus(v, x[n + s]));
    if (place > 0) add(sum, w, minus(v, x[n - s]));
  }
  y[n] = sum;
}
