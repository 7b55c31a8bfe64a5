#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spinloom/core/view.hpp"

namespace spinloom {

class RankGroup;

/// One rank's end of a group of ranks that work in step, each on a device and a thread of its own: all have the same
/// image, and each a share of the coils. A value, cheap to copy.
class Communicator {
 public:
  Communicator() = default;  ///< of a rank alone, whose sums are what they are
  Communicator(std::shared_ptr<RankGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const;
  Device device() const;
  std::string name() const;  ///< how the ranks add: "NCCL 2.28.3", "rehearsal", "alone"

  /// x = x of rank 0 + x of rank 1 + ..., the same bits on every rank. T is cfloat or cdouble.
  ///
  /// Every rank must call it equally often with arrays of one size on its device. On a GPU the sum is issued in the stream's
  /// order, and may be recorded in a graph where the ranks add through NCCL.
  /// Order    by rank in a rehearsal, so with bits that depend on nothing else; NCCL's own between GPUs, which is fixed by
  ///          the array's size, the GPUs and how they are linked, so the bits are the same from run to run
  /// Errors   ShapeError on every rank when the sizes differ; ArgumentError when x lies elsewhere; DeviceError; an Error when
  ///          another rank has ended, see run_ranks()
  template <class T>
  void all_reduce_sum(View<T> x) const;

 private:
  friend void run_ranks(const std::vector<Communicator>& ranks,
                        const std::function<void(const Communicator&)>& body);
  std::shared_ptr<RankGroup> group_;
  int rank_ = 0;
};

/// A rank on each of these devices, in their order. Different GPUs add through NCCL. The host named several times, or one
/// GPU several times, is a rehearsal: the ranks share the device, and add by way of the host's memory, in the ranks' order.
/// Errors   BackendUnavailable without NCCL or without such a GPU; ArgumentError for a mix of devices
std::vector<Communicator> make_communicators(const std::vector<Device>& devices);
/// Throws what make_communicators() would, without the second that NCCL takes to connect the GPUs.
void require_communicators(const std::vector<Device>& devices);

/// Calls body(rank's communicator) once for every rank of a group, each on its own thread, rank 0 on the caller's; returns
/// when all have ended. A rank that throws ends the others at their next sum, and its exception is thrown here (that of the
/// lowest such rank). The group may be used again afterwards, but for a DeviceError, after which it is of no more use.
void run_ranks(const std::vector<Communicator>& ranks, const std::function<void(const Communicator&)>& body);

}  // namespace spinloom
