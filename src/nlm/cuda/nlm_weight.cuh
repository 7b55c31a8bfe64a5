#pragma once
// Arithmetic in which nothing is contracted, and scikit-image's exponential.
__device__ inline float add(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float sub(float a, float b) { return __fsub_rn(a, b); }
__device__ inline float mul(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline float divide(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline double add(double a, double b) { return __dadd_rn(a, b); }
__device__ inline double sub(double a, double b) { return __dsub_rn(a, b); }
__device__ inline double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ inline double divide(double a, double b) { return __ddiv_rn(a, b); }
__device__ inline float shuffle_down(float v, int lanes) { return __shfl_down_sync(0xffffffffu, v, lanes); }
__device__ inline double shuffle_down(double v, int lanes) { return __shfl_down_sync(0xffffffffu, v, lanes); }
__device__ inline float shuffle_up(float v, int lanes) { return __shfl_up_sync(0xffffffffu, v, lanes); }
__device__ inline double shuffle_up(double v, int lanes) { return __shfl_up_sync(0xffffffffu, v, lanes); }
__device__ inline float max_with_zero(float v) { return fmaxf(v, 0.0f); }
// By its words: the units for doubles have enough to do.
__device__ inline double max_with_zero(double v) {
  const int high = __double2hiint(v), mask = ~(high >> 31);
  return __hiloint2double(high & mask, __double2loint(v) & mask);
}

#if PAIRS
constexpr float largest_value = 3.4028234663852886e38f;
#else
constexpr REAL largest_value = sizeof(REAL) == 4 ? (REAL)3.4028234663852886e38 : (REAL)1.7976931348623157e308;
#endif

__device__ constexpr int largest_prime(int n) {
  int p = 1;
  for (int i = 2; n > 1; ++i)
    for (; n % i == 0; n /= i) p = i;
  return p;
}

constexpr double exp_scale = 1512775.3951951856938;  // 2^20 / ln 2
constexpr int exp_bias = 1072632447;                  // 1023 * 2^20 - 60801

// In [1/2, 1) floats are 2^-24 apart, so that the bits of 1 - distance * scale, rounded up, count the steps of the
// exponential; saturation makes 0 of what is below it. Moved up by 3 they are the bits of twice the weight less a constant.
// In double the low word of top - distance * scale is the weight's high word.
constexpr unsigned one_bits = 0x3F800000u, twice_at_zero = 0x47FF127Fu << 3;
constexpr double exponential_top = 4503599627370496.0 + exp_bias;  // 2^52 + ...

__device__ inline unsigned steps_of(float distance, float scale) {
  float f;
  asm("fma.rp.sat.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(distance), "f"(-scale), "f"(1.0f));
  return __float_as_uint(f);
}
__device__ inline float weight_of(unsigned steps) {
  return __uint_as_float((steps << 3) + (twice_at_zero - (one_bits << 3)));
}
struct DoubleSteps {
  int low;
};
__device__ inline DoubleSteps steps_of(double distance, double scale) {
  return {__double2loint(__fma_ru(-scale, distance, exponential_top))};
}
__device__ inline double weight_of(DoubleSteps steps) { return __hiloint2double(steps.low, 0); }

// Classic mode's distances may lie far beyond 5. Not doubled in float.
__device__ inline float far_weight(float distance, float scale) {
  const unsigned steps = __float2uint_rz(__fmul_rn(distance, scale));  // 0 for what is negative
  return __uint_as_float(((unsigned)(exp_bias - (896 << 20)) - steps) << 3);
}
__device__ inline double far_weight(double distance, double scale) {
  return weight_of(steps_of(max_with_zero(distance), scale));
}

template <class T>
struct StepsOf {
  typedef unsigned Type;
};
template <>
struct StepsOf<double> {
  typedef DoubleSteps Type;
};
#if PAIRS
typedef TwoSteps Steps;
typedef double Stored;
#else
typedef StepsOf<REAL>::Type Steps;
typedef REAL Stored;  // in arrays
#endif

// The exponential itself, as scikit-image has it, of -distance.
__device__ inline double exponential(double distance) {
  const int steps = __double2int_rz(__dmul_rn(exp_scale, -distance));
  return __hiloint2double((int)((unsigned)steps + (unsigned)exp_bias), 0);
}
