#pragma once
// After fixed_turns.cuh.

struct Layout {
  int nz, ny, nx;
  int fold, outers;   // ny <= fold * outers
  int groups, half;   // nz * outers, (nx * fold + 1) / 2
  int rows, columns;  // 2 * groups and 2 * half, rounded up to whole tiles
};

// The two factors of a column's value are at most 1; this keeps the low halves of FP16 pairs clear of subnormals.
#define COLUMN_SCALE 256.0f

/// Power of two that brings a coil's largest magnitude (given by its bits) to about 2^13, far from FP16's ends: 65504
/// holds the sum of two rotated values.
__device__ inline float scale_of(unsigned largest_bits) {
  if (largest_bits == 0 || largest_bits >= 0x7f800000u)
    return 1;  // silent, or not finite: it shows in the result
  int e = 13 - ((int)(largest_bits >> 23) - 127);
  e = e > 126 ? 126 : e < -126 ? -126 : e;
  return __uint_as_float((unsigned)(e + 127) << 23);
}

/// exp(-2 pi i hz time)
__device__ inline Complexf turn_back(float hz, double time) {
  const double turns = (double)hz * time;
  float s, c;
  sincospif((float)(-2 * (turns - rint(turns))), &s, &c);
  return {c, s};
}
// From snapshot to snapshot the turn is multiplied by that of a step, for a few steps that add no rounding worth mention.
constexpr int steps_between_turns = 8;
