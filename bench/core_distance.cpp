#include "core_distance.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "spinloom/runtime/threads.hpp"

double core_distance_ns() {
  if (spinloom::thread_count() < 2) return 0;
  constexpr int warm = 1000, turns = 10000;
  alignas(128) std::atomic<int> turn{0};  // the line that goes back and forth: even numbers are this thread's
  const auto play = [&](int mine, int first, int last) {
    for (int i = first; i < last; ++i) {
      // Gives way at times: on one core the other would never come.
      for (int spins = 1; turn.load(std::memory_order_acquire) != 2 * i + mine; ++spins)
        if (spins % 4096 == 0) std::this_thread::yield();
      turn.store(2 * i + mine + 1, std::memory_order_release);
    }
  };
  std::thread other([&] { play(1, 0, warm + turns); });
  play(0, 0, warm);
  const auto start = std::chrono::steady_clock::now();
  play(0, warm, warm + turns);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  other.join();
  return 1e9 * seconds / (2 * turns);
}
