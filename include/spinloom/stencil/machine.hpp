#pragma once
#include <memory>
#include <string>
#include <vector>

#include "spinloom/runtime/hardware.hpp"
#include "spinloom/stencil/definition.hpp"
#include "spinloom/stencil/schedule.hpp"

namespace spinloom::stencil {

/// How fast bytes pass between two neighbouring levels of memory, all threads together [bytes/s]. A byte read and a
/// byte written count one each; what a store reads before it writes is counted as read.
struct Rates {
  double read = 0;    ///< loads alone
  double update = 0;  ///< in place, read and written in equal parts
  double stream = 0;  ///< copied past the caches: memory only, 0 elsewhere
  friend bool operator==(const Rates&, const Rates&) = default;
};

/// One cache per level, as the model wants them; where the system says nothing, 32 KiB, 1 MiB and 32 MiB for all.
std::vector<CacheFacts> usable_caches(const Hardware& hardware);

/// What the performance model knows of a machine. rates[t][k] are those between cache k and what lies behind it: the
/// next cache, or memory; with one thread (t = 0) and with `threads` (t = 1). Rates may be given by hand.
struct Machine {
  std::string cpu_name;
  std::vector<CacheFacts> caches;  ///< level 1 first, one per level
  int threads = 1;
  std::vector<Rates> rates[2];
};

/// Measures a machine's rates again and again; its arrays stay. A first measure() takes about 0.3 s, most of it to make
/// the arrays, a further one a few hundredths.
///
/// Errors   DeviceError when there is no memory for the arrays
/// Threads  one call at a time
class RateMeter {
 public:
  /// With the caches of this machine and the library's thread count; see usable_caches().
  RateMeter();
  ~RateMeter();
  RateMeter(RateMeter&&) noexcept;
  /// Everything, caches included.
  const Machine& measure();
  /// Memory alone: it is what drifts on a machine that others use too.
  const Machine& measure_memory();
  const Machine& machine() const;
  bool caches_known() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Seconds that the row kernels of a chain need per point and thread when all that they read is in the level 1 cache:
/// measured in a few milliseconds on rows of `columns` points, computed as the schedule does. One entry per kernel.
template <class T>
std::vector<double> measure_in_core(const std::vector<Kernel<T>>& chain, Index columns,
                                    const Schedule& schedule);

/// Seconds per update and thread of the chain when its grids stay in the last cache, all threads at work on grids of
/// their own with rows of the length, and blocks of the size, that the schedule gives them: what all caches cost
/// together, with what the processor overlaps. Takes some hundredths of a second, and half of the last cache.
template <class T>
double measure_in_cache(const std::vector<Kernel<T>>& chain, const GridLayout& layout,
                        const Schedule& schedule, const Machine& machine);

}  // namespace spinloom::stencil
