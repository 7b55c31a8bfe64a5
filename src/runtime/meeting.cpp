#include "runtime/meeting.hpp"

namespace spinloom {

void Meeting::together(int rank, const Act& act, const std::function<void(const Act& all)>& around) {
  std::unique_lock lock(guard_);
  if (has_ended_) throw RankEnded();
  acts_[static_cast<std::size_t>(rank)] = &act;
  if (++here_ < acts_.size()) {
    const long long mine = number_;
    done_.wait(lock, [&] { return number_ != mine || has_ended_; });
    if (number_ == mine) throw RankEnded();
  } else {
    const Act all = [&] {
      for (const Act* each : acts_) (*each)();
    };
    failure_ = nullptr;
    try {
      around ? around(all) : all();
    } catch (...) {
      failure_ = std::current_exception();
    }
    here_ = 0;
    ++number_;
    done_.notify_all();
  }
  // Of this meeting still: the next one is not held before this rank comes to it.
  if (failure_) std::rethrow_exception(failure_);
}

void Meeting::open() {
  std::lock_guard lock(guard_);
  here_ = 0;
  has_ended_ = false;
}

void Meeting::end() {
  std::lock_guard lock(guard_);
  has_ended_ = true;
  done_.notify_all();
}

}  // namespace spinloom
