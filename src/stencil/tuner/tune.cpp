#include <fmt/format.h>

#include <chrono>
#include <map>

#include "runtime/cache_folder.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/tuner/contest.hpp"
#include "stencil/tuner/gpu.hpp"
#include "stencil/tuner/key.hpp"
#include "stencil/tuner/shadow.hpp"
#include "stencil/tuner/store.hpp"

namespace spinloom::stencil {
namespace {

template <class T>
ModelInput input_of(const std::vector<Kernel<T>>& chain, const GridProblem& problem,
                    const TuneOptions& options) {
  ModelInput input;
  for (const auto& k : chain) input.chain.push_back(*k.definition);
  input.layout = make_layout(problem.shape, problem.halo, sizeof(T), problem.device);
  input.element_bytes = sizeof(T);
  input.steps = options.steps;
  return input;
}

/// A machine of this one's caches with rates that machines of its kind have: enough to guess by, with nothing measured.
Machine nominal_machine() {
  Machine m;
  const Hardware h = detect_hardware();
  m.cpu_name = h.cpu_name;
  m.threads = thread_count();
  m.caches = usable_caches(h);
  const double threads = m.threads, memory = std::min(threads, 4.0);
  for (std::size_t k = 0; k < m.caches.size(); ++k) {
    const bool is_memory = k + 1 == m.caches.size();
    const double one = is_memory ? 25e9 : k == 0 ? 110e9 : 80e9, all = one * (is_memory ? memory : threads);
    m.rates[0].push_back({one, 1.6 * one, is_memory ? 1.3 * one : 0});
    m.rates[1].push_back({all, 1.6 * all, is_memory ? 1.3 * all : 0});
  }
  return m;
}

/// An answer that was found before, if it can run on these very grids.
template <class T>
std::optional<Tuned> remembered(const TuningStore& store, const std::string& key, const ModelInput& input,
                                const GridProblem& problem) {
  const auto found = store.load(key);
  if (!found || why_illegal(input.chain, input.layout, problem.fields, *found)) return {};
  Tuned t;
  t.schedule = t.first_guess = *found;
  t.from_cache = true;
  return t;
}

template <class T>
std::string key_of(const std::vector<Kernel<T>>& chain, const ModelInput& input, const GridProblem& problem) {
  std::string code;
  const bool on_gpu = problem.device.kind == DeviceKind::cuda;
  for (const auto& k : chain)
    code += to_string(*k.definition) + " by " +
            (!on_gpu       ? k.rows.target
             : k.in_double ? "double"
                           : "cuda") +
            "; ";
  const bool is_complex = !std::is_same_v<T, real_of<T>>;
  return tuning_key(code, fmt::format("{}{}", is_complex ? "c" : "f", sizeof(T)), input.layout.n,
                    problem.fields, input.steps, on_gpu ? 0 : thread_count(),
                    on_gpu ? gpu_as_hardware(problem.device) : detect_hardware());
}
/// Of the chain's stencils, one after the other, past the caches.
template <class T>
double bytes_per_update(const std::vector<Kernel<T>>& chain) {
  double bytes = 0;
  for (const auto& k : chain) bytes += k.view().bytes_per_point(sizeof(T));
  return bytes / double(chain.size());
}
TuningStore store_of(const TuneOptions& options) {
  return {options.folder.empty() ? cache_folder() : to_path(options.folder), options.log};
}

}  // namespace

template <class T>
Tuned tune(const std::vector<Kernel<T>>& chain, const GridProblem& problem, const TuneOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ModelInput input = input_of(chain, problem, options);
  if (const auto why = why_illegal(input.chain, input.layout, problem.fields, {})) throw ArgumentError(*why);
  const TuningStore store = store_of(options);
  const std::string key = key_of(chain, input, problem);
  if (!options.ignore_cache)
    if (auto known = remembered<T>(store, key, input, problem)) {
      known->seconds = seconds_since(begin);
      return *known;
    }
  Tuned tuned;
  const bool on_gpu = problem.device.kind == DeviceKind::cuda;
  const auto guess_only = [&] {
    tuned = best_schedule(chain, problem, options);
    tuned.seconds = seconds_since(begin);
    return tuned;
  };
  const auto decide = [&](Tuned& of, Shadow<T> shadow) {
    of.schedule = of.first_guess = of.trials.front().schedule;
    Contest<T> contest(shadow, of, input.chain, options, begin);
    contest.run();
    // An answer that time did not allow to be checked is not remembered.
    if (contest.was_decided()) store.store(key, of.schedule);
  };
  if (input.layout.n[0] * input.layout.n[1] * input.layout.n[2] == 0) return guess_only();
  try {
    if (on_gpu) {
      const double glups = 1e-9 * copy_bandwidth(problem.device) / bytes_per_update(chain);
      for (const Schedule& s : gpu_candidates(input.chain, input.layout, problem.fields))
        tuned.trials.push_back({s, glups, 0, 0, false});
      decide(tuned, Shadow<T>(chain, problem, std::int64_t{64} << 20));
      tuned.seconds = seconds_since(begin);
      return tuned;
    }
    {
      RateMeter meter;
      input.machine = meter.measure();
    }
    std::map<std::pair<int, bool>, std::vector<double>> in_core;
    const auto in_core_of = [&](const Schedule& s) {
      auto& seconds = in_core[{s.planes, s.prefetch || s.stream}];
      if (seconds.empty()) seconds = measure_in_core(chain, input.layout.n[2], s);
      return seconds;
    };
    for (const Candidate& c : candidates(input, problem.fields, in_core_of,
                                         [&](const Schedule& s) { return effective(chain, s); }))
      tuned.trials.push_back({c.schedule, c.predicted_glups, 0, 0, false});
    decide(tuned, Shadow<T>(chain, problem, input.machine.caches.back().bytes));
  } catch (const DeviceError& e) {
    warn(options.log, fmt::format("tune: no trials, the model's guess is taken: {}", e.what()));
    return guess_only();
  }
  tuned.seconds = seconds_since(begin);
  if (options.progress) options.progress("tune", 1, to_string(tuned.schedule));
  return tuned;
}

template <class T>
Tuned best_schedule(const std::vector<Kernel<T>>& chain, const GridProblem& problem,
                    const TuneOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ModelInput input = input_of(chain, problem, options);
  if (const auto why = why_illegal(input.chain, input.layout, problem.fields, {})) throw ArgumentError(*why);
  if (!options.ignore_cache)
    if (auto known = remembered<T>(store_of(options), key_of(chain, input, problem), input, problem)) {
      known->seconds = seconds_since(begin);
      return *known;
    }
  if (problem.device.kind == DeviceKind::cuda) {
    Tuned guess;
    for (const Schedule& s : gpu_candidates(input.chain, input.layout, problem.fields))
      guess.trials.push_back({s, 0, 0, 0, false});
    guess.schedule = guess.first_guess = guess.trials.front().schedule;
    guess.seconds = seconds_since(begin);
    return guess;
  }
  input.machine = nominal_machine();
  // A core of 3 GHz with vectors of a cache line: a load or two operations a cycle.
  const auto nominal_in_core = [&](const Schedule& s) {
    std::vector<double> seconds;
    for (const Definition& d : input.chain) {
      const double cycles = double(d.view().flops()) / 2 + double(d.view().loads()) / (s.planes > 1 ? 2 : 1);
      seconds.push_back(std::max(1.0, cycles) * double(sizeof(T)) / 64 / 3e9);
    }
    return seconds;
  };
  Tuned tuned;
  for (const Candidate& c : candidates(input, problem.fields, nominal_in_core,
                                       [&](const Schedule& s) { return effective(chain, s); }))
    tuned.trials.push_back({c.schedule, c.predicted_glups, 0, 0, false});
  tuned.schedule = tuned.first_guess = tuned.trials.front().schedule;
  tuned.seconds = seconds_since(begin);
  return tuned;
}

#define SPINLOOM_INSTANTIATE(T)                                                               \
  template Tuned tune(const std::vector<Kernel<T>>&, const GridProblem&, const TuneOptions&); \
  template Tuned best_schedule(const std::vector<Kernel<T>>&, const GridProblem&, const TuneOptions&);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)
SPINLOOM_INSTANTIATE(cfloat)
SPINLOOM_INSTANTIATE(cdouble)

}  // namespace spinloom::stencil
