#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "spinloom/core/error.hpp"

namespace spinloom {

/// What those get who wait for a rank that has ended: not the failure itself, but its echo.
class RankEnded : public Error {
 public:
  RankEnded() : Error("another rank has ended before the work that all do together") {}
};

/// Where the threads of N ranks do something together: all of it is done, or nothing, and nobody goes on before. Work that
/// waits for its like on another GPU is issued here, so that none ever waits for what is not to come.
class Meeting {
 public:
  using Act = std::function<void()>;
  explicit Meeting(int size) : acts_(static_cast<std::size_t>(size)) {}

  /// Waits until every rank is here. The last to come then calls `around` with a function that calls the acts of all ranks
  /// in their order; without an `around` just the acts. What is thrown there is thrown on every rank. Throws RankEnded when
  /// a rank has ended.
  void together(int rank, const Act& act, const std::function<void(const Act& all)>& around = {});

  void open();  ///< before the ranks' threads start
  void end();   ///< called when a rank ends, whether well or not

 private:
  std::mutex guard_;
  std::condition_variable done_;
  std::vector<const Act*> acts_;
  std::size_t here_ = 0;
  long long number_ = 0;  ///< of meetings that were held
  bool has_ended_ = false;
  std::exception_ptr failure_;  ///< of the last meeting
};

}  // namespace spinloom
