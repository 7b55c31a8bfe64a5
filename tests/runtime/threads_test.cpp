#include "spinloom/runtime/threads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace spinloom {
namespace {

struct Threads : ::testing::Test {
  ~Threads() override { set_thread_count(0); }
};

TEST_F(Threads, DoEachBlockOnce) {
  for (const int threads : {1, 2, 3, 7})
    for (const Index count : {1, 2, 6, 7, 8, 64, 1001})
      for (const Index grain : {1, 3, 64}) {
        set_thread_count(threads);
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        std::atomic<int> wrong{0};
        parallel_blocks(count, grain, [&](Index begin, Index end, int thread) {
          if (begin % grain != 0 || end != std::min(count, begin + grain) || thread < 0 || thread >= threads)
            ++wrong;
          for (Index i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(wrong, 0);
        for (const auto& v : visits) ASSERT_EQ(v, 1) << threads << " threads, " << count << " by " << grain;
      }
}

TEST_F(Threads, BeginWithTheSameShareInEveryCall) {
  // As many blocks as threads, and none ends before all have begun: so nobody takes another's.
  constexpr int threads = 3;
  set_thread_count(threads);
  for (int call = 0; call < 20; ++call) {
    std::atomic<int> begun{0};
    std::vector<int> thread_of(threads, -1);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    parallel_blocks(threads, 1, [&](Index block, Index, int thread) {
      thread_of[static_cast<std::size_t>(block)] = thread;
      for (++begun; begun < threads && std::chrono::steady_clock::now() < limit;) std::this_thread::yield();
    });
    ASSERT_EQ(begun, threads);
    EXPECT_EQ(thread_of, (std::vector<int>{0, 1, 2}));
  }
}

TEST_F(Threads, HelpOneThatIsHeldUp) {
  set_thread_count(2);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::atomic<int> done{0};
  parallel_blocks(8, 1, [&](Index block, Index, int) {
    // The first block of the first share waits for all others.
    while (block == 0 && done < 7 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    ++done;
  });
  EXPECT_LT(std::chrono::steady_clock::now(), limit);
}

}  // namespace
}  // namespace spinloom
