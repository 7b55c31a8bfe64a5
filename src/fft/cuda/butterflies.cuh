#pragma once
// Discrete Fourier transforms of a few elements in the registers of one thread; REAL is float or double.
struct __align__(2 * sizeof(REAL)) Complex {
  REAL re, im;
};

__device__ __forceinline__ Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ Complex times(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// conj(a) b
__device__ __forceinline__ Complex conj_times(Complex a, Complex b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

// The constants of the butterflies are computed by the compiler: series within a quarter turn.
__device__ constexpr double series(double x, int first) {
  double term = first == 0 ? 1 : x, sum = term;
  for (int k = first + 1; k < 28; k += 2) {
    term *= -x * x / (double(k) * double(k + 1));
    sum += term;
  }
  return sum;
}
/// cos and sin of k / n turns, 0 <= k < n.
__device__ constexpr double cosine(int k, int n) {
  if (2 * k > n) k = n - k;
  constexpr double turn = 6.283185307179586477;
  return 4 * k > n ? -series(turn * (0.5 - double(k) / n), 0) : series(turn * k / n, 0);
}
__device__ constexpr double sine(int k, int n) {
  if (2 * k > n) return -sine(n - k, n);
  constexpr double turn = 6.283185307179586477;
  return 4 * k > n ? series(turn * (0.5 - double(k) / n), 1) : series(turn * k / n, 1);
}

/// exp(-2 pi i K / N) x, or its conjugate factor when Inverse.
template <int K, int N, bool Inverse>
__device__ __forceinline__ Complex turned(Complex x) {
  constexpr int k = Inverse ? (N - K % N) % N : K % N;
  if constexpr (8 * k % N == 0) {
    constexpr int eighth = 8 * k / N;
    if constexpr (eighth % 2 == 1) {
      constexpr REAL h = REAL(0.70710678118654752440);
      x = {h * (x.re + x.im), h * (x.im - x.re)};
    }
    if constexpr (eighth / 2 == 1) return {x.im, -x.re};
    if constexpr (eighth / 2 == 2) return {-x.re, -x.im};
    if constexpr (eighth / 2 == 3) return {-x.im, x.re};
    return x;
  } else {
    constexpr REAL c = REAL(cosine(k, N)), s = REAL(sine(k, N));
    return {x.re * c + x.im * s, x.im * c - x.re * s};
  }
}

template <int I>
struct Constant {
  static constexpr int value = I;
};
/// body(Constant<I>) for I = Begin ... End - 1.
template <int Begin, int End, class Body>
__device__ __forceinline__ void unrolled(const Body& body) {
  if constexpr (Begin < End) {
    body(Constant<Begin>{});
    unrolled<Begin + 1, End>(body);
  }
}

/// How a radix is composed: P transforms first, then R / P.
__device__ constexpr int first_factor(int r) {
  return r == 6 || r == 9 || r == 18 ? 3 : r == 8 ? 2 : r == 10 || r == 15 ? 5 : r == 12 || r == 16 ? 4 : r == 20 ? 5 : r == 24 ? 8 : 0;
}

/// What a transform does beside its sum: exp(-+ pi i n / R) times its input or its output n, which turns it to the odd
/// frequencies of a line of twice the length, or back from them.
enum class Shift { none, input, output };

template <int R, bool Inverse>
__device__ __forceinline__ void shift_by_half(Complex (&x)[R]) {
  unrolled<1, R>([&](auto index) {
    constexpr int n = decltype(index)::value;
    x[n] = turned<n, 2 * R, Inverse>(x[n]);
  });
}

/// x[k] = sum_n x[n] exp(-+ 2 pi i n k / R), in natural order.
template <int R, bool Inverse, Shift S = Shift::none>
__device__ __forceinline__ void transform(Complex (&x)[R]) {
  constexpr bool is_composed = first_factor(R) != 0;
  if constexpr (S == Shift::input && !is_composed) shift_by_half<R, Inverse>(x);
  if constexpr (R == 1) {
  } else if constexpr (R == 2) {
    const Complex a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 3) {
    constexpr REAL root = REAL(0.86602540378443864676);
    const Complex s = x[1] + x[2], t = turned<1, 4, Inverse>(x[1] - x[2]);
    const Complex m = {x[0].re - REAL(0.5) * s.re, x[0].im - REAL(0.5) * s.im};
    x[0] = x[0] + s;
    x[1] = {m.re + root * t.re, m.im + root * t.im};
    x[2] = {m.re - root * t.re, m.im - root * t.im};
  } else if constexpr (R == 4) {
    const Complex s = x[0] + x[2], t = x[0] - x[2], u = x[1] + x[3],
                  v = turned<1, 4, Inverse>(x[1] - x[3]);
    x[0] = s + u;
    x[1] = t + v;
    x[2] = s - u;
    x[3] = t - v;
  } else if constexpr (R == 5) {
    constexpr REAL c1 = REAL(cosine(1, 5)), c2 = REAL(cosine(2, 5)), s1 = REAL(sine(1, 5)),
                   s2 = REAL(sine(2, 5));
    const Complex a = x[1] + x[4], b = x[2] + x[3], p = turned<1, 4, Inverse>(x[1] - x[4]),
                  q = turned<1, 4, Inverse>(x[2] - x[3]);
    const Complex m1 = {x[0].re + c1 * a.re + c2 * b.re, x[0].im + c1 * a.im + c2 * b.im};
    const Complex m2 = {x[0].re + c2 * a.re + c1 * b.re, x[0].im + c2 * a.im + c1 * b.im};
    const Complex n1 = {s1 * p.re + s2 * q.re, s1 * p.im + s2 * q.im};
    const Complex n2 = {s2 * p.re - s1 * q.re, s2 * p.im - s1 * q.im};
    x[0] = x[0] + a + b;
    x[1] = m1 + n1;
    x[4] = m1 - n1;
    x[2] = m2 + n2;
    x[3] = m2 - n2;
  } else {
    constexpr int P = first_factor(R), Q = R / P;
    Complex y[Q][P];
    unrolled<0, Q>([&](auto q) {
      constexpr int i = decltype(q)::value;
#pragma unroll
      for (int p = 0; p < P; ++p) y[i][p] = x[Q * p + i];
      transform<P, Inverse, S == Shift::input ? Shift::input : Shift::none>(y[i]);
      // The shift of the whole is a shift of its parts and one of the turns between them.
      unrolled<0, P>([&](auto p) {
        constexpr int k = decltype(p)::value;
        constexpr int twice = S == Shift::input ? i * (2 * k + 1) : S == Shift::output ? k * (2 * i + 1) : 2 * i * k;
        y[i][k] = turned<twice, 2 * R, Inverse>(y[i][k]);
      });
    });
#pragma unroll
    for (int p = 0; p < P; ++p) {
      Complex z[Q];
#pragma unroll
      for (int q = 0; q < Q; ++q) z[q] = y[q][p];
      transform<Q, Inverse, S == Shift::output ? Shift::output : Shift::none>(z);
#pragma unroll
      for (int q = 0; q < Q; ++q) x[p + P * q] = z[q];
    }
  }
  if constexpr (S == Shift::output && !is_composed) shift_by_half<R, Inverse>(x);
}
