#include "spinloom/runtime/threads.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {
std::atomic<int> chosen{0};

// The thread sanitizer does not see inside libgomp, so it is told where a team starts and ends.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
char edge;
void hand_over() { __tsan_release(&edge); }
void take_over() { __tsan_acquire(&edge); }
#define SPINLOOM_UNSEEN __attribute__((no_sanitize("thread")))
#else
void hand_over() {}
void take_over() {}
#define SPINLOOM_UNSEEN
#endif

/// How many blocks of a thread's share have been begun; apart, since each thread counts its own.
struct alignas(128) Begun {
  std::atomic<Index> blocks{0};
};

/// Calls `work(block, thread)` for every block on a team of threads. Each begins with a share of its own, the same in
/// every call of as many blocks: what it wrote is in its caches, and fetching it from another core costs more than a
/// small sweep's arithmetic. Whoever is done takes blocks of the others.
SPINLOOM_UNSEEN void run_team(Index blocks, int threads, const std::function<void(Index, int)>& work) {
  std::vector<Begun> begun(static_cast<std::size_t>(threads));
  hand_over();
#pragma omp parallel num_threads(threads)
  {
    take_over();
    const int team = omp_get_num_threads(), self = omp_get_thread_num();
    for (int i = 0; i < team; ++i) {
      const int owner = (self + i) % team;
      auto& next = begun[static_cast<std::size_t>(owner)].blocks;
      const Index first = blocks * owner / team, count = blocks * (owner + 1) / team - first;
      while (next.load(std::memory_order_relaxed) < count)
        if (const Index k = next.fetch_add(1, std::memory_order_relaxed); k < count) work(first + k, self);
    }
    hand_over();
  }
  take_over();
}
}  // namespace

void set_thread_count(int threads) {
  if (threads < 0 || threads > 4096)
    throw ArgumentError(fmt::format("thread count {} is outside 0 (all cores) to 4096", threads));
  chosen = threads;
}

int thread_count() { return chosen > 0 ? chosen.load() : omp_get_max_threads(); }

void parallel_blocks(Index count, Index grain, const std::function<void(Index, Index, int)>& body) {
  if (count <= 0) return;
  grain = std::max<Index>(grain, 1);
  const Index blocks = (count + grain - 1) / grain;
  const auto run = [&](Index block, int thread) {
    check_interrupt();
    body(block * grain, std::min(count, (block + 1) * grain), thread);
  };
  const int threads = omp_in_parallel() ? 1 : static_cast<int>(std::min<Index>(blocks, thread_count()));
  if (threads == 1) {
    for (Index block = 0; block < blocks; ++block) run(block, 0);
    return;
  }
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
  run_team(blocks, threads, [&](Index block, int thread) {
    if (!failed.load(std::memory_order_relaxed)) {
      try {
        run(block, thread);
      } catch (...) {
        // An exception may not leave an OpenMP region: keep the first, skip the rest.
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace spinloom
