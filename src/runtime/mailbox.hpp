#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "spinloom/runtime/message.hpp"

namespace spinloom {

/// Messages between ranks that are threads of one process. Whoever comes second copies, straight from the sender's memory
/// into the receiver's.
class Mailbox {
 public:
  explicit Mailbox(int size) : has_ended_(static_cast<std::size_t>(size)) {}

  std::unique_ptr<Message::End> end_of(int rank, bool sends, void* data, std::size_t bytes, int peer,
                                       int tag);
  void open();           ///< before the ranks' threads start
  void close(int rank);  ///< a rank has ended: those who wait for it get RankEnded

 private:
  class End;
  struct Queue {
    std::deque<End*> sends, receives;
  };
  std::mutex guard_;
  std::condition_variable changed_;
  std::map<std::tuple<int, int, int>, Queue> queues_;  ///< by from, to, tag
  std::vector<char> has_ended_;
};

}  // namespace spinloom
