#include <fmt/format.h>

#include <atomic>
#include <map>
#include <thread>

#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/nccl.hpp"
#include "runtime/rank_group.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

class NcclGroup final : public RankGroup {
 public:
  explicit NcclGroup(std::vector<Device> devices) : RankGroup(std::move(devices)) {
    const Nccl& n = nccl();
    std::vector<int> indices;
    for (int r = 0; r < size(); ++r) {
      contexts_.push_back(&context(device(r).index));
      indices.push_back(device(r).index);
    }
    comms_.resize(contexts_.size());
    const Current current(*contexts_[0]);
    check_nccl(n.CommInitAll(comms_.data(), size(), indices.data()),
               fmt::format("NCCL between {} GPUs", size()));
  }
  ~NcclGroup() override {
    try {
      if (!has_given_up_)
        for (Context* c : contexts_) c->synchronize();
    } catch (...) {  // a GPU that has failed
      give_up();
    }
    for (std::thread& t : aborting_) t.join();
    if (!has_given_up_)
      for (NcclComm comm : comms_) nccl().CommDestroy(comm);
  }

  std::string name() const override { return "NCCL " + nccl_version(); }

  void sum(int rank, void* data, Index count, bool is_double) override {
    if (has_given_up_) throw DeviceError("sum over ranks: given up after the failure of a device");
    const Context& c = *contexts_[static_cast<std::size_t>(rank)];
    announce(rank, count);
    if (recording(c) != nullptr) return record(rank, c, data, count, is_double);
    const StreamHandle stream = c.own_stream();
    const auto act = [&] { check_nccl(issue(rank, data, count, is_double, stream), "ncclAllReduce"); };
    meeting().together(rank, act, [&](const Meeting::Act& all) {
      require_equal_counts();
      all_or_none([&] {
        check_nccl(nccl().GroupStart(), "ncclGroupStart");
        try {
          all();
        } catch (...) {
          nccl().GroupEnd();
          throw;
        }
        check_nccl(nccl().GroupEnd(), "ncclAllReduce");
      });
    });
  }

  bool has_given_up() const override { return has_given_up_; }
  void give_up() override {
    if (has_given_up_.exchange(true)) return;
    // Each by a thread of its own: a call returns when the graphs of its rank are gone, and that rank may have to be freed
    // from its wait first.
    for (NcclComm comm : comms_) aborting_.emplace_back([comm] { nccl().CommAbort(comm); });
  }

 private:
  /// Work that waits for its like on another GPU, where that was not issued, has to be ended.
  void all_or_none(const Meeting::Act& issue_all) {
    try {
      issue_all();
    } catch (...) {
      give_up();
      throw;
    }
  }
  int issue(int rank, void* data, Index count, bool is_double, StreamHandle stream) const {
    return nccl().AllReduce(data, data, static_cast<std::size_t>(count), is_double ? nccl_double : nccl_float,
                            nccl_sum, comms_[static_cast<std::size_t>(rank)], stream);
  }
  /// Each rank records by itself, and the graphs of all are then started together.
  void record(int rank, const Context& c, void* data, Index count, bool is_double) {
    if (const int status = issue(rank, data, count, is_double, c.stream()); status != 0)
      throw CannotRecord(fmt::format("a sum over ranks ({})", nccl().GetErrorString(status)));
    start_together(c, [this, rank](const Meeting::Act& start) {
      meeting().together(rank, start, [this](const Meeting::Act& all) { all_or_none(all); });
    });
  }

  std::vector<Context*> contexts_;
  std::vector<NcclComm> comms_;
  std::atomic<bool> has_given_up_{false};
  std::vector<std::thread> aborting_;
};

}  // namespace

std::shared_ptr<RankGroup> make_nccl_group(std::vector<Device> devices) {
  return std::make_shared<NcclGroup>(std::move(devices));
}

std::shared_ptr<RankGroup> nccl_group(const std::vector<Device>& devices) {
  static std::mutex guard;
  static auto& groups = *new std::map<std::vector<int>, std::shared_ptr<RankGroup>>;  // as GPUs' contexts are
  std::vector<int> indices;
  for (const Device d : devices) indices.push_back(d.index);
  std::lock_guard lock(guard);
  auto& group = groups[indices];
  if (!group || group->has_given_up()) group = make_nccl_group(devices);
  return group;
}

}  // namespace spinloom::cuda
