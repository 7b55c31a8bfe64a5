#pragma once
// Before any header of Highway. Scalable vectors cannot be held in arrays, which the accumulators of a tile
// are; such machines run the code for their fixed-size vectors. SSSE3 without SSE4 is older than anything
// this will meet.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
