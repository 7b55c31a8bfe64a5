#include "runtime/cuda/streams.hpp"

namespace spinloom::cuda {

Point::Point(const Context& context) : context_(context) {
  Current current(context_);
  SPINLOOM_CUDA(EventCreate, &handle_, event_disable_timing);
}
Point::~Point() { driver().EventDestroy(handle_); }
void Point::record(StreamHandle stream) {
  Current current(context_);
  SPINLOOM_CUDA(EventRecord, handle_, stream);
}
void Point::hold(StreamHandle stream) const {
  Current current(context_);
  SPINLOOM_CUDA(StreamWaitEvent, stream, handle_, 0);
}
void Point::wait() const {
  Current current(context_);
  SPINLOOM_CUDA(EventSynchronize, handle_);
}

Stream::Stream(const Context& context, Kind kind) : context_(context) {
  Current current(context_);
  int least = 0, greatest = 0;
  SPINLOOM_CUDA(CtxGetStreamPriorityRange, &least, &greatest);
  SPINLOOM_CUDA(StreamCreateWithPriority, &handle_, stream_non_blocking,
                kind == Kind::urgent ? greatest : least);
}
Stream::~Stream() {
  ContextHandle popped = nullptr;
  driver().CtxPushCurrent(context_.handle());
  driver().StreamSynchronize(handle_);
  driver().StreamDestroy(handle_);
  driver().CtxPopCurrent(&popped);
}

namespace {
thread_local const InStream* innermost = nullptr;
}

InStream::InStream(const Context& context, const Stream& stream)
    : context_(context), stream_(stream.handle()), outer_(innermost) {
  innermost = this;
}
InStream::~InStream() { innermost = outer_; }

StreamHandle chosen_stream(const Context& context) {
  for (const InStream* scope = innermost; scope != nullptr; scope = scope->outer_)
    if (&scope->context_ == &context) return scope->stream_;
  return nullptr;
}

void link_peers(const Context& reader, const Context& owner) {
  if (&reader == &owner) return;
  DeviceId here = 0, there = 0;
  SPINLOOM_CUDA(DeviceGet, &here, reader.index());
  SPINLOOM_CUDA(DeviceGet, &there, owner.index());
  int can = 0;
  SPINLOOM_CUDA(DeviceCanAccessPeer, &can, here, there);
  if (can == 0) return;
  Current current(reader);
  const Result result = driver().CtxEnablePeerAccess(owner.handle(), 0);
  if (result != peer_access_already_enabled && result != too_many_peers)
    check(result, "cuCtxEnablePeerAccess");
}

}  // namespace spinloom::cuda
