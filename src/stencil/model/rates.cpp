#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/machine.hpp"
#include "stencil/model/rate_kernels.hpp"

namespace spinloom::stencil {
namespace {

constexpr Index unit = 256;  // floats: the kernels' lengths are multiples of it

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Floats of one thread's part.
Index part_of(std::int64_t bytes) {
  return std::max<Index>(unit, bytes / Index{sizeof(float)} / unit * unit);
}

}  // namespace

struct RateMeter::State {
  Machine machine;
  bool known = true;
  Index length = 0;  ///< floats of a thread in memory
  Array<float> from, to;

  State() {
    Hardware h = detect_hardware();
    machine.cpu_name = h.cpu_name;
    machine.threads = thread_count();
    machine.caches = usable_caches(h);
    known = !h.caches.empty();
    for (auto& r : machine.rates) r.resize(machine.caches.size());
    // Past the caches: four times the last one in each array, 256 MiB at most, a quarter of what is free in both.
    const std::int64_t last = machine.caches.back().bytes, free = h.memory_available_bytes / 4;
    std::int64_t bytes = std::min<std::int64_t>(4 * last, std::int64_t{256} << 20);
    if (free > 0) bytes = std::min(bytes, free / 2);
    const Index threads = machine.threads;
    length = part_of(bytes / threads);
    from = Array<float>({length * threads});
    to = Array<float>({length * threads});
    parallel_blocks(threads, 1, [&](Index t, Index, int) {
      std::fill_n(from.data() + t * length, length, 1.0f);
      std::fill_n(to.data() + t * length, length, 1.0f);
    });
  }

  using Pass = void (*)(State&, float*, float*, Index);
  static void read(State&, float* a, float*, Index n) { read_all(a, n); }
  static void update(State&, float* a, float*, Index n) { update_all(a, n); }
  static void stream(State&, float* a, float* b, Index n) { copy_past_caches(a, n, b); }

  /// Floats per second of the first `threads` threads together, each on its own part, `chunk` at a time and `passes`
  /// times in all. A thread's median chunk stands for it: chunks in which something else had the core do not count.
  double rate(Index threads, Index part, Index chunk, Index passes, Pass pass) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    parallel_blocks(threads, 1, [&](Index t, Index, int) {
      std::vector<double> seconds;
      float *a = from.data() + t * length, *b = to.data() + t * length;
      for (Index p = 0; p < passes; ++p)
        for (Index i = 0; i + chunk <= part; i += chunk)
          seconds.push_back(seconds_of([&] { pass(*this, a + i, b + i, chunk); }));
      const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
      std::nth_element(seconds.begin(), middle, seconds.end());
      rates[static_cast<std::size_t>(t)] = double(chunk) / std::max(1e-9, *middle);
    });
    double sum = 0;
    for (const double r : rates) sum += r;
    return sum * sizeof(float);
  }

  void measure_cache(std::size_t k) {
    const CacheFacts &here = machine.caches[k], &next = machine.caches[k + 1];
    for (const Index threads : {Index{1}, Index{machine.threads}}) {
      // A set that is past cache k and well within a thread's share of the next one.
      const std::int64_t share = next.bytes / std::min<std::int64_t>(threads, std::max(1, next.shared_by));
      const Index part = std::min(length, part_of(std::max(share / 2, std::min(4 * here.bytes, share))));
      const Index passes = std::max<Index>(9, (Index{4} << 20) / (part * Index{sizeof(float)}));
      Rates& r = machine.rates[threads == 1 ? 0 : 1][k];
      r = {rate(threads, part, part, passes, read), 2 * rate(threads, part, part, passes, update), 0};
      if (machine.threads == 1) machine.rates[1][k] = r;
    }
  }
  /// By the clock on the wall, as a sweep runs: the threads share what there is, and take chunks as they come.
  void measure_memory() {
    const std::size_t k = machine.caches.size() - 1;
    const Index all = length * machine.threads, chunk = std::min(all, part_of(std::int64_t{2} << 20));
    for (const Index threads : {Index{1}, Index{machine.threads}}) {
      const auto rate_of = [&](double counted, Pass pass) {
        const auto body = [&](Index begin, Index end, int) {
          for (Index i = begin; i + chunk <= end; i += chunk)
            pass(*this, from.data() + i, to.data() + i, chunk);
        };
        const double seconds = seconds_of([&] {
          if (threads == 1)
            body(0, all, 0);
          else
            parallel_blocks(all, chunk, body);
        });
        return counted * double(all / chunk * chunk) * sizeof(float) / seconds;
      };
      Rates& r = machine.rates[threads == 1 ? 0 : 1][k];
      r = {rate_of(1, read), rate_of(2, update), rate_of(2, stream)};
      if (machine.threads == 1) machine.rates[1][k] = r;
    }
  }
};

std::vector<CacheFacts> usable_caches(const Hardware& h) {
  std::vector<CacheFacts> caches;
  for (const CacheFacts& c : h.caches)
    if (caches.empty() || c.level > caches.back().level) caches.push_back(c);
  if (caches.empty()) caches = {{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 32 << 20, std::max(1, h.cores)}};
  return caches;
}

RateMeter::RateMeter() : state_(std::make_unique<State>()) {}
RateMeter::~RateMeter() = default;
RateMeter::RateMeter(RateMeter&&) noexcept = default;
const Machine& RateMeter::machine() const { return state_->machine; }
bool RateMeter::caches_known() const { return state_->known; }
const Machine& RateMeter::measure_memory() {
  state_->measure_memory();
  return state_->machine;
}
const Machine& RateMeter::measure() {
  for (std::size_t k = 0; k + 1 < state_->machine.caches.size(); ++k) state_->measure_cache(k);
  return measure_memory();
}

}  // namespace spinloom::stencil
