#pragma once
// Part of nlm_direct.cu: the distance of two patches, and what follows from it.
// May single precision decide wrongly whether a distance is within the cut?
__device__ inline bool is_in_doubt(float distance, float cut, float reach) { return fabsf(sub(distance, cut)) < reach; }
template <class T>
__device__ inline bool is_in_doubt(T, T, T) {
  return false;
}

// Of a map's h.
#if PAIRS
__device__ inline Two scale_of(double norm) { return Two(fmin(__ddiv_rn(exp_scale, norm), 1e30)); }  // is finite for all h
#else
__device__ inline REAL scale_of(double norm) { return (REAL)__ddiv_rn(exp_scale, norm); }
#endif

__device__ inline float infinity_of(float) { return __int_as_float(0x7f800000); }
__device__ inline double infinity_of(double) { return __longlong_as_double(0x7ff0000000000000LL); }
#if PAIRS
__device__ inline Two infinity_of(Two) { return Two(infinity_of(0.0f)); }
#endif

// Steps of the sum along an axis, a prime factor each, the smallest first; classic mode has one, weighted.
template <int n, class Value>
__device__ inline REAL sum_of_box(const Value& value, Index at, Index step) {
  if constexpr (n == 1) {
    return value(at);
  } else {
    constexpr int p = largest_prime(n), lag = n / p;
    REAL sum = 0;
    for (int j = 0; j < p; ++j) {
      const REAL v = sum_of_box<lag>(value, at + j * lag * step, step);
      sum = j == 0 ? v : add(sum, v);
    }
    return sum;
  }
}

template <int axis, class Value>
__device__ inline REAL sum_along(const Direct& t, REAL early_cut, const Value& value, Index at, Index step) {
  constexpr int n = samples_of[axis];
#if CLASSIC
  if (n == 1) return value(at);
  REAL sum = 0;
  bool dropped = false;
  for (int j = 0; j < n; ++j) {
    if (axis == OUTERMOST && j > 0) {
      dropped |= sum > early_cut;
      if (dropped) break;
    }
    const REAL v = value(at + j * step), g = t.gaussian[axis][j];
    sum = j == 0 ? mul(v, g) : fused(v, g, sum);
  }
  return dropped ? infinity_of(sum) : sum;
#else
  return sum_of_box<n>(value, at, step);
#endif
}

// The sum of a patch; `at` and `shift` in elements from voxel 0.
__device__ inline REAL patch_sum(const Direct& t, Index at, Index shift, REAL early_cut) {
  const auto sample = [&](Index i) {
    REAL sum = HAS_SIGMA_MAP ? -add(t.variances[i], t.variances[i + shift]) : -t.bias;
#pragma unroll
    for (int c = 0; c < COMPARED; ++c) {
      const REAL* u = t.compared + c * t.compared_channel + i;
      const REAL d = sub(u[shift], u[0]);
      sum = fused(d, d, sum);
    }
    return sum;
  };
  const auto row = [&](Index i) { return sum_along<3>(t, early_cut, sample, i, 1); };
  const auto plane = [&](Index i) { return sum_along<2>(t, early_cut, row, i, t.stride[2]); };
  const auto volume = [&](Index i) { return sum_along<1>(t, early_cut, plane, i, t.stride[1]); };
  return sum_along<0>(t, early_cut, volume, at + F0 * t.stride[0] + F1 * t.stride[1] + F2 * t.stride[2] + F3,
                      t.stride[0]);
}

// With empty patches only the other voxel decides: what is no number has no weight.
__device__ inline REAL no_number(const Direct& t, Index at, Index shift) {
  REAL sum = 0;
  for (int c = 0; c < COMPARED; ++c) {
    const REAL* u = t.compared + c * t.compared_channel + at;
    sum = add(sum, mul((REAL)0, sub(u[0], u[shift])));
  }
  return sum;
}

// A pair decided in double.
__device__ __noinline__ double exact_weight(const Direct& t, Index at, Index shift, double norm) {
  double box = 0;
  for (int i0 = 0; i0 < N0; ++i0)
    for (int i1 = 0; i1 < N1; ++i1)
      for (int i2 = 0; i2 < N2; ++i2)
        for (int i3 = 0; i3 < N3; ++i3) {
          const Index x = at + (F0 + i0) * t.stride[0] + (F1 + i1) * t.stride[1] + (F2 + i2) * t.stride[2] + F3 + i3;
          for (int c = 0; c < COMPARED; ++c) {
            const REAL* u = t.compared + c * t.compared_channel + x;
            const double one = __dsub_rn((double)u[0], (double)u[shift]);
            box = __dadd_rn(box, __dmul_rn(one, one));
          }
          box = __dsub_rn(box, HAS_SIGMA_MAP ? __dadd_rn((double)t.variances[x], (double)t.variances[x + shift])
                                             : t.exact_bias);
        }
  const double distance = __ddiv_rn(max_with_zero(box), norm);
  return distance <= 5.0 ? 2 * exponential(distance) : 0;
}
