#pragma once
// For cards whose units for doubles are few: a number is the sum of two floats, 48 bits together. Sums keep all bits of both
// first parts, and their second part may grow beyond the last place of the first until settled() is called, which costs
// three operations of eight. Errors are some 2^-46 of the largest operand. Arrays in memory are of double.
struct __align__(8) Two {
  float high, low;
  Two() = default;
  __device__ constexpr Two(float h, float l = 0) : high(h), low(l) {}
  __device__ constexpr Two(int i) : high((float)i), low(0) {}
  __device__ constexpr Two(double v) : high((float)v), low((float)(v - (double)(float)v)) {}
  __device__ explicit operator double() const { return (double)high + (double)low; }
  __device__ constexpr Two operator-() const { return {-high, -low}; }
};
__device__ inline float difference(Two a, Two b) {  // exact where they are close
  return __fadd_rn(__fsub_rn(a.high, b.high), __fsub_rn(a.low, b.low));
}
__device__ inline bool operator<=(Two a, Two b) { return difference(a, b) <= 0; }
__device__ inline bool operator>(Two a, Two b) { return difference(a, b) > 0; }

// Of a sum whose first part is known to be the larger one.
__device__ inline Two settled(float high, float low) {
  const float sum = __fadd_rn(high, low);
  return {sum, __fsub_rn(low, __fsub_rn(sum, high))};
}
__device__ inline Two add(Two a, Two b) {
  const float sum = __fadd_rn(a.high, b.high), of_b = __fsub_rn(sum, a.high);
  const float lost = __fadd_rn(__fsub_rn(a.high, __fsub_rn(sum, of_b)), __fsub_rn(b.high, of_b));
  return {sum, __fadd_rn(lost, __fadd_rn(a.low, b.low))};
}
__device__ inline Two sub(Two a, Two b) { return add(a, -b); }
__device__ inline Two mul(Two a, Two b) {
  const float high = __fmul_rn(a.high, b.high);
  const float lost = __fmaf_rn(a.high, b.high, -high);
  return {high, __fmaf_rn(a.high, b.low, __fmaf_rn(a.low, b.high, lost))};
}
__device__ inline Two fused(Two a, Two b, Two c) { return add(mul(a, b), c); }
__device__ inline Two divide(Two a, Two b) {
  const float first = __fdiv_rn(a.high, b.high);
  const Two rest = sub(a, mul(b, Two(first)));
  return settled(first, __fdiv_rn(__fadd_rn(rest.high, rest.low), b.high));
}
__device__ inline Two shuffle_down(Two v, int lanes) {
  return {__shfl_down_sync(0xffffffffu, v.high, lanes), __shfl_down_sync(0xffffffffu, v.low, lanes)};
}
__device__ inline Two shuffle_up(Two v, int lanes) {
  return {__shfl_up_sync(0xffffffffu, v.high, lanes), __shfl_up_sync(0xffffffffu, v.low, lanes)};
}
__device__ inline Two max_with_zero(Two v) { return v.high < 0 ? Two(0) : v; }

// Steps of the exponential in distance * scale, and the weight after so many: single precision has all its 20 bits.
struct TwoSteps {
  unsigned count;
};
__device__ inline TwoSteps steps_of(Two distance, Two scale) {
  const Two product = mul(distance, scale), all = settled(product.high, product.low);
#if CLASSIC
  const int whole = __float2int_rd(all.high);
  const float rest = __fadd_rn(__fsub_rn(all.high, (float)whole), all.low);
#else
  const float shifted = __fadd_rd(all.high, 8388608.0f);  // 2^23: what is below 1 is lost
  const int whole = __float_as_int(shifted) - __float_as_int(8388608.0f);
  const float rest = __fadd_rn(__fsub_rn(all.high, __fsub_rn(shifted, 8388608.0f)), all.low);
#endif
  return {(unsigned)(whole + (rest >= 1) - (rest < 0))};
}
__device__ inline Two weight_of(TwoSteps steps) {
  const unsigned at_zero = 1072632447u - (896u << 20);  // the high word of the weight as a double, less the exponents' bias
  return Two(__uint_as_float((at_zero - steps.count) << 3));
}
__device__ inline Two far_weight(Two distance, Two scale) { return weight_of(steps_of(max_with_zero(distance), scale)); }
