#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/half.hpp"
#include "spinloom/stencil/model.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {
namespace {

/// How far memory's time and the caches' overlap. Without fetching ahead: 1, not at all, for rows up to a page, which is
/// as far as hardware fetches without a break; nearly all for rows of sixteen pages; in between by the logarithm. Row
/// kernels that ask for their rows ahead do not wait at each start of one. Measured with sweeps of 7, 25, 27 points and
/// the wave equation on rows of 2 and 4 KiB, and of 5 points on rows of 32 and 64 KiB.
double overlap_of(double row_bytes, bool fetches) {
  constexpr double page = 4096, pages = 16, most = 4;
  const double least = fetches ? 2.5 : 1;
  return least + (most - least) * std::clamp(std::log2(row_bytes / page) / std::log2(pages), 0.0, 1.0);
}

/// Seconds that this traffic takes on its own, by rates of all threads together. What a store adds to a load is taken
/// from the pairs that were measured: it may be nothing, where the two directions have lines of their own.
double seconds_of(const Traffic& t, const Rates& r) {
  const double read = 1 / r.read;
  const double write = std::max(0.0, 2 / r.update - read);
  const double stream = r.stream > 0 ? std::max(0.0, 2 / r.stream - read) : write;
  return t.read * read + t.write * write + t.stream * stream;
}

/// Two times that overlap in part.
double together(double a, double b, double overlap) {
  return std::pow(std::pow(a, overlap) + std::pow(b, overlap), 1 / overlap);
}

/// Rates with `threads`, between those measured with one and with all.
Rates rates_with(const Machine& m, std::size_t link, int threads) {
  const Rates &one = m.rates[0][link], &all = m.rates[1][link];
  const auto between = [&](double a, double b) {
    return threads >= m.threads ? b : std::min(a * threads, std::max(a, b));
  };
  return {between(one.read, all.read), between(one.update, all.update), between(one.stream, all.stream)};
}

void require_rates(const ModelInput& in) {
  for (const auto& rates : in.machine.rates) {
    if (rates.size() != in.machine.caches.size())
      throw ArgumentError(fmt::format("stencil model: {} rates for {} caches; measure() gives them, one each",
                                      rates.size(), in.machine.caches.size()));
    for (const Rates& r : rates)
      if (!(r.read > 0) || !(r.update > 0))
        throw ArgumentError(fmt::format("stencil model: rates of {} and {} bytes a second; they are above 0",
                                        r.read, r.update));
  }
  if (in.in_core.size() != in.chain.size())
    throw ArgumentError(fmt::format("stencil model: {} in-core times for {} stencils, expected one each",
                                    in.in_core.size(), in.chain.size()));
  for (const double seconds : in.in_core)
    if (!(seconds > 0))
      throw ArgumentError(fmt::format("stencil model: an in-core time of {} s; it is above 0", seconds));
}

}  // namespace

Prediction predict(const ModelInput& in) {
  require_rates(in);
  Prediction p = predict_traffic(in);
  for (std::size_t i = 0; i < in.chain.size(); ++i)
    p.in_core += in.in_core[i] * (in.chain[i].red_black ? 2 : 1) * p.redundancy / double(in.chain.size());

  const std::size_t memory = p.traffic.size() - 1;
  // Seconds of one update per thread while `threads` share what is behind their own caches.
  const auto link_seconds = [&](std::size_t k, int threads) {
    return seconds_of(p.traffic[k], rates_with(in.machine, k, threads)) * threads;
  };
  double largest = p.in_core;
  p.limit = "row kernel";
  p.in_cache = p.in_core;
  for (std::size_t k = 0; k <= memory; ++k) {
    p.transfer.push_back(link_seconds(k, in.machine.threads));
    if (k < memory) {
      p.in_cache += p.transfer[k];
      if (p.transfer[k] > largest) {
        largest = p.transfer[k];
        p.limit = fmt::format("L{}", in.machine.caches[k + 1].level);
      }
    }
  }
  if (in.in_cache > 0) p.in_cache = in.in_cache * p.redundancy;
  if (p.transfer[memory] > p.in_cache) p.limit = "memory";
  const Index columns =
      in.schedule.columns > 0 ? std::min(in.schedule.columns, in.layout.n[2]) : in.layout.n[2];
  p.overlap = overlap_of(double(std::max<Index>(1, columns) * in.element_bytes),
                         in.schedule.prefetch || in.schedule.stream);
  for (int n = 1; n <= in.machine.threads; ++n)
    p.glups_at.push_back(1e-9 * n / together(p.in_cache, link_seconds(memory, n), p.overlap));
  p.glups = p.glups_at.back();
  for (std::size_t n = 1; n < p.glups_at.size() && p.saturation_threads == 0; ++n)
    if (p.glups_at[n] < p.glups_at[n - 1] + 0.1 * p.glups_at[0]) p.saturation_threads = static_cast<int>(n);
  p.roofline_glups = 1e-9 * in.machine.threads / std::max(p.transfer[memory], p.in_core);
  return p;
}

Report report(const Prediction& predicted, int threads, double measured_glups) {
  if (!(measured_glups > 0))
    throw ArgumentError(
        fmt::format("stencil report: a measured speed of {} GLUP/s; it is above 0", measured_glups));
  Report r;
  r.predicted = predicted;
  r.glups = measured_glups;
  const double seconds = predicted.transfer.empty() ? 0 : predicted.transfer.back();
  if (seconds > 0) {
    r.bandwidth = predicted.bytes_per_update * threads / seconds;
    r.implied_bytes_per_update = r.bandwidth / (measured_glups * 1e9);
    r.share_of_bandwidth = predicted.bytes_per_update * measured_glups * 1e9 / r.bandwidth;
  }
  r.predicted_over_measured = predicted.glups / measured_glups;
  return r;
}

template <class T>
Schedule effective(const std::vector<Kernel<T>>& chain, Schedule s) {
  // What every kernel of the chain has: the one with the least counts.
  int planes = s.planes, way = s.stream ? Way::streaming : s.prefetch ? Way::fetching : Way::plain;
  for (const auto& kernel : chain) {
    int has = planes;
    pick(kernel.rows, has, static_cast<Way>(way));
    planes = std::min(planes, has);
  }
  for (const auto& kernel : chain)
    while (way > 0 && kernel.rows.at[entry_of(planes)][way] == nullptr) --way;
  s.planes = planes;
  s.stream = s.stream && way == Way::streaming;
  s.prefetch = s.prefetch && way >= Way::fetching;
  return s;
}

#define SPINLOOM_INSTANTIATE(T) template Schedule effective(const std::vector<Kernel<T>>&, Schedule);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
