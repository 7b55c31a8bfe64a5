#include "harness.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom_version.hpp"

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

Times time_once(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const double cpu = processor_seconds();
  const auto start = Clock::now();
  work();
  return {std::chrono::duration<double>(Clock::now() - start).count(), processor_seconds() - cpu};
}

Json measure(int repetitions, const std::function<void()>& work) {
  work();
  std::vector<double> seconds, cpu_seconds;
  for (int i = 0; i < repetitions; ++i) {
    spinloom::check_interrupt();
    const Times times = time_once(work);
    seconds.push_back(times.seconds);
    cpu_seconds.push_back(times.cpu_seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(cpu_seconds.begin(), cpu_seconds.end());
  return {{"seconds", median(seconds)},
          {"spread", (seconds.back() - seconds.front()) / median(seconds)},
          {"repetitions", repetitions},
          {"cpu_seconds", median(cpu_seconds)}};
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
