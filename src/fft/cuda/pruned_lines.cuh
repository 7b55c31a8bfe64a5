#pragma once
// A line of up to n = A B values, padded with zeros to 2 n, through a Fourier transform of length 2 n and back, without
// the zeros: its even frequencies are the transform of x[i], its odd ones that of x[i] exp(-pi i / n), and on the way
// back the sum of both halves is the line without its padding. A half goes through two stages: with i = j + B k,
//   X[j][q] = sum_k x[j + B k] exp(-2 pi i k q / A), turned by exp(-2 pi i j (2 q + half) / (2 n)),
//   frequency 2 (q + A m) + half = sum_j X[j][q] exp(-2 pi i j m / B).
// In stage one B threads share a line, each with the A values of one j; in stage two each has the B values of one q, or of
// several: q = t, t + B, ... Frequencies stay in the order (q, m) in which they arise.

template <int A, int B>
struct Line {
  static constexpr int length = A * B;
  static constexpr int rounds = (A + B - 1) / B;  ///< values of q per thread in stage two
  static constexpr int pairs = (A + 1) / 2;
  static constexpr int table_size = 4 * pairs * B;  ///< complex numbers, of both halves

  /// Is q one of stage two? Only where B does not divide A are there threads without.
  static __device__ __forceinline__ bool has(int q) { return A % B == 0 || q < A; }

  /// The turns between the stages. `table` is the half's: [pairs of q][j][2].
  template <bool Inverse>
  static __device__ __forceinline__ void turn(Complex (&x)[A], const Complex* table, int j) {
    if constexpr (B > 1) {
      struct __align__(4 * sizeof(REAL)) Pair {
        Complex a, b;
      };
#pragma unroll
      for (int p = 0; p < pairs; ++p) {
        const Pair w = reinterpret_cast<const Pair*>(table)[p * B + j];
        x[2 * p] = Inverse ? conj_times(w.a, x[2 * p]) : times(x[2 * p], w.a);
        if (2 * p + 1 < A) x[2 * p + 1] = Inverse ? conj_times(w.b, x[2 * p + 1]) : times(x[2 * p + 1], w.b);
      }
    }
  }

  /// Stage one of a half on the way there and on the way back.
  template <int Half>
  static __device__ __forceinline__ void first(Complex (&x)[A], const Complex* table, int j) {
    transform<A, false, Half == 1 ? Shift::input : Shift::none>(x);
    turn<false>(x, table + Half * 2 * pairs * B, j);
  }
  template <int Half>
  static __device__ __forceinline__ void last(Complex (&x)[A], const Complex* table, int j) {
    turn<true>(x, table + Half * 2 * pairs * B, j);
    transform<A, true, Half == 1 ? Shift::output : Shift::none>(x);
  }
};

__device__ __forceinline__ void zero(Complex& x) { x = {0, 0}; }
