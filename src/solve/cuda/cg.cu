// Conjugate gradients with its numbers on the GPU. REAL is float or double; WIDTH complex numbers are one access of 16
// bytes, or 1 where an array is not aligned to that.
struct Complex {
  REAL re, im;
};
struct __align__(WIDTH * sizeof(Complex)) Pack {
  Complex v[WIDTH];
};

typedef long long Index;

// As in cg_steps.cpp.
constexpr int threads = 256;

enum Curvature { positive, not_finite, negative, vanishing };

// As in cg_steps.cpp.
struct State {
  double rr, pp, largest_curvature, b_norm, residual, curvature, direction_squared, mark;
  Index iteration, marked_at, launches;
  int verdict, is_paused;
};
struct Rules {
  double threshold, rounding, slack, keep;
  Index window;
};

__device__ inline Pack load(const Complex* x, Index pack, Index size) {
  if ((pack + 1) * WIDTH <= size) return reinterpret_cast<const Pack*>(x)[pack];
  Pack partial = {};
  for (int i = 0; i < WIDTH; ++i)
    if (pack * WIDTH + i < size) partial.v[i] = x[pack * WIDTH + i];
  return partial;
}

__device__ inline void store(Complex* x, Index pack, Index size, const Pack& value) {
  if ((pack + 1) * WIDTH <= size) {
    reinterpret_cast<Pack*>(x)[pack] = value;
    return;
  }
  for (int i = 0; i < WIDTH; ++i)
    if (pack * WIDTH + i < size) x[pack * WIDTH + i] = value.v[i];
}

/// Sum of one number per thread in a fixed tree; every thread gets it.
__device__ inline double sum_block(double value) {
  __shared__ double shared[threads];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = shared[0];
  __syncthreads();
  return sum;
}

/// Each block adds the parts of all blocks by itself, in the same order: cheaper than one more kernel.
__device__ inline double sum_parts(const double* parts, int count) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += threads) sum += parts[i];
  return sum_block(sum);
}

template <class Body>
__device__ inline void for_packs(Index size, Body body) {
  const Index packs = (size + WIDTH - 1) / WIDTH, stride = (Index)gridDim.x * threads;
#pragma unroll 4
  for (Index i = (Index)blockIdx.x * threads + threadIdx.x; i < packs; i += stride) body(i);
}

// Real part of sum conj(p) ap, one part per block.
extern "C" __global__ void __launch_bounds__(threads, 8)
    curvature_parts(const Complex* p, const Complex* ap, Index size, double* parts) {
  double sum = 0;
  for_packs(size, [&](Index i) {
    const Pack a = load(p, i, size), b = load(ap, i, size);
    for (int j = 0; j < WIDTH; ++j)
      sum += (double)a.v[j].re * (double)b.v[j].re + (double)a.v[j].im * (double)b.v[j].im;
  });
  sum = sum_block(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__device__ inline int judge(double curvature, const State& s, const Rules& rules) {
  if (!isfinite(curvature)) return not_finite;
  if (curvature < -rules.slack * s.largest_curvature * s.pp || (curvature <= 0 && s.largest_curvature == 0))
    return negative;
  return curvature <= rules.rounding * s.largest_curvature * s.pp ? vanishing : positive;
}

// r -= alpha A p, with the parts of |r|^2. Two states take turns, so that no block reads what another one writes.
extern "C" __global__ void __launch_bounds__(threads, 8)
    step_residual(const State* in, State* out, const double* curvature_of_blocks, int part_count, const Complex* ap,
                  Complex* r, Index size, double* parts, Rules rules) {
  State s = *in;
  const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
  if (!s.is_paused) {
    s.curvature = sum_parts(curvature_of_blocks, part_count);
    s.direction_squared = s.pp;
    s.verdict = judge(s.curvature, s, rules);
    s.is_paused = s.verdict != positive;
  }
  if (s.is_paused) {
    if (is_first) *out = s;
    return;
  }
  const double ratio = s.curvature / s.pp;
  if (ratio > s.largest_curvature) s.largest_curvature = ratio;
  if (is_first) *out = s;
  const REAL alpha = (REAL)(s.rr / s.curvature);
  double sum = 0;
  for_packs(size, [&](Index i) {
    const Pack a = load(ap, i, size);
    Pack b = load(r, i, size);
    for (int j = 0; j < WIDTH; ++j) {
      b.v[j].re -= alpha * a.v[j].re;
      b.v[j].im -= alpha * a.v[j].im;
      sum += (double)b.v[j].re * (double)b.v[j].re + (double)b.v[j].im * (double)b.v[j].im;
    }
    store(r, i, size, b);
  });
  sum = sum_block(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// x += alpha p, p = r + beta p, and the numbers of the step told to the host.
extern "C" __global__ void __launch_bounds__(threads, 8)
    step_solution(const State* in, State* out, const double* squares, int part_count, const Complex* r, Complex* x,
                  Complex* p, Index size, Rules rules, State* told, int told_count) {
  State s = *in;
  const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
  const Index slot = s.launches % told_count;
  ++s.launches;
  if (s.is_paused) {
    if (is_first) *out = told[slot] = s;
    return;
  }
  const REAL alpha = (REAL)(s.rr / s.curvature);
  const double rr = sum_parts(squares, part_count), beta = rr / s.rr;
  s.pp = rr + beta * beta * s.pp;
  s.rr = rr;
  s.residual = sqrt(rr) / s.b_norm;
  ++s.iteration;
  if (s.residual < rules.keep * s.mark) {
    s.mark = s.residual;
    s.marked_at = s.iteration;
  }
  s.is_paused = !isfinite(s.residual) || s.residual <= rules.threshold ||
                (rules.window > 0 && s.iteration - s.marked_at >= rules.window);
  if (is_first) *out = told[slot] = s;
  const REAL push = (REAL)beta;
  for_packs(size, [&](Index i) {
    const Pack a = load(r, i, size);
    Pack b = load(p, i, size), c = load(x, i, size);
    for (int j = 0; j < WIDTH; ++j) {
      c.v[j].re += alpha * b.v[j].re;
      c.v[j].im += alpha * b.v[j].im;
      b.v[j].re = a.v[j].re + push * b.v[j].re;
      b.v[j].im = a.v[j].im + push * b.v[j].im;
    }
    store(x, i, size, c);
    store(p, i, size, b);
  });
}
