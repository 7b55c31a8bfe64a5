#pragma once
#include "spinloom/core/types.hpp"

/// What the rates of memory and caches are measured with. Lengths are multiples of 256, arrays aligned to 64 bytes.
namespace spinloom::stencil {

float read_all(const float* from, Index length);                    ///< their sum
void update_all(float* values, Index length);                       ///< each is read and written in place
void copy_past_caches(const float* from, Index length, float* to);  ///< stores go past the caches

}  // namespace spinloom::stencil
