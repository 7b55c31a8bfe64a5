#include "spinloom/runtime/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <thread>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/nccl.hpp"
#include "runtime/rank_group.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom {

int Communicator::size() const { return group_ ? group_->size() : 1; }
Device Communicator::device() const { return group_ ? group_->device(rank_) : Device{}; }
bool Communicator::is_one_process() const { return !group_ || group_->is_one_process(); }
std::string Communicator::name() const { return group_ ? group_->name() : "alone"; }

template <class T>
void Communicator::all_reduce_sum(View<T> x) const {
  if (!group_) return;
  if (!share_memory(x.device, device()))
    throw ArgumentError(fmt::format("sum over ranks: the array of rank {} is on {}, expected on {}", rank_,
                                    to_string(x.device), to_string(device())));
  using Real = typename T::value_type;
  group_->sum(rank_, x.data, 2 * x.size(), sizeof(Real) == sizeof(double));
}
template void Communicator::all_reduce_sum(View<cfloat>) const;
template void Communicator::all_reduce_sum(View<cdouble>) const;

void RankGroup::require_equal_counts() const {
  for (std::size_t r = 1; r < counts_.size(); ++r)
    if (counts_[r] != counts_[0])
      throw ShapeError(fmt::format(
          "sum over ranks: rank {} has {} numbers and rank 0 has {}, expected as many on every rank", r,
          counts_[r], counts_[0]));
}

std::vector<Communicator> communicators_of(const std::shared_ptr<RankGroup>& group) {
  std::vector<Communicator> ranks;
  for (int r = 0; r < group->size(); ++r) ranks.emplace_back(group, r);
  return ranks;
}

namespace {

bool is_rehearsal(const std::vector<Device>& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](Device d) { return share_memory(d, devices.front()); });
}

}  // namespace

void require_communicators(const std::vector<Device>& devices) {
  if (devices.empty()) throw ArgumentError("ranks: no device is named, expected at least one");
  const bool is_one = is_rehearsal(devices);
  for (const Device d : devices) {
    if (d.kind == DeviceKind::cuda) cuda::context(d.index);
    if (!is_one && (d.kind != DeviceKind::cuda || std::count(devices.begin(), devices.end(), d) > 1))
      throw ArgumentError(fmt::format(
          "ranks: {} is named beside other devices, expected different GPUs (cuda:0,1), or one device "
          "several times",
          to_string(d)));
  }
  if (!is_one) cuda::nccl();
}

std::vector<Communicator> make_communicators(const std::vector<Device>& devices) {
  require_communicators(devices);
  return communicators_of(is_rehearsal(devices) ? make_rehearsal(devices) : cuda::nccl_group(devices));
}

namespace {

bool is_echo(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const RankEnded&) {
    return true;
  } catch (...) {
    return false;
  }
}

bool is_of_a_device(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const DeviceError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void run_ranks(const std::vector<Communicator>& ranks, const std::function<void(const Communicator&)>& body) {
  if (ranks.empty()) return;
  if (ranks.size() == 1 && !ranks.front().group_) return body(ranks.front());
  RankGroup& group = *ranks.front().group_;
  std::vector<std::exception_ptr> failures(ranks.size());
  const std::lock_guard one_run(group.run_guard());
  group.meeting().open();
  group.mailbox().open();
  const auto run = [&](std::size_t r) {
    try {
      body(ranks[r]);
    } catch (...) {
      failures[r] = std::current_exception();
    }
    group.meeting().end();
    group.mailbox().close(ranks[r].rank());
    if (failures[r] && is_of_a_device(failures[r])) group.give_up();
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t r = 1; r < ranks.size(); ++r) others.emplace_back(run, r);
    run(0);
  } catch (...) {  // no thread to be had
    failures[0] = std::current_exception();
    group.meeting().end();
    for (const Communicator& c : ranks) group.mailbox().close(c.rank());
  }
  for (std::thread& t : others) t.join();
  for (const auto& failure : failures)
    if (failure && !is_echo(failure)) std::rethrow_exception(failure);
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace spinloom
