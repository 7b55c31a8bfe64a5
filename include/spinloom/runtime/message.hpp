#pragma once
#include <memory>

namespace spinloom {

/// One end of a message between two ranks that is sent again and again: always the same bytes of memory, to or from the
/// same rank. Made by Communicator::sending() and receiving(); the n-th start() of one end meets the n-th of the other.
/// The memory must stay, and between start() and wait() be left alone, by the receiver read by nobody either.
///
/// Errors   ShapeError where the ends differ in bytes; an Error where the other rank has ended, see run_ranks()
/// Threads  one at a time, of the rank that made it
class Message {
 public:
  /// What a group of ranks provides.
  class End {
   public:
    virtual ~End() = default;
    virtual void start() = 0;
    virtual bool is_done() = 0;
    virtual void wait() = 0;
  };
  Message() = default;
  explicit Message(std::unique_ptr<End> end) : end_(std::move(end)) {}

  void start() { end_->start(); }
  bool is_done() {
    return end_->is_done();
  }  ///< also what moves messages on, where no thread of its own does
  void wait() { end_->wait(); }

 private:
  std::unique_ptr<End> end_;
};

}  // namespace spinloom
