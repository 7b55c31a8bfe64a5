#pragma once
#include "runtime/cuda/context.hpp"
#include "spinloom/core/shape.hpp"

namespace spinloom::cuda {

/// Two buffers on a GPU that are filled from the host in turn by a second stream: while work on what came last runs, the
/// next is on its way. For as many parts as are wanted:
///   send(part 0); for each part { data = take(); issue work on data; send(the next, if any); }
/// From pinned memory all of it may be recorded. One thread's, for one pass over the parts.
class Uploads {
 public:
  /// `parts` that are to come; for a single one there is one buffer.
  Uploads(Context& context, std::size_t largest_bytes, Index parts);
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  /// Into the buffer that was not taken last, once the work issued before that is done. Pinned memory has to stay as it is
  /// until the stream has passed; ordinary memory may change when this returns.
  void send(const std::byte* from, std::size_t bytes, bool is_pinned);
  /// What was sent and not taken yet, for work issued from now on; it stays until the next but one is sent.
  std::byte* take();

 private:
  struct Buffer {
    std::shared_ptr<std::byte> data;
    EventHandle is_free = nullptr, has_arrived = nullptr;
  };
  Buffer& buffer(long long part) { return buffers_[part % 2]; }

  Context& context_;
  Buffer buffers_[2];
  long long sent_ = 0, taken_ = 0;
};

}  // namespace spinloom::cuda
