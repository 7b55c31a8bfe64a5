#pragma once
#include "spinloom/core/types.hpp"

/// Lengths are multiples of 64, arrays aligned to 64 bytes.
void stream_copy(const float* from, spinloom::Index length, float* to);
void stream_triad(const float* b, const float* c, float scale, spinloom::Index length,
                  float* a);  ///< a = b + scale c
void stream_copy_past_caches(const float* from, spinloom::Index length, float* to);
