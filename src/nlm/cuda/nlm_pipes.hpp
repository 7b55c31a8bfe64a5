#pragma once
#include <functional>
#include <mutex>

#include "runtime/cuda/context.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// Work on slabs in three streams: slab k + 1 is sent and slab k - 1 fetched while slab k is worked on in the context's
/// own stream. Host memory is passed through pinned buffers, which are kept for the next user of the GPU.
class NlmPipes {
 public:
  explicit NlmPipes(Context& context);

  /// While it lives, copies may be on their way; its end waits for them.
  class Session {
   public:
    explicit Session(NlmPipes& pipes) : pipes_(pipes) {}
    ~Session() { pipes_.finish(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    NlmPipes& pipes_;
  };

  void begin_send(Index slab);  ///< waits, on the GPU, until the work on slab - 2 has ended
  void end_send(Index slab);
  /// `fill(first, count, to)` gives planes to be sent.
  template <class T, class Fill>
  void send(T* to, Index planes, Index plane, const Fill& fill) {
    send_bytes(reinterpret_cast<std::byte*>(to), planes, static_cast<std::size_t>(plane) * sizeof(T),
               [&](Index first, Index count, std::byte* staged) {
                 fill(first, count, reinterpret_cast<T*>(staged));
               });
  }
  void copy(void* to, const void* from, std::size_t bytes);  ///< within the GPU, among what is sent

  void begin_work(Index slab);  ///< waits, on the GPU, until the slab was sent and slab - 2 fetched
  void end_work(Index slab);

  /// Waits for the work on a slab; `take(count, planes)` gets all its planes, in order.
  template <class T, class Take>
  void fetch(Index slab, const T* from, Index planes, Index plane, const Take& take) {
    fetch_bytes(
        slab, reinterpret_cast<const std::byte*>(from), planes, static_cast<std::size_t>(plane) * sizeof(T),
        [&](Index count, const std::byte* staged) { take(count, reinterpret_cast<const T*>(staged)); });
  }

 private:
  using Fill = std::function<void(Index, Index, std::byte*)>;
  using Take = std::function<void(Index, const std::byte*)>;
  void send_bytes(std::byte* to, Index planes, std::size_t plane, const Fill& fill);
  void fetch_bytes(Index slab, const std::byte* from, Index planes, std::size_t plane, const Take& take);
  std::byte* next_to_send();
  void send_staged(std::byte* to, std::size_t bytes);
  void finish();

  struct Kept;  ///< of one GPU: streams, buffers, events
  static Kept& kept(Context& context);

  Context& context_;
  Kept& kept_;
  std::unique_lock<std::mutex> alone_;
};

}  // namespace spinloom::cuda
