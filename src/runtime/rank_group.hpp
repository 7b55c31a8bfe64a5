#pragma once
#include <atomic>

#include "runtime/mailbox.hpp"
#include "runtime/meeting.hpp"
#include "spinloom/runtime/communicator.hpp"

namespace spinloom {

/// What a group's communicators share: the ranks' devices, and the way in which they add.
class RankGroup {
 public:
  explicit RankGroup(std::vector<Device> devices)
      : devices_(std::move(devices)), meeting_(size()), mailbox_(size()), counts_(devices_.size()) {}
  virtual ~RankGroup() = default;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  int size() const { return static_cast<int>(devices_.size()); }
  Device device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  Meeting& meeting() { return meeting_; }
  Mailbox& mailbox() { return mailbox_; }
  virtual std::string name() const = 0;
  virtual bool is_one_process() const { return true; }

  /// `count` real numbers at `data` on the rank's device, of double precision or single.
  virtual void sum(int rank, void* data, Index count, bool is_double) = 0;
  /// One end of a message of host memory, of ranks that are threads of this process.
  virtual std::unique_ptr<Message::End> message(int rank, bool sends, void* data, std::size_t bytes, int peer,
                                                int tag) {
    return mailbox_.end_of(rank, sends, data, bytes, peer, tag);
  }
  /// All ranks have failed alike: where they are about to end, none has to end the others.
  void agree_to_fail() { has_agreed_to_fail_ = true; }
  bool has_agreed_to_fail() const { return has_agreed_to_fail_; }
  /// A device has failed: ends what waits for it on the others, which may never end by itself. Does not wait.
  virtual void give_up() {}
  virtual bool has_given_up() const { return false; }
  std::mutex& run_guard() { return run_guard_; }  ///< held while the ranks run: one run at a time

 protected:
  void announce(int rank, Index count) { counts_[static_cast<std::size_t>(rank)] = count; }
  void require_equal_counts() const;  ///< in the meeting

 private:
  std::vector<Device> devices_;
  Meeting meeting_;
  Mailbox mailbox_;
  std::mutex run_guard_;
  std::vector<Index> counts_;
  std::atomic<bool> has_agreed_to_fail_{false};
};

/// Ranks that add by way of the host's memory.
std::shared_ptr<RankGroup> make_rehearsal(std::vector<Device> devices);

namespace cuda {
/// Ranks on different GPUs that add through NCCL. One rank is allowed too.
std::shared_ptr<RankGroup> make_nccl_group(std::vector<Device> devices);
/// The same, made at first use and kept until the process ends, as connecting the GPUs takes long.
std::shared_ptr<RankGroup> nccl_group(const std::vector<Device>& devices);
}  // namespace cuda

std::vector<Communicator> communicators_of(const std::shared_ptr<RankGroup>& group);

}  // namespace spinloom
