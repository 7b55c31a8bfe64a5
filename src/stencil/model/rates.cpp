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
  volatile float sink = 0;  // so that a sum is computed

  State() {
    Hardware h = detect_hardware();
    machine.cpu_name = h.cpu_name;
    machine.threads = thread_count();
    machine.caches = usable_caches(h);
    known = !h.caches.empty();
    for (auto& r : machine.rates) r.resize(machine.caches.size());
    // Past the caches: four times the last one in both arrays together, 256 MiB at most, a quarter of what is free.
    const std::int64_t last = machine.caches.back().bytes, free = h.memory_available_bytes / 4;
    std::int64_t bytes = std::min<std::int64_t>(2 * last, std::int64_t{128} << 20);
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

  /// Seconds of `passes` passes by each of the first `threads` parts.
  double time(Index threads, Index part, Index passes, void (*pass)(State&, float*, float*, Index)) {
    return seconds_of([&] {
      parallel_blocks(threads, 1, [&](Index t, Index, int) {
        for (Index p = 0; p < passes; ++p)
          pass(*this, from.data() + t * length, to.data() + t * length, part);
      });
    });
  }
  static void read(State& s, float* a, float*, Index n) { s.sink = read_all(a, n); }
  static void update(State&, float* a, float*, Index n) { update_all(a, n); }
  static void stream(State&, float* a, float* b, Index n) { copy_past_caches(a, n, b); }

  void measure_cache(std::size_t k) {
    // A set that is past cache k and well within the next one.
    const CacheFacts& next = machine.caches[k + 1];
    for (const Index threads : {Index{1}, Index{machine.threads}}) {
      const Index sharing = std::min<Index>(threads, next.shared_by);
      const Index part = std::min(length, part_of(std::max<std::int64_t>(
                                              next.bytes / sharing / 2,
                                              std::min(2 * machine.caches[k].bytes, next.bytes / sharing))));
      const double bytes = double(part * threads) * sizeof(float);
      const Index passes = std::max<Index>(2, (Index{2} << 20) / (part * Index{sizeof(float)}));
      double least[2] = {1e30, 1e30};
      for (int repetition = 0; repetition < 6; ++repetition) {
        least[0] = std::min(least[0], time(threads, part, passes, read) / double(passes));
        least[1] = std::min(least[1], time(threads, part, passes, update) / double(passes));
      }
      Rates& r = machine.rates[threads == 1 ? 0 : 1][k];
      r.read = bytes / least[0];
      r.update = 2 * bytes / least[1];
      if (machine.threads == 1) machine.rates[1][k] = r;
    }
  }
  void measure_memory() {
    const std::size_t k = machine.caches.size() - 1;
    for (const Index threads : {Index{1}, Index{machine.threads}}) {
      const double bytes = double(length * threads) * sizeof(float);
      const auto rate = [&](double counted, auto pass) {
        return counted * bytes / time(threads, length, 1, pass);
      };
      Rates& r = machine.rates[threads == 1 ? 0 : 1][k];
      r = {rate(1, read), rate(2, update), rate(2, stream)};
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
