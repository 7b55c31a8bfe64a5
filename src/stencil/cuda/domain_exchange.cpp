#include "stencil/cuda/domain_exchange.hpp"

#include <fmt/format.h>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "runtime/cuda/pinned.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

extern const KernelSource domain_pack_source;

namespace {

constexpr Index threads = 256;  // as in domain_pack.cu
/// Tags of the addresses that travel once, against the messages and along with them.
constexpr int addresses_along = 512, addresses_against = 1024;

template <std::size_t bytes>
const KernelInstance& instance() {
  static const KernelInstance one{&domain_pack_source,
                                  {bytes == 4   ? "STORAGE=unsigned"
                                   : bytes == 8 ? "STORAGE=uint2"
                                                : "STORAGE=uint4"}};
  return one;
}

DevicePointer address(const std::byte* data) { return reinterpret_cast<DevicePointer>(data); }

}  // namespace

std::vector<KernelInstance> pack_kernel_instances() { return {instance<4>(), instance<8>(), instance<16>()}; }

template <class T>
DeviceExchange<T>::DeviceExchange(Context& context, const Stream& stream, const stencil::Domain& domain,
                                  const stencil::GridLayout& stored, std::size_t arrays, int first_tag)
    : context_(context),
      stream_(stream),
      communicator_(domain.communicator()),
      layout_(stored),
      arrays_(arrays),
      first_tag_(first_tag),
      is_one_process_(communicator_.is_one_process()) {
  out_.row = in_.row = stored.row_stride;
  out_.plane = in_.plane = stored.plane_stride;
  if (arrays == 0) return;
  for (const stencil::Passage& p : passages(domain, stored)) {
    Way way;
    static_cast<stencil::Passage&>(way) = p;
    way.out_at = out_.elements();
    way.in_at = in_.elements();
    add(out_, p.send);
    add(in_, p.receive);
    way.out = out_.elements() - way.out_at;
    way.in = in_.elements() - way.in_at;
    ways_.push_back(std::move(way));
  }
  if (std::max(out_.elements(), in_.elements()) > threads * Index{0x7fffffff})
    throw ArgumentError(
        "domain stepper: the rims of a part are more than a GPU packs at once; use more ranks");
  outbox_ = std::make_shared<Outbox>(context);
  inbox_ = std::make_shared<Inbox>(context);
  const auto bytes = [](const PackWork& w) { return static_cast<std::size_t>(w.elements()) * sizeof(T); };
  for (int turn = 0; turn < (is_one_process_ ? 2 : 1); ++turn)
    outbox_->data[turn] = context.memory().allocate(bytes(out_));
  arrived_ = context.memory().allocate(bytes(in_));
  if (!is_one_process_) {
    host_out_ = allocate_pinned(context, bytes(out_));
    host_in_ = allocate_pinned(context, bytes(in_));
  }
  for (const char* kernel : {"pack", "unpack"}) context.modules().function(instance<sizeof(T)>(), kernel);
}

/// What others still fetch from here lives as long as they hold it.
template <class T>
DeviceExchange<T>::~DeviceExchange() {
  ContextHandle popped = nullptr;
  driver().CtxPushCurrent(context_.handle());
  driver().StreamSynchronize(stream_.handle());
  driver().CtxPopCurrent(&popped);
}

template <class T>
void DeviceExchange<T>::add(PackWork& work, const stencil::Box& box) const {
  const Index count = points(box) * static_cast<Index>(arrays_);
  if (count == 0) return;
  PackWork::Box& b = work.boxes[work.count];
  b.end = work.elements() + count;
  b.at = box.begin[0] * layout_.plane_stride + box.begin[1] * layout_.row_stride + box.begin[2];
  b.planes = box.end[0] - box.begin[0];
  b.rows = box.end[1] - box.begin[1];
  b.columns = box.end[2] - box.begin[2];
  ++work.count;
}

template <class T>
Message DeviceExchange<T>::message(bool sends, const Way& w) const {
  const auto bytes = [&](Index elements) {
    return is_one_process_ ? 0 : static_cast<std::size_t>(elements) * sizeof(T);
  };
  const auto data = [&](const std::shared_ptr<std::byte>& all, Index at) {
    return is_one_process_ ? nullptr : all.get() + static_cast<std::size_t>(at) * sizeof(T);
  };
  if (sends)
    return communicator_.sending(data(host_out_, w.out_at), bytes(w.out), w.peer, first_tag_ + w.out_tag);
  return communicator_.receiving(data(host_in_, w.in_at), bytes(w.in), w.peer, first_tag_ + w.in_tag);
}

