#pragma once
// Part of nlm_tile.cu: the sum over a patch, axis by axis: along x within a row of samples, along y from row to row, along z
// from lane to lane. In fast mode an axis is summed in a step for each prime factor, in classic mode in one, weighted.
template <int n>
__device__ inline void sum_along_z(REAL& sum, bool& dropped, const Tile& t) {
  if (n == 1) return;
#if CLASSIC
  // What has passed 5 before the last plane drops the pair.
  const REAL v = sum, first = shuffle_up(v, n / 2);
#pragma unroll
  for (int j = 1; j < n; ++j) {
    dropped |= j == 1 ? first > t.first_cut : sum > t.early_cut;
    const REAL next = j < n / 2 ? shuffle_up(v, n / 2 - j) : j == n / 2 ? v : shuffle_down(v, j - n / 2);
    if (j == 1)
      sum = n == 3 ? fused(first, t.gaussian[2][0], next) : fused(next, t.gaussian[2][1], mul(first, t.gaussian[2][0]));
    else
      sum = fused(next, t.gaussian[2][j], sum);
  }
#else
  constexpr int p = largest_prime(n), lag = n / p;
  sum_along_z<lag>(sum, dropped, t);
  const REAL v = sum;
#pragma unroll
  for (int j = 1; j < p; ++j) sum = add(sum, shuffle_down(v, j * lag));
#endif
}

// Rows are met from the last to the first. Kept of a shift: for each step of the sum along y the rows that it still needs.
template <int n>
struct RowSums {
  static constexpr int p = CLASSIC ? n : largest_prime(n), lag = n / p, depth = (p - 1) * lag;
  RowSums<lag> inner;
  REAL kept[depth][COLUMNS];  // the row met i + 1 rows ago
  __device__ inline void add_row(REAL (&s)[COLUMNS], const Tile& t) {
    inner.add_row(s, t);
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      const REAL now = s[x];
#if CLASSIC
      REAL sum = kept[n / 2 - 1][x];
#pragma unroll
      for (int j = 0; j < n / 2; ++j)
        sum = fused(add(j == 0 ? now : kept[j == 0 ? 0 : j - 1][x], kept[n - 2 - j][x]), t.gaussian[1][j], sum);
#else
      REAL sum = now;
#pragma unroll
      for (int j = 1; j < p; ++j) sum = add(sum, kept[j * lag - 1][x]);
#endif
#pragma unroll
      for (int i = depth - 1; i > 0; --i) kept[i][x] = kept[i - 1][x];
      kept[0][x] = now;
      s[x] = sum;
    }
  }
};
template <>
struct RowSums<1> {
  __device__ inline void add_row(REAL (&)[COLUMNS], const Tile&) {}
};

// Of one shift, what is kept from row to row. In classic mode the lane's plane is the patch's middle one, and the difference
// in its middle was met half a patch ago.
struct Kept {
  RowSums<NY> rows;
#if CLASSIC
  static constexpr int lag = NY / 2;
  REAL middle[lag > 0 ? lag : 1][COLUMNS];
  __device__ inline REAL difference(int x, REAL now) {
    if (lag == 0) return now;
    const REAL then = middle[lag - 1][x];
#pragma unroll
    for (int i = lag - 1; i > 0; --i) middle[i][x] = middle[i - 1][x];
    middle[0][x] = now;
    return then;
  }
#endif
};

template <int n>
__device__ inline void sum_along_x(REAL (&v)[COLUMNS + NX - 1], const Tile& t) {
  if (n == 1) return;
#if CLASSIC
#pragma unroll
  for (int x = 0; x < COLUMNS; ++x) {
    REAL sum = v[x + NX / 2];
#pragma unroll
    for (int j = 0; j < NX / 2; ++j) sum = fused(add(v[x + j], v[x + NX - 1 - j]), t.gaussian[0][j], sum);
    v[x] = sum;
  }
#else
  constexpr int p = largest_prime(n), lag = n / p;
  sum_along_x<lag>(v, t);
#pragma unroll
  for (int x = 0; x < COLUMNS + NX - n; ++x) {
#pragma unroll
    for (int j = 1; j < p; ++j) v[x] = add(v[x], v[x + j * lag]);
  }
#endif
}
