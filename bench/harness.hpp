#pragma once
#include "bench.hpp"

/// One run by the clock on the wall, and by the processor time that all threads took: the second tells what
/// the work costs on a machine that others use too.
struct Times {
  double seconds, cpu_seconds;
};
Times time_once(const std::function<void()>& work);

/// The middle value, or the mean of the two in the middle. Not for nothing at all.
double median(std::vector<double> values);

/// Runs `work` once to warm up, then `repetitions` times: {"seconds": median, "spread": (largest - smallest)
/// / median, "repetitions": n, "cpu_seconds": median}.
Json measure(int repetitions, const std::function<void()>& work);

/// Fused multiply-adds from registers on all threads, in single precision: the arithmetic this machine can
/// do, in floating point operations per second.
double peak_flops();

/// Name, cores, threads, instruction set, caches, memory, compiler, version and commit.
Json machine();
