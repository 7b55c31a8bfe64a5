#pragma once
#include <map>
#include <mutex>

namespace spinloom {

/// Answers of a function that are asked for again while a reconstruction is planned. Threads: may be shared.
template <class Key, class Answer>
class Memo {
 public:
  /// What make() gave for this key, now or before.
  template <class Make>
  Answer operator()(const Key& key, const Make& make) {
    {
      std::lock_guard lock(guard_);
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    const Answer answer = make();
    std::lock_guard lock(guard_);
    if (known_.size() >= most) known_.clear();
    known_.emplace(key, answer);
    return answer;
  }

 private:
  static constexpr std::size_t most = 4096;
  std::mutex guard_;
  std::map<Key, Answer> known_;
};

}  // namespace spinloom
