#include "core_distance.hpp"

#include <atomic>
#include <chrono>

#include "spinloom/runtime/threads.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm = 1000, turns = 10000;

/// A line that two threads write in turn; whoever waits in vain for a second, such as on one core, ends the game.
struct Game {
  alignas(128) std::atomic<int> turn{0};
  std::atomic<bool> is_over{false};
  Clock::time_point start{};

  void play(int mine) {
    for (int i = 0; i < warm + turns; ++i) {
      if (i == warm && mine == 0) start = Clock::now();
      const auto limit = Clock::now() + std::chrono::seconds(1);
      for (int spins = 1; turn.load(std::memory_order_acquire) != 2 * i + mine; ++spins)
        if (spins % 1024 == 0 && (is_over || Clock::now() > limit)) {
          is_over = true;
          return;
        }
      turn.store(2 * i + mine + 1, std::memory_order_release);
    }
  }
};

}  // namespace

double core_distance_ns() {
  if (spinloom::thread_count() < 2) return 0;
  Game game;
  spinloom::parallel_blocks(
      2, 1, [&](spinloom::Index player, spinloom::Index, int) { game.play(static_cast<int>(player)); });
  if (game.is_over) return 0;
  return 1e9 * std::chrono::duration<double>(Clock::now() - game.start).count() / (2 * turns);
}
