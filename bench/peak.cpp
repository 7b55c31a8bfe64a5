#include "harness.hpp"
#include "spinloom/runtime/threads.hpp"

// Scalable vectors cannot be held in arrays.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Multiply-adds on one thread; gives back how many operations it did, and in `sink` a value that depends on
/// all.
double multiply_adds(float* sink) {
  const hn::ScalableTag<float> d;
  constexpr int chains = 12;      // latency times units of today's cores: 4 x 2, and 5 x 2
  constexpr int steps = 1 << 17;  // half a millisecond: the best of many falls between interruptions
  hn::Vec<decltype(d)> sum[chains];
  for (int i = 0; i < chains; ++i) sum[i] = hn::Set(d, *sink + float(i));
  const auto a = hn::Set(d, 0.999f), b = hn::Set(d, 0.001f);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = hn::MulAdd(sum[i], a, b);
  }
  auto total = sum[0];
  for (int i = 1; i < chains; ++i) total = hn::Add(total, sum[i]);
  *sink = hn::GetLane(total);
  return 2.0 * double(hn::Lanes(d)) * chains * steps;
}

}  // namespace HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
HWY_EXPORT(multiply_adds);

double peak_flops() {
  double best = 0;
  const int threads = spinloom::thread_count();
  for (int attempt = 0; attempt < 60; ++attempt) {
    std::vector<double> done(static_cast<std::size_t>(threads));
    std::vector<float> sinks(static_cast<std::size_t>(threads), 1.0f);
    const double seconds =
        time_once([&] {
          spinloom::parallel_blocks(threads, 1, [&](spinloom::Index i, spinloom::Index, int) {
            done[static_cast<std::size_t>(i)] =
                HWY_DYNAMIC_DISPATCH(multiply_adds)(&sinks[static_cast<std::size_t>(i)]);
          });
        }).seconds;
    double sum = 0;
    for (const double d : done) sum += d;
    best = std::max(best, sum / seconds);
  }
  return best;
}
#endif
