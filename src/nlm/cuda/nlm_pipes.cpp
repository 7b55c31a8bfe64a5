#include "nlm/cuda/nlm_pipes.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "nlm/cuda/nlm.hpp"
#include "runtime/cuda/pinned.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {
namespace {

constexpr std::size_t buffer_bytes = PinnedBuffer::size;
constexpr int buffers = 4;  // in each direction

}  // namespace

std::size_t nlm_buffer_bytes() { return 2 * buffers * buffer_bytes; }

struct NlmPipes::Kept {
  std::mutex guard;
  StreamHandle sending = nullptr, fetching = nullptr;
  PinnedBuffer to_send[buffers], to_fetch[buffers];
  EventHandle sent[2]{}, worked[2]{}, fetched[2]{};
  int turn = 0;

  void prepare(const Context& context) {
    if (sending != nullptr) return;
    const auto event = [](EventHandle& e) { SPINLOOM_CUDA(EventCreate, &e, event_disable_timing); };
    for (auto* all : {to_send, to_fetch})
      for (int i = 0; i < buffers; ++i) all[i].prepare(context);
    for (int i = 0; i < 2; ++i)
      for (EventHandle* e : {&sent[i], &worked[i], &fetched[i]})
        if (*e == nullptr) event(*e);
    if (fetching == nullptr) SPINLOOM_CUDA(StreamCreate, &fetching, stream_non_blocking);
    SPINLOOM_CUDA(StreamCreate, &sending, stream_non_blocking);
  }
};

NlmPipes::Kept& NlmPipes::kept(Context& context) {
  static std::mutex guard;
  static auto& all =
      *new std::map<int, std::unique_ptr<Kept>>;  // outlives every static array, and the driver
  std::lock_guard lock(guard);
  auto& slot = all[context.index()];
  if (!slot) slot = std::make_unique<Kept>();
  return *slot;
}

NlmPipes::NlmPipes(Context& context) : context_(context), kept_(kept(context)), alone_(kept_.guard) {
  Current current(context_);
  kept_.prepare(context_);
  // Memory of the pool may still be in use by work that the context's stream was given before.
  for (EventHandle e : {kept_.worked[0], kept_.worked[1]}) SPINLOOM_CUDA(EventRecord, e, context_.stream());
  for (EventHandle e : {kept_.fetched[0], kept_.fetched[1]}) SPINLOOM_CUDA(EventRecord, e, context_.stream());
}

void NlmPipes::finish() {
  ContextHandle popped = nullptr;
  driver().CtxPushCurrent(context_.handle());
  driver().StreamSynchronize(kept_.sending);
  driver().StreamSynchronize(kept_.fetching);
  driver().CtxPopCurrent(&popped);
}

void NlmPipes::begin_send(Index slab) {
  Current current(context_);
  SPINLOOM_CUDA(StreamWaitEvent, kept_.sending, kept_.worked[slab % 2], 0);
}

void NlmPipes::end_send(Index slab) {
  Current current(context_);
  SPINLOOM_CUDA(EventRecord, kept_.sent[slab % 2], kept_.sending);
}

std::byte* NlmPipes::next_to_send() {
  Current current(context_);
  kept_.to_send[kept_.turn].wait();
  return kept_.to_send[kept_.turn].data();
}

void NlmPipes::send_staged(std::byte* to, std::size_t bytes) {
  Current current(context_);
  SPINLOOM_CUDA(MemcpyHtoDAsync, reinterpret_cast<DevicePointer>(to), kept_.to_send[kept_.turn].data(), bytes,
                kept_.sending);
  kept_.to_send[kept_.turn].record(kept_.sending);
  kept_.turn = (kept_.turn + 1) % buffers;
}

void NlmPipes::send_bytes(std::byte* to, Index planes, std::size_t plane, const Fill& fill) {
  const auto fit = static_cast<Index>(buffer_bytes / plane);
  Array<std::byte> large({fit == 0 ? static_cast<Index>(plane) : 0});  // a plane that no buffer holds
  for (Index first = 0; first < planes;) {
    check_interrupt();
    const Index count = std::min(std::max<Index>(fit, 1), planes - first);
    const std::size_t bytes = static_cast<std::size_t>(count) * plane;
    if (fit > 0) {
      fill(first, count, next_to_send());
      send_staged(to, bytes);
    } else {
      fill(first, count, large.data());
      for (std::size_t at = 0; at < bytes; at += buffer_bytes) {
        const std::size_t size = std::min(buffer_bytes, bytes - at);
        std::memcpy(next_to_send(), large.data() + at, size);
        send_staged(to + at, size);
      }
    }
    to += bytes;
    first += count;
  }
}

void NlmPipes::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  Current current(context_);
  SPINLOOM_CUDA(MemcpyDtoDAsync, reinterpret_cast<DevicePointer>(to), reinterpret_cast<DevicePointer>(from),
                bytes, kept_.sending);
}

void NlmPipes::begin_work(Index slab) {
  Current current(context_);
  SPINLOOM_CUDA(StreamWaitEvent, context_.stream(), kept_.sent[slab % 2], 0);
  SPINLOOM_CUDA(StreamWaitEvent, context_.stream(), kept_.fetched[slab % 2], 0);
}

void NlmPipes::end_work(Index slab) {
  Current current(context_);
  SPINLOOM_CUDA(EventRecord, kept_.worked[slab % 2], context_.stream());
}

void NlmPipes::fetch_bytes(Index slab, const std::byte* from, Index planes, std::size_t plane,
                           const Take& take) {
  const std::size_t all = static_cast<std::size_t>(planes) * plane;
  const auto fit = static_cast<Index>(buffer_bytes / plane);
  const std::size_t piece = fit > 0 ? static_cast<std::size_t>(fit) * plane : buffer_bytes;
  Array<std::byte> large({fit == 0 ? static_cast<Index>(plane) : 0});
  std::size_t filled = 0;
  {
    Current current(context_);
    SPINLOOM_CUDA(StreamWaitEvent, kept_.fetching, kept_.worked[slab % 2], 0);
  }
  std::size_t requested = 0;
  int ahead = 0, behind = 0;
  for (std::size_t at = 0; at < all; at += piece, behind = (behind + 1) % buffers) {
    {
      Current current(context_);
      for (; requested < all && requested < at + buffers * piece;
           requested += piece, ahead = (ahead + 1) % buffers) {
        SPINLOOM_CUDA(MemcpyDtoHAsync, kept_.to_fetch[ahead].data(),
                      reinterpret_cast<DevicePointer>(from + requested), std::min(piece, all - requested),
                      kept_.fetching);
        kept_.to_fetch[ahead].record(kept_.fetching);
      }
      kept_.to_fetch[behind].wait();
    }
    check_interrupt();
    const std::byte* staged = kept_.to_fetch[behind].data();
    const std::size_t bytes = std::min(piece, all - at);
    if (fit > 0) {
      take(static_cast<Index>(bytes / plane), staged);
      continue;
    }
    for (std::size_t done = 0; done < bytes;) {  // a plane may end within a buffer
      const std::size_t part = std::min(bytes - done, plane - filled);
      std::memcpy(large.data() + filled, staged + done, part);
      filled += part;
      done += part;
      if (filled < plane) continue;
      take(1, large.data());
      filled = 0;
    }
  }
  Current current(context_);
  SPINLOOM_CUDA(EventRecord, kept_.fetched[slab % 2], kept_.fetching);
}

}  // namespace spinloom::cuda
