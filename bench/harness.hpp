#pragma once
#include "bench.hpp"

/// Runs `work` once to warm up, then `repetitions` times: {"seconds": median, "spread": (largest - smallest)
/// / median, "repetitions": n}.
Json measure(int repetitions, const std::function<void()>& work);

/// Seconds of one run.
double time_once(const std::function<void()>& work);

/// Fused multiply-adds from registers on all threads, in single precision: the arithmetic this machine can
/// do, in floating point operations per second.
double peak_flops();

/// Name, cores, threads, instruction set, caches, memory, compiler, version and commit.
Json machine();
