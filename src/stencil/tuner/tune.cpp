#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "runtime/cache_folder.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/tuner/key.hpp"
#include "stencil/tuner/shadow.hpp"
#include "stencil/tuner/store.hpp"

namespace spinloom::stencil {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class T>
ModelInput input_of(const std::vector<Kernel<T>>& chain, const GridProblem& problem,
                    const TuneOptions& options) {
  ModelInput input;
  for (const auto& k : chain) input.chain.push_back(*k.definition);
  input.layout = make_layout(problem.shape, problem.halo, sizeof(T));
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

/// The trials of one tuning.
template <class T>
class Contest {
 public:
  Contest(Shadow<T>& shadow, Tuned& tuned, const std::vector<Definition>& chain, const TuneOptions& options,
          std::chrono::steady_clock::time_point begin)
      : shadow_(shadow), tuned_(tuned), options_(options), begin_(begin), times_(tuned.trials.size()) {
    int radius = 1;
    double levels = 0;
    for (const Definition& d : chain) {
      radius = std::max(radius, d.view().reach().radius(1));
      levels += d.view().red_black ? 2 : 1;
    }
    for (const Trial& t : tuned.trials) {
      // A temporal block shows what it can do over a few of its heights, a trial lasts about 50 ms.
      double block = t.schedule.steps;
      if (t.schedule.kind == Schedule::Kind::diamond)
        block = std::max(1.0, 2 * double(t.schedule.width) / (2 * radius) / levels);
      const double step = shadow.points() / (std::max(1e-3, t.predicted_glups) * 1e9);
      const double blocks = std::max(1.0, std::ceil(0.05 / (block * step)));
      double steps = std::min(block * blocks, 1e5);
      if (options.steps > 0) steps = std::min(steps, double(options.steps));
      steps_.push_back(std::max<Index>(1, static_cast<Index>(steps)));
    }
  }

  /// One trial of each of `who`, in turn, unless the time is up.
  bool round(const std::vector<std::size_t>& who, double until, double fraction) {
    for (const std::size_t c : who) {
      check_interrupt();
      if (seconds_since(begin_) > until) return false;
      if (options_.progress) options_.progress("tune", fraction, to_string(tuned_.trials[c].schedule));
      times_[c].push_back(shadow_.time(tuned_.trials[c].schedule, steps_[c]));
    }
    return true;
  }

  void run() {
    std::vector<std::size_t> all(times_.size());
    for (std::size_t c = 0; c < all.size(); ++c) all[c] = c;
    for (int r = 0; r < 2; ++r)
      if (!round(all, 0.6 * options_.seconds, 0.1 + 0.3 * r)) break;

    // The first guess and the best three others, tried in one round at a time beside one another.
    std::vector<std::size_t> ranked;
    for (const std::size_t c : all)
      if (c > 0 && !times_[c].empty()) ranked.push_back(c);
    const auto best = [&](std::size_t c) { return *std::min_element(times_[c].begin(), times_[c].end()); };
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::size_t a, std::size_t b) { return best(a) < best(b); });
    if (ranked.size() > 3) ranked.resize(3);
    std::vector<std::size_t> finalists{0};
    finalists.insert(finalists.end(), ranked.begin(), ranked.end());
    std::vector<std::size_t> before;
    for (const auto& t : times_) before.push_back(t.size());
    int rounds = 0;
    while (rounds < 3 && round(finalists, 0.95 * options_.seconds, 0.7 + 0.1 * rounds)) ++rounds;
    double most = 1;
    for (const std::size_t c : finalists) {
      tuned_.trials[c].is_finalist = rounds > 0;
      if (c == 0 || rounds == 0) continue;
      std::vector<double> ratios;
      for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r)
        ratios.push_back(times_[0][before[0] + r] / times_[c][before[c] + r]);
      if (median(ratios) > most) {
        most = median(ratios);
        tuned_.schedule = tuned_.trials[c].schedule;
      }
    }
    for (std::size_t c = 0; c < times_.size(); ++c) {
      tuned_.trials[c].rounds = static_cast<int>(times_[c].size());
      if (!times_[c].empty()) tuned_.trials[c].glups = 1e-9 / median(times_[c]);
    }
    was_decided_ = rounds > 0;
  }
  bool was_decided() const { return was_decided_; }

 private:
  Shadow<T>& shadow_;
  Tuned& tuned_;
  const TuneOptions& options_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<std::vector<double>> times_;
  std::vector<Index> steps_;
  bool was_decided_ = false;
};

template <class T>
std::string key_of(const std::vector<Kernel<T>>& chain, const ModelInput& input, const GridProblem& problem) {
  std::string code;
  for (const auto& k : chain) code += to_string(*k.definition) + " by " + k.rows.target + "; ";
  const bool is_complex = !std::is_same_v<T, real_of<T>>;
  return tuning_key(code, fmt::format("{}{}", is_complex ? "c" : "f", sizeof(T)), input.layout.n,
                    problem.fields, input.steps, thread_count(), detect_hardware());
}
TuningStore store_of(const TuneOptions& options) {
  return {options.folder.empty() ? cache_folder() : std::filesystem::path(options.folder), options.log};
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
  const auto guess_only = [&] {
    tuned = best_schedule(chain, problem, options);
    tuned.seconds = seconds_since(begin);
    return tuned;
  };
  if (input.layout.n[0] * input.layout.n[1] * input.layout.n[2] == 0) return guess_only();
  try {
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
    tuned.schedule = tuned.first_guess = tuned.trials.front().schedule;
    Shadow<T> shadow(chain, problem, input.machine.caches.back().bytes);
    Contest<T> contest(shadow, tuned, input.chain, options, begin);
    contest.run();
    // An answer that time did not allow to be checked is not remembered.
    if (contest.was_decided()) store.store(key, tuned.schedule);
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
