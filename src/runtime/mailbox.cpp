#include "runtime/mailbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/meeting.hpp"

namespace spinloom {

class Mailbox::End final : public Message::End {
 public:
  End(Mailbox& box, bool sends, int from, int to, int tag, void* data, std::size_t bytes)
      : box_(box), sends_(sends), from_(from), to_(to), tag_(tag), data_(data), bytes_(bytes) {}
  ~End() override {
    const std::lock_guard lock(box_.guard_);
    withdraw();
  }

  void start() override {
    const std::lock_guard lock(box_.guard_);
    done_ = is_misfit_ = false;
    Queue& queue = box_.queues_[{from_, to_, tag_}];
    auto& others = sends_ ? queue.receives : queue.sends;
    if (others.empty()) {
      (sends_ ? queue.sends : queue.receives).push_back(this);
      return;
    }
    End& other = *others.front();
    others.pop_front();
    if (other.bytes_ != bytes_) {
      is_misfit_ = other.is_misfit_ = true;
      other_bytes_ = other.bytes_;
      other.other_bytes_ = bytes_;
    } else if (bytes_ > 0) {
      sends_ ? std::memcpy(other.data_, data_, bytes_) : std::memcpy(data_, other.data_, bytes_);
    }
    done_ = other.done_ = true;
    box_.changed_.notify_all();
  }
  bool is_done() override {
    const std::lock_guard lock(box_.guard_);
    return done_;
  }
  void wait() override {
    std::unique_lock lock(box_.guard_);
    const int peer = sends_ ? to_ : from_;
    box_.changed_.wait(lock, [&] { return done_ || box_.has_ended_[static_cast<std::size_t>(peer)]; });
    if (!done_) {
      withdraw();
      throw RankEnded();
    }
    if (is_misfit_)
      throw ShapeError(fmt::format("message from rank {} to rank {}: {} bytes were sent and {} expected",
                                   from_, to_, sends_ ? bytes_ : other_bytes_,
                                   sends_ ? other_bytes_ : bytes_));
  }

 private:
  void withdraw() {
    Queue& queue = box_.queues_[{from_, to_, tag_}];
    auto& mine = sends_ ? queue.sends : queue.receives;
    mine.erase(std::remove(mine.begin(), mine.end(), this), mine.end());
  }

  Mailbox& box_;
  const bool sends_;
  const int from_, to_, tag_;
  void* const data_;
  const std::size_t bytes_;
  std::size_t other_bytes_ = 0;
  bool done_ = true, is_misfit_ = false;
};

std::unique_ptr<Message::End> Mailbox::end_of(int rank, bool sends, void* data, std::size_t bytes, int peer,
                                              int tag) {
  return std::make_unique<End>(*this, sends, sends ? rank : peer, sends ? peer : rank, tag, data, bytes);
}

void Mailbox::open() {
  const std::lock_guard lock(guard_);
  std::fill(has_ended_.begin(), has_ended_.end(), 0);
}

void Mailbox::close(int rank) {
  const std::lock_guard lock(guard_);
  has_ended_[static_cast<std::size_t>(rank)] = 1;
  changed_.notify_all();
}

}  // namespace spinloom
