#include "runtime/cuda/uploads.hpp"

#include "runtime/cuda/memory_pool.hpp"
#include "runtime/cuda/staging.hpp"

namespace spinloom::cuda {

Uploads::Uploads(Context& context, std::size_t largest_bytes, Index parts) : context_(context) {
  Current current(context_);
  for (Buffer& b : buffers_) {
    if (&b == buffers_ || parts > 1) b.data = context_.memory().allocate(largest_bytes);
    SPINLOOM_CUDA(EventCreate, &b.is_free, event_disable_timing);
    SPINLOOM_CUDA(EventCreate, &b.has_arrived, event_disable_timing);
    SPINLOOM_CUDA(EventRecord, b.is_free, context_.stream());  // of who had the memory before
  }
}

Uploads::~Uploads() {
  ContextHandle popped = nullptr;
  driver().CtxPushCurrent(context_.handle());
  // The memory goes back in the order of the first stream, which a part that nobody took does not know of.
  if (sent_ > taken_) {
    driver().EventRecord(buffer(taken_).has_arrived, context_.upload_stream());
    driver().StreamWaitEvent(context_.stream(), buffer(taken_).has_arrived, 0);
  }
  for (Buffer& b : buffers_) {
    driver().EventDestroy(b.is_free);
    driver().EventDestroy(b.has_arrived);
  }
  driver().CtxPopCurrent(&popped);
}

void Uploads::send(const std::byte* from, std::size_t bytes, bool is_pinned) {
  Buffer& b = buffer(sent_);
  const auto to = reinterpret_cast<DevicePointer>(b.data.get());
  const StreamHandle stream = context_.upload_stream();
  Current current(context_);
  SPINLOOM_CUDA(StreamWaitEvent, stream, b.is_free, 0);
  ++sent_;
  if (is_pinned && bytes > 0) SPINLOOM_CUDA(MemcpyHtoDAsync, to, from, bytes, stream);
  if (!is_pinned) context_.staging().to_device(to, from, bytes, stream);
  SPINLOOM_CUDA(EventRecord, b.has_arrived, stream);
}

std::byte* Uploads::take() {
  Current current(context_);
  // All work on the part before has been issued.
  SPINLOOM_CUDA(EventRecord, buffer(taken_ + 1).is_free, context_.stream());
  SPINLOOM_CUDA(StreamWaitEvent, context_.stream(), buffer(taken_).has_arrived, 0);
  return buffer(taken_++).data.get();
}

}  // namespace spinloom::cuda
