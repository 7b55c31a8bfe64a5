#pragma once
// Phases are held in turns, as 64-bit fixed-point numbers that wrap at whole turns: a sample's k / (2 N) on an axis is
// one such number u, a voxel's position in half voxels is a whole number w, and the phase u * w is exact whatever its
// size. Rounding enters once, when the fraction of a turn becomes a float.
typedef unsigned long long Turns;
typedef long long Index;

struct Complexf {
  float re, im;
};

__device__ inline Complexf operator*(Complexf a, Complexf b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ inline Turns turns(Turns u, int w) { return u * (Turns)(Index)w; }

/// exp(2 pi i t) in single precision: the nearest quarter turn is taken off first, so that what is rounded to a float is
/// at most an eighth of a turn.
__device__ inline Complexf unit(Turns t) {
  const unsigned fraction = (unsigned)((t + 0x80000000ull) >> 32);
  const unsigned quarter = (fraction + 0x20000000u) >> 30;
  const int rest = (int)(fraction - (quarter << 30));
  float s, c;
  sincospif((float)rest * 0x1p-31f, &s, &c);
  const float x = quarter & 1 ? -s : c, y = quarter & 1 ? c : s;
  return {quarter & 2 ? -x : x, quarter & 2 ? -y : y};
}
