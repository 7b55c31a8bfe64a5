#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "stencil/tuner/shadow.hpp"

namespace spinloom::stencil {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
      // A temporal block shows what it can do over a few of its heights.
      double block = t.schedule.steps;
      if (t.schedule.kind == Schedule::Kind::diamond)
        block = std::max(1.0, 2 * double(t.schedule.width) / (2 * radius) / levels);
      blocks_.push_back(block);
      steps_.push_back(steps_of(block, 1e-9 / std::max(1e-3, t.predicted_glups)));
    }
  }

  /// One trial of each of `who`, in turn, unless the time is up.
  bool round(const std::vector<std::size_t>& who, double until, double fraction) {
    for (const std::size_t c : who) {
      check_interrupt();
      if (seconds_since(begin_) > until) return false;
      if (options_.progress) options_.progress("tune", fraction, to_string(tuned_.trials[c].schedule));
      try {
        times_[c].push_back(shadow_.time(tuned_.trials[c].schedule, steps_[c]));
      } catch (const ArgumentError&) {
        // What only making it shows: a block that this GPU's registers or shared memory cannot hold.
        if (c == 0) throw;
        continue;
      }
      steps_[c] = steps_of(blocks_[c], times_[c].back());  // the model may have been far from it
    }
    return true;
  }

  void run() {
    std::vector<std::size_t> all(times_.size());
    for (std::size_t c = 0; c < all.size(); ++c) all[c] = c;
    const auto best = [&](std::size_t c) { return *std::min_element(times_[c].begin(), times_[c].end()); };
    if (round(all, 0.45 * options_.seconds, 0.1)) {
      // Whoever needs twice the time of the fastest has no second round.
      double fastest = best(0);
      for (const std::size_t c : all)
        if (!times_[c].empty()) fastest = std::min(fastest, best(c));
      std::vector<std::size_t> near;
      for (const std::size_t c : all)
        if (!times_[c].empty() && best(c) < 2 * fastest) near.push_back(c);
      round(near, 0.45 * options_.seconds, 0.4);
    }

    // The first guess and the best three others, tried in one round at a time beside one another.
    std::vector<std::size_t> ranked;
    for (const std::size_t c : all)
      if (c > 0 && !times_[c].empty()) ranked.push_back(c);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::size_t a, std::size_t b) { return best(a) < best(b); });
    const std::size_t ranked_all = ranked.size();
    if (ranked.size() > 3) ranked.resize(3);
    std::vector<std::size_t> finalists{0};
    finalists.insert(finalists.end(), ranked.begin(), ranked.end());
    std::vector<std::size_t> before;
    for (const auto& t : times_) before.push_back(t.size());
    int rounds = 0;
    while (rounds < 3 && round(finalists, 0.9 * options_.seconds, 0.7 + 0.1 * rounds)) ++rounds;
    double most = 1;
    for (const std::size_t c : finalists) {
      tuned_.trials[c].is_finalist = rounds > 0;
      if (c == 0 || rounds == 0) continue;
      std::vector<double> ratios;
      for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r)
        ratios.push_back(times_[0][before[0] + r] / times_[c][before[c] + r]);
      if (median_of(ratios) > most) {
        most = median_of(ratios);
        tuned_.schedule = tuned_.trials[c].schedule;
      }
    }
    for (std::size_t c = 0; c < times_.size(); ++c) {
      tuned_.trials[c].rounds = static_cast<int>(times_[c].size());
      if (!times_[c].empty()) tuned_.trials[c].glups = 1e-9 / median_of(times_[c]);
    }
    // With time for a few candidates only, an answer is one still; with less it is not.
    was_decided_ = rounds > 0 && ranked_all + 1 >= std::min<std::size_t>(4, times_.size());
  }
  bool was_decided() const { return was_decided_; }

 private:
  /// Steps of a trial that lasts about 50 ms, whole blocks of them.
  Index steps_of(double block, double update_seconds) const {
    const double blocks = std::ceil(0.05 / (block * shadow_.points() * update_seconds));
    double steps = std::min(block * std::max(1.0, blocks), 1e5);
    if (options_.steps > 0) steps = std::min(steps, double(options_.steps));
    return std::max<Index>(1, static_cast<Index>(steps));
  }
  static double median_of(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }

  Shadow<T>& shadow_;
  Tuned& tuned_;
  const TuneOptions& options_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<std::vector<double>> times_;
  std::vector<double> blocks_;
  std::vector<Index> steps_;
  bool was_decided_ = false;
};

}  // namespace spinloom::stencil
