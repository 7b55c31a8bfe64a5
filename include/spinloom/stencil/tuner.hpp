#pragma once
#include <functional>
#include <string>
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/stencil/model.hpp"

/// The fastest schedule for a stencil on this machine: guessed by the model, then tried, then remembered. No schedule
/// changes a bit of a result, so that a bad choice costs time and nothing else.
namespace spinloom::stencil {

/// Grids that a chain runs on, without their data.
struct GridProblem {
  Shape shape;
  Halo halo;
  std::vector<Boundaries> fields;  ///< one per field of the chain
  Device device;                   ///< where the grids lie
};

struct TuneOptions {
  Index steps = 0;     ///< of a run to come: few of them leave nothing to gain by temporal blocks; 0: many
  double seconds = 5;  ///< for all of the tuning, when nothing is remembered
  bool ignore_cache = false;  ///< try again, and remember the new answer
  std::string folder;         ///< of the cache; empty: the library's own, see docs/stencil-model.md
  Log log;                    ///< a damaged line in the cache, no memory for trials
  Progress progress;
};

/// One candidate and how it fared.
struct Trial {
  Schedule schedule;
  double predicted_glups = 0;  ///< on a GPU of what was not tried: by rates alone
  double glups = 0;            ///< median of its trials; 0: there was no time for one
  int rounds = 0;              ///< trials
  bool is_finalist = false;    ///< tried again beside the first guess
};
struct Tuned {
  Schedule schedule;     ///< the answer
  Schedule first_guess;  ///< the model's, without any trial; as `schedule` when remembered
  bool from_cache = false;
  double seconds = 0;  ///< that the call took
  std::vector<Trial> trials;
};

/// Seconds per point for a schedule, one per kernel, as measure_in_core() gives them; and a schedule as the kernels carry
/// it out, as effective() gives it.
using InCore = std::function<std::vector<double>(const Schedule&)>;
using Effective = std::function<Schedule(const Schedule&)>;
struct Candidate {
  Schedule schedule;
  double predicted_glups = 0;
};
/// The schedules worth trying, at most `most`, all legal and as these kernels carry them out; the model's first guess
/// first, the best plain sweep always among them. `input.schedule`, `input.in_core` and `input.in_cache` do
/// not matter.
///
/// Errors   ArgumentError with a sentence where not even the naive schedule can run
std::vector<Candidate> candidates(ModelInput input, const std::vector<Boundaries>& fields,
                                  const InCore& in_core, const Effective& effective, std::size_t most = 12);

/// Tries the candidates on grids of its own, of the same rows and as many planes as are needed to tell, all in turn in
/// each round; the best three are then tried three times more beside the first guess, and one replaces it only when it
/// was the faster one there. The answer is kept on disk under what it depends on: the stencil, element type, extents
/// (roughly), boundary kinds, steps (roughly), threads, processor, caches, version of the library.
///
/// On a GPU the candidates are a list, the library's own choice first and then by what the model makes of them, and the answer is kept under the GPU's name and the
/// driver's version.
///
/// Errors   ArgumentError as candidates(); Interrupted. A cache that cannot be read or written is no error, and where
///          there is no memory for trials the first guess is the answer.
/// Threads  one call at a time: it uses all of the library's threads. Several processes may share a cache.
template <class T>
Tuned tune(const std::vector<Kernel<T>>& chain, const GridProblem& problem, const TuneOptions& options = {});

/// The remembered schedule, or else the model's first guess from nominal rates. Measures nothing.
template <class T>
Tuned best_schedule(const std::vector<Kernel<T>>& chain, const GridProblem& problem,
                    const TuneOptions& options = {});

}  // namespace spinloom::stencil
