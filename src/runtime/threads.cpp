#include "spinloom/runtime/threads.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {
std::atomic<int> chosen{0};

// The thread sanitizer does not see inside libgomp, so it is told where a team starts and ends.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
void before(void* edge) { __tsan_release(edge); }
void after(void* edge) { __tsan_acquire(edge); }
#define SPINLOOM_UNSEEN __attribute__((no_sanitize("thread")))
#else
void before(void*) {}
void after(void*) {}
#define SPINLOOM_UNSEEN
#endif

/// Calls `work(block, thread)` for every block on a team of threads.
SPINLOOM_UNSEEN void run_team(Index blocks, int threads, const std::function<void(Index, int)>& work) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (Index block = 0; block < blocks; ++block) work(block, omp_get_thread_num());
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
  char start{}, end{};
  before(&start);
  run_team(blocks, threads, [&](Index block, int thread) {
    after(&start);
    if (!failed.load(std::memory_order_relaxed)) {
      try {
        run(block, thread);
      } catch (...) {
        // An exception may not leave an OpenMP region: keep the first, skip the rest.
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
    before(&end);
  });
  after(&end);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace spinloom
