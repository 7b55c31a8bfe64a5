#pragma once
#include <memory>

#include "spinloom/core/log.hpp"
#include "spinloom/stencil/domain_grid.hpp"
#include "spinloom/stencil/schedule.hpp"

namespace spinloom::stencil {

/// A field of a stencil on a Domain, and for fields with prev(u) the one of the step before.
template <class T>
struct DomainFields {
  DomainGrid<T>* current = nullptr;
  DomainGrid<T>* previous = nullptr;
  DomainFields(DomainGrid<T>& grid) : current(&grid) {}
  DomainFields(DomainGrid<T>& grid, DomainGrid<T>& before) : current(&grid), previous(&before) {}
};

/// Whether a rank computes its inner points while messages are under way: naive and sweep schedules do, in the first step
/// after each exchange; the others wait either way.
enum class Exchanging { overlapped, blocking };

/// A Stepper on a grid that several ranks share: the same bits for any number of ranks, split, rim and schedule.
///
///   Domain box({512, 512, 512}, make_mpi_communicator(), rim_of(chain, 4));
///   DomainGrid<float> u(box, dirichlet(0));
///   DomainStepper<float> heat(chain, {u}, parse_schedule("sweep rows=64 planes=4 stream prefetch"));
///   heat.run(1000);
///
/// Works where its grids lie. On GPUs messages go from one to another by copies between them where ranks are threads of one
/// process, else by way of the host; run() returns when the work is issued, but for what several processes wait for.
///
/// Neighbours exchange once in as many steps as their rims allow, and compute the rims in between twice. All ranks make and
/// call it together with the same arguments, on grids of one Domain, that are changed between calls as they like.
///
/// Errors   ArgumentError as of Stepper, for a rim of less than one step, and for a stencil that sums where x is split; the
///          constructor's are agreed on: where one rank fails, all do
/// Threads  one call at a time
template <class T>
class DomainStepper {
 public:
  DomainStepper(const std::vector<Kernel<T>>& chain, const std::vector<DomainFields<T>>& fields,
                const Schedule& schedule = {}, Exchanging exchanging = Exchanging::overlapped);
  DomainStepper(DomainStepper&&) noexcept;
  DomainStepper& operator=(DomainStepper&&) noexcept;
  ~DomainStepper();

  void set(int index, double value);
  const Schedule& schedule() const;
  /// Steps from one exchange to the next; 0 when no stencil reads across a cut and none is needed.
  Index steps_per_exchange() const;
  double bytes_per_exchange() const;  ///< that this rank sends
  void run(Index steps, const Progress& progress = {});
  /// As of Stepper: the rows of the whole grid in their order, the same bits on every rank. All ranks call it.
  double reduced(int index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spinloom::stencil
