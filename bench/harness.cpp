#include "harness.hpp"

#include <algorithm>
#include <chrono>

#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom_version.hpp"

double time_once(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Json measure(int repetitions, const std::function<void()>& work) {
  work();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    spinloom::check_interrupt();
    seconds.push_back(time_once(work));
  }
  std::sort(seconds.begin(), seconds.end());
  const std::size_t half = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[half] : 0.5 * (seconds[half - 1] + seconds[half]);
  return {{"seconds", median},
          {"spread", (seconds.back() - seconds.front()) / median},
          {"repetitions", repetitions}};
}

Json machine() {
  const spinloom::Hardware h = spinloom::detect_hardware();
  return {{"cpu", h.cpu_name},
          {"threads", spinloom::thread_count()},
          {"simd", h.simd_target},
          {"cache_bytes", h.cache_bytes},
          {"memory_bytes", h.memory_bytes},
          {"compiler", SPINLOOM_COMPILER},
          {"build", SPINLOOM_BUILD_TYPE},
          {"version", SPINLOOM_VERSION},
          {"commit", SPINLOOM_COMMIT}};
}
