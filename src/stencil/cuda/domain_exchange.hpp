#pragma once
#include <memory>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/streams.hpp"
#include "stencil/domain/exchange.hpp"

namespace spinloom::cuda {

/// What pack and unpack of domain_pack.cu are told.
struct PackWork {
  static constexpr int most_boxes = 26, most_grids = 2 * stencil::max_fields;
  struct Box {
    Index end = 0, at = 0, planes = 0, rows = 0, columns = 0;
  } boxes[most_boxes];
  void* origins[most_grids] = {};
  Index row = 0, plane = 0;
  int count = 0;
  Index elements() const { return count == 0 ? 0 : boxes[count - 1].end; }
};

/// Brings the rim of a part on a GPU up to date, as Exchange does on the host. One kernel packs all faces, one unpacks them.
///
/// Ranks of one process: a GPU fetches its neighbours' messages by copies between GPUs. Streams wait for events, and hosts only
/// for each other's having issued work: a message of no bytes says so. Two messages may be under way.
/// Ranks of several processes: messages go through locked memory of the host, who waits for the GPU to have packed.
template <class T>
class DeviceExchange {
 public:
  /// Its work goes to `stream`, which outlives it.
  DeviceExchange(Context& context, const Stream& stream, const stencil::Domain& domain,
                 const stencil::GridLayout& stored, std::size_t arrays, int first_tag);
  ~DeviceExchange();
  DeviceExchange(const DeviceExchange&) = delete;
  DeviceExchange& operator=(const DeviceExchange&) = delete;

  /// Tells the neighbours where messages lie; before all else, by all ranks together.
  void connect();
  void start(const std::vector<T*>& origins);
  void finish(const std::vector<T*>& origins);

  bool is_empty() const { return ways_.empty(); }
  double bytes() const { return static_cast<double>(out_.elements()) * sizeof(T); }

 private:
  /// What a neighbour sees of a rank: where its messages lie, and when they are there.
  struct Outbox {
    Context& context;
    std::shared_ptr<std::byte> data[2];
    Point packed[2];
    explicit Outbox(Context& c) : context(c), packed{Point(c), Point(c)} {}
  };
  /// And when it has fetched its own.
  struct Inbox {
    Point fetched[2];
    explicit Inbox(Context& c) : fetched{Point(c), Point(c)} {}
  };
  struct Way : stencil::Passage {
    Index out = 0, out_at = 0, in = 0,
          in_at = 0;  ///< elements of the messages, and where they lie among all of them
    Message sending, receiving;
    std::shared_ptr<Outbox> from;  ///< the neighbour's
    Index from_at = 0;
    std::shared_ptr<Inbox> to;
  };
  struct Address {
    const std::shared_ptr<Outbox>* outbox = nullptr;
    const std::shared_ptr<Inbox>* inbox = nullptr;
    Index at = 0;
  };
  void add(PackWork& work, const stencil::Box& box) const;
  void launch_on(const char* kernel, PackWork& work, const std::vector<T*>& origins,
                 std::byte* message) const;
  Message message(bool sends, const Way& way) const;

  Context& context_;
  const Stream& stream_;
  Communicator communicator_;
  stencil::GridLayout layout_;
  std::size_t arrays_;
  int first_tag_;
  bool is_one_process_;
  std::vector<Way> ways_;
  PackWork out_, in_;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<std::byte> arrived_, host_out_, host_in_;
  int turn_ = 0;
};

std::vector<KernelInstance> pack_kernel_instances();

}  // namespace spinloom::cuda
