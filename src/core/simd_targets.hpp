#pragma once
// The instruction sets that SIMD files are compiled for: AVX2 and AVX-512 on x86 with plain code for what is
// older, and Highway's defaults elsewhere. Each further set costs every file its compile time again. Scalable
// vectors cannot be held in arrays, which the accumulators of a tile are; such machines run the code for their
// fixed-size vectors. Include before anything of Highway.
#if defined(__SANITIZE_ADDRESS__)
#define SPINLOOM_UNCHECKED_TARGETS HWY_AVX3  // with checks a file for AVX-512 takes minutes to compile
#else
#define SPINLOOM_UNCHECKED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS                                                                            \
  (SPINLOOM_UNCHECKED_TARGETS | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128 | HWY_RVV)