template <class T>
void DeviceExchange<T>::connect() {
  for (Way& w : ways_) {
    if (w.out > 0) w.sending = message(true, w);
    if (w.in > 0) w.receiving = message(false, w);
  }
  if (!is_one_process_) return;
  // A sender tells where its messages lie, the receiver when it has fetched them. Addresses are of use until all have
  // copied what is there.
  std::vector<Address> theirs(2 * ways_.size()), mine(2 * ways_.size());
  std::vector<Message> messages;
  const auto exchange = [&](bool sends, Address& a, int peer, int tag) {
    messages.push_back(sends ? communicator_.sending(&a, sizeof a, peer, first_tag_ + tag)
                             : communicator_.receiving(&a, sizeof a, peer, first_tag_ + tag));
    messages.back().start();
  };
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const Way& w = ways_[i];
    mine[2 * i] = {&outbox_, nullptr, w.out_at};
    mine[2 * i + 1] = {nullptr, &inbox_, 0};
    if (w.out > 0) {
      exchange(true, mine[2 * i], w.peer, addresses_along + w.out_tag);
      exchange(false, theirs[2 * i + 1], w.peer, addresses_against + w.out_tag);
    }
    if (w.in > 0) {
      exchange(false, theirs[2 * i], w.peer, addresses_along + w.in_tag);
      exchange(true, mine[2 * i + 1], w.peer, addresses_against + w.in_tag);
    }
  }
  for (Message& m : messages) m.wait();
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    Way& w = ways_[i];
    if (w.in > 0) {
      w.from = *theirs[2 * i].outbox;
      w.from_at = theirs[2 * i].at;
      link_peers(context_, w.from->context);
    }
    if (w.out > 0) w.to = *theirs[2 * i + 1].inbox;
  }
  communicator_.barrier();
}

template <class T>
void DeviceExchange<T>::launch_on(const char* kernel, PackWork& work, const std::vector<T*>& origins,
                                  std::byte* message) const {
  if (work.count == 0) return;
  for (std::size_t g = 0; g < origins.size(); ++g) work.origins[g] = origins[g];
  const InStream scope(context_, stream_);
  launch(context_, instance<sizeof(T)>(), kernel,
         {static_cast<unsigned>((work.elements() + threads - 1) / threads)}, {static_cast<unsigned>(threads)},
         0, work, message);
}

template <class T>
void DeviceExchange<T>::start(const std::vector<T*>& origins) {
  if (is_empty()) return;
  if (!is_one_process_) inbox_->fetched[0].wait();  // what was received before has left the host's memory
  for (Way& w : ways_)
    if (w.in > 0) w.receiving.start();
  // The neighbours have fetched what lay in this place. They have issued that before they were ready for the last message.
  for (const Way& w : ways_)
    if (w.to) w.to->fetched[turn_].hold(stream_.handle());
  std::byte* const message = outbox_->data[turn_].get();
  launch_on("pack", out_, origins, message);
  if (!is_one_process_ && out_.count > 0) {
    const Current current(context_);
    SPINLOOM_CUDA(MemcpyDtoHAsync, host_out_.get(), address(message),
                  static_cast<std::size_t>(out_.elements()) * sizeof(T), stream_.handle());
  }
  outbox_->packed[turn_].record(stream_.handle());
  if (!is_one_process_) return;
  for (Way& w : ways_)
    if (w.out > 0) w.sending.start();
}

template <class T>
void DeviceExchange<T>::finish(const std::vector<T*>& origins) {
  if (is_empty()) return;
  if (!is_one_process_) {
    outbox_->packed[turn_].wait();
    for (Way& w : ways_)
      if (w.out > 0) w.sending.start();
  }
  for (Way& w : ways_) {
    if (w.in == 0) continue;
    w.receiving.wait();
    if (!is_one_process_) continue;
    w.from->packed[turn_].hold(stream_.handle());
    const Current current(context_);
    SPINLOOM_CUDA(MemcpyPeerAsync, address(arrived_.get()) + static_cast<std::size_t>(w.in_at) * sizeof(T),
                  context_.handle(),
                  address(w.from->data[turn_].get()) + static_cast<std::size_t>(w.from_at) * sizeof(T),
                  w.from->context.handle(), static_cast<std::size_t>(w.in) * sizeof(T), stream_.handle());
  }
  if (!is_one_process_ && in_.count > 0) {
    const Current current(context_);
    SPINLOOM_CUDA(MemcpyHtoDAsync, address(arrived_.get()), host_in_.get(),
                  static_cast<std::size_t>(in_.elements()) * sizeof(T), stream_.handle());
  }
  inbox_->fetched[turn_].record(stream_.handle());
  launch_on("unpack", in_, origins, arrived_.get());
  for (Way& w : ways_)
    if (w.out > 0) w.sending.wait();
  if (is_one_process_) turn_ ^= 1;
}

template class DeviceExchange<float>;
template class DeviceExchange<double>;
template class DeviceExchange<cfloat>;
template class DeviceExchange<cdouble>;

}  // namespace spinloom::cuda
