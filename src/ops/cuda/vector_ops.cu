// Arithmetic on whole complex arrays; REAL is float or double. An element is two REALs.
struct Complex {
  REAL re, im;
};
struct Pair {
  double a, b;
};

typedef long long Index;

constexpr int threads = 256;
// Reductions: one block of threads sums this many elements, whatever the card, so that the same input gives the same
// bits on every run. 32 elements a thread hide the loads' latency.
constexpr int elements_per_block = 32 * threads;

__device__ inline Index first_index() { return (Index)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline Index stride() { return (Index)gridDim.x * blockDim.x; }

/// Sum of one pair per thread, in a fixed tree; the result is thread 0's.
__device__ inline Pair sum_block(Pair value) {
  __shared__ Pair shared[threads];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x].a += shared[threadIdx.x + half].a;
      shared[threadIdx.x].b += shared[threadIdx.x + half].b;
    }
    __syncthreads();
  }
  return shared[0];
}

template <class Term>
__device__ inline void reduce(Index size, Pair* parts, Term term) {
  const Index begin = (Index)blockIdx.x * elements_per_block;
  const Index end = begin + elements_per_block < size ? begin + elements_per_block : size;
  Pair sum = {0, 0};
  for (Index i = begin + threadIdx.x; i < end; i += threads) term(i, sum);
  sum = sum_block(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// sum conj(x) y
extern "C" __global__ void __launch_bounds__(threads)
    dot(const Complex* x, const Complex* y, Index size, Pair* parts) {
  reduce(size, parts, [=](Index i, Pair& sum) {
    const double xr = x[i].re, xi = x[i].im, yr = y[i].re, yi = y[i].im;
    sum.a += xr * yr + xi * yi;
    sum.b += xr * yi - xi * yr;
  });
}

extern "C" __global__ void __launch_bounds__(threads) square(const Complex* x, Index size, Pair* parts) {
  reduce(size, parts, [=](Index i, Pair& sum) {
    const double xr = x[i].re, xi = x[i].im;
    sum.a += xr * xr + xi * xi;
  });
}

extern "C" __global__ void __launch_bounds__(threads)
    square_distance(const Complex* x, const Complex* y, Index size, Pair* parts) {
  reduce(size, parts, [=](Index i, Pair& sum) {
    const double re = (double)x[i].re - (double)y[i].re, im = (double)x[i].im - (double)y[i].im;
    sum.a += re * re + im * im;
  });
}

extern "C" __global__ void __launch_bounds__(threads)
    count_not_finite(const Complex* x, Index size, Pair* parts) {
  reduce(size, parts, [=](Index i, Pair& sum) { sum.a += !isfinite(x[i].re) || !isfinite(x[i].im); });
}

// One block adds the parts of all others: a thread every 256th, then the tree.
extern "C" __global__ void __launch_bounds__(threads) sum_parts(const Pair* parts, Index count, Pair* total) {
  Pair sum = {0, 0};
  for (Index i = threadIdx.x; i < count; i += threads) {
    sum.a += parts[i].a;
    sum.b += parts[i].b;
  }
  sum = sum_block(sum);
  if (threadIdx.x == 0) *total = sum;
}

// y = y + alpha x
extern "C" __global__ void __launch_bounds__(threads)
    axpy(Complex alpha, const Complex* x, Complex* y, Index size) {
  for (Index i = first_index(); i < size; i += stride()) {
    const Complex a = x[i], b = y[i];
    y[i] = {b.re + alpha.re * a.re - alpha.im * a.im, b.im + alpha.re * a.im + alpha.im * a.re};
  }
}

// y = x + alpha y
extern "C" __global__ void __launch_bounds__(threads)
    xpay(const Complex* x, Complex alpha, Complex* y, Index size) {
  for (Index i = first_index(); i < size; i += stride()) {
    const Complex a = x[i], b = y[i];
    y[i] = {a.re + alpha.re * b.re - alpha.im * b.im, a.im + alpha.re * b.im + alpha.im * b.re};
  }
}

// x = alpha x
extern "C" __global__ void __launch_bounds__(threads) scale(REAL alpha, Complex* x, Index size) {
  for (Index i = first_index(); i < size; i += stride()) x[i] = {alpha * x[i].re, alpha * x[i].im};
}
