#pragma once
#include <string>
#include <vector>

#include "spinloom/stencil/machine.hpp"

/// What a schedule should cost, from the stencil's expression and a few measured rates of the machine. An *update* is
/// one point by one stencil of the chain; both colours of a red-black sweep together are one.
namespace spinloom::stencil {

/// Bytes of one update that pass between a cache and what lies behind it.
struct Traffic {
  double read = 0;    ///< loaded; what a plain store loads before it writes is among them
  double write = 0;   ///< written back
  double stream = 0;  ///< written past the caches; counted at memory alone
  double total() const { return read + write + stream; }
};

/// What a cache still holds when it is wanted again, each including those before it.
///
///   none    nothing but the row at hand: each row is loaded again for every row that reads it
///   rows    the rows above and below in the planes of one block: a row is loaded once per block of planes
///   layers  the planes above and below, of one block of rows: a value is loaded once per step
///   steps   the whole of a temporal block: a value is loaded once for several steps
///   grids   all there is
enum class Reuse { none, rows, layers, steps, grids };
std::string to_string(Reuse reuse);

/// The layer condition at one cache. A condition holds where what is needed is at most half of the thread's share: the
/// other half is for what passes through.
struct LayerCondition {
  int level = 1;
  double share = 0;         ///< bytes of the cache that one thread may count on
  double bytes_rows = 0;    ///< needed for Reuse::rows
  double bytes_layers = 0;  ///< needed for Reuse::layers with this schedule's blocks
  double bytes_steps = 0;   ///< needed for Reuse::steps; 0 where the schedule takes one step at a time
  Index most_rows = 0;      ///< blocks of up to so many rows satisfy Reuse::layers; 0: none does
  Reuse holds = Reuse::none;
};

/// All that the prediction starts from.
struct ModelInput {
  std::vector<Definition> chain;
  GridLayout layout;
  Index element_bytes = 8;
  Schedule schedule;  ///< with what the row kernels were compiled for; see effective()
  Index steps = 0;    ///< of a run: a temporal block is no deeper; 0: many
  Machine machine;
  std::vector<double> in_core;  ///< [s] per point and thread, one per kernel; see measure_in_core()
  double in_cache = 0;  ///< [s] per update and thread; see measure_in_cache(). 0: put together from rates
};

struct Prediction {
  std::vector<LayerCondition> caches;  ///< one per cache, level 1 first
  std::vector<Traffic> traffic;        ///< one per cache: between it and what lies behind; the last is memory
  double bytes_per_update = 0;         ///< memory's, in all
  double redundancy = 1;               ///< points computed per update: above 1 for overlapped blocks
  double in_core = 0;                  ///< [s] per update and thread: the row kernel from the level 1 cache
  double in_cache = 0;  ///< [s] per update and thread: memory apart, all that the caches cost included
  std::vector<double>
      transfer;               ///< [s] per update and thread for each entry of `traffic`, all threads at work
  double overlap = 1;         ///< p below
  double roofline_glups = 0;  ///< with all threads: what memory or the row kernel alone would allow
  double glups = 0;           ///< with all threads (ECM)
  std::vector<double> glups_at;  ///< with 1, 2, .. threads
  int saturation_threads = 0;  ///< from so many on, more bring less than a tenth of one; 0: not within reach
  std::string limit;           ///< the largest term: "row kernel", "L2", "L3", "memory"
};

/// Layer conditions and traffic alone: needs no rates, and no in_core.
///
/// Errors   ArgumentError for an empty chain or a machine without caches
Prediction predict_traffic(const ModelInput& input);

/// The same with times: that of the caches and that of memory overlap more, the longer the rows are,
///
///   seconds(n) = (in_cache^p + memory(n)^p)^(1/p),   memory(n) = n * bytes / bandwidth with n threads
///
/// with p = 1, the ECM model's sum, for rows up to 4 KiB, and p = 4, near the roofline, from 64 KiB on. See
/// docs/stencil-model.md.
///
/// Errors   ArgumentError as above, and where rates or in_core do not fit
Prediction predict(const ModelInput& input);

/// A prediction beside what was measured.
struct Report {
  Prediction predicted;
  double bandwidth =
      0;             ///< [bytes/s] that memory gives to this mixture of reads and writes, with all threads
  double glups = 0;  ///< measured
  double implied_bytes_per_update =
      0;  ///< bandwidth / measured speed: above the model's where memory is not the limit
  double share_of_bandwidth = 0;  ///< the model's bytes at the measured speed, of the bandwidth
  double predicted_over_measured = 0;
};
/// Errors   ArgumentError for a speed that is not above 0
Report report(const Prediction& predicted, int threads, double measured_glups);

/// The schedule as these kernels carry it out: planes at once, prefetching and streaming that they were not compiled
/// for are taken away.
template <class T>
Schedule effective(const std::vector<Kernel<T>>& chain, Schedule schedule);

}  // namespace spinloom::stencil
