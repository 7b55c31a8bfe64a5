#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spinloom/core/view.hpp"
#include "spinloom/runtime/message.hpp"

namespace spinloom {

class RankGroup;

/// One rank's end of a group of ranks that work in step: each on a device and a thread of its own, or each a process that
/// mpirun started. They share the coils of an image, or the parts of a grid. A value, cheap to copy.
class Communicator {
 public:
  Communicator() = default;  ///< of a rank alone, whose sums are what they are
  Communicator(std::shared_ptr<RankGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const;
  Device device() const;
  /// Whether the ranks are threads of this process, and so reach one another's memory.
  bool is_one_process() const;
  std::string name() const;  ///< how the ranks add: "NCCL 2.28.3", "Open MPI v4.1.4", "rehearsal", "alone"

  /// x = x of rank 0 + x of rank 1 + ..., the same bits on every rank. T is cfloat or cdouble.
  ///
  /// Every rank must call it equally often with arrays of one size on its device. On a GPU the sum is issued in the stream's
  /// order, and may be recorded in a graph where the ranks add through NCCL.
  /// Order    by rank in a rehearsal and through MPI, so with bits that depend on nothing else; NCCL's own between GPUs, which is fixed by
  ///          the array's size, the GPUs and how they are linked, so the bits are the same from run to run
  /// Errors   ShapeError on every rank when the sizes differ; ArgumentError when x lies elsewhere; DeviceError; an Error when
  ///          another rank has ended, see run_ranks()
  template <class T>
  void all_reduce_sum(View<T> x) const;

  /// The two ends of a message of host memory; `tag` in [0, 16384) keeps messages of one pair of ranks apart.
  Message sending(const void* data, std::size_t bytes, int to, int tag) const;
  Message receiving(void* data, std::size_t bytes, int from, int tag) const;

  // What all ranks of a group call together, on host memory. A rank that fails before leaves the others with an Error where
  // ranks are threads; between processes it must end the program, see make_mpi_communicator().
  void barrier() const;
  void broadcast(void* data, std::size_t bytes, int root = 0) const;
  /// Every rank's numbers, which may differ in count, one rank after the other; on rank 0 alone, the others get nothing.
  std::vector<double> gather(const std::vector<double>& mine) const;
  /// Calls `work` on every rank; `work` may not talk to other ranks. Where it throws on some, all throw: a rank that failed
  /// its own exception, the others an Error with the words of the lowest that did.
  void agree(const std::function<void()>& work) const;
  bool has_agreed_to_fail() const;  ///< agree() has thrown on all ranks since the group was made

 private:
  void send_now(const void* data, std::size_t bytes, int to) const;
  void receive_now(void* data, std::size_t bytes, int from) const;
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

/// All processes that mpirun started, on the host, as ranks; the first call starts MPI. What failed on one rank alone must
/// end the program with a status other than 0, which ends the other ranks too.
///
/// MPI is met through a small module, libspinloom_mpi.so, that is built where an MPI is found and opened here: beside the
/// program, one folder up, where it was installed, or where SPINLOOM_MPI points to (a module for another MPI, say).
/// Errors   BackendUnavailable without the module, or when mpirun and the module are of different MPIs
/// Threads  one thread of a process talks at a time
Communicator make_mpi_communicator();
/// How many processes an mpirun that started this one says there are; 1 without one. Does not start MPI.
int launched_ranks();

}  // namespace spinloom
