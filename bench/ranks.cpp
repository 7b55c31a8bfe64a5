#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "../cli/console.hpp"
#include "harness.hpp"
#include "ranks.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

/// What does it cost to share a grid by processes instead of threads? One rank on as many threads as there are ranks, against
/// ranks of one thread each, in turn in every round; ratios are medians of rounds.
namespace {

using namespace spinloom;
namespace st = spinloom::stencil;
using bench_ranks::Alone, bench_ranks::Shared, bench_ranks::measured;
using Clock = std::chrono::steady_clock;

constexpr const char* spatial = "sweep rows=64 planes=4 stream prefetch";
constexpr const char* temporal = "diamond width=24 planes=4 prefetch";
constexpr int steps_between = 12;  ///< of the temporal schedule: one diamond of width 24 is 12 steps high

struct Variant {
  std::string name, schedule;
  int against;  ///< index of the variant of one rank
  Index steps;
  bool is_alone;
  std::function<void()> run;
  std::vector<double> seconds;
};

}  // namespace

BenchResult bench_ranks(const BenchRequest& request) {
  if (request.device.kind == DeviceKind::cuda) return bench_ranks_cuda(request);
  if (request.ranks > 0)
    throw ArgumentError("bench ranks: --ranks is for GPUs; elsewhere mpirun -n says how many");
  if (launched_ranks() < 2)
    throw ArgumentError("bench ranks: compares processes; start it by mpirun -n 2 spinloom bench ranks");
  const Communicator c = make_mpi_communicator();
  if (c.rank() != 0) silence();
  const Shape shape = request.matrix.empty() ? Shape{512, 512, 512} : request.matrix;
  if (shape.size() != 3) throw ArgumentError("bench ranks: --matrix needs three sizes");
  const int rounds = request.repetitions > 0 ? request.repetitions : 5;
  using st::Exchanging;
  set_thread_count(1);
  Shape small = shape;
  for (Index& n : small) n = std::min<Index>(n, 75);
  const auto check = [&](const char* schedule, int between, Exchanging how) {
    Shared<double> several(small, c, schedule, between, how);
    bench_ranks::check_against_one(several, c, small, fmt::format("'{}'", schedule));
  };
  check(spatial, 1, Exchanging::overlapped);
  check(spatial, 1, Exchanging::blocking);
  check(temporal, steps_between, Exchanging::blocking);

  std::optional<Alone<double>> one_spatial, one_temporal;
  set_thread_count(c.size());
  if (c.rank() == 0) {
    one_spatial.emplace(shape, spatial);
    one_temporal.emplace(shape, temporal);
  }
  set_thread_count(1);
  Shared<double> overlapped(shape, c, spatial, 1, Exchanging::overlapped),
      blocking(shape, c, spatial, 1, Exchanging::blocking),
      deep(shape, c, temporal, steps_between, Exchanging::blocking);
  const Index few = 4, many = 2 * steps_between;
  std::vector<Variant> variants = {
      {"one rank", spatial, 0, few, true, [&] { one_spatial->stepper.run(few); }, {}},
      {"overlapped", spatial, 0, few, false, [&] { overlapped.stepper.run(few); }, {}},
      {"blocking", spatial, 0, few, false, [&] { blocking.stepper.run(few); }, {}},
      {"one rank, temporal", temporal, 3, many, true, [&] { one_temporal->stepper.run(many); }, {}},
      {"deep rims, temporal", temporal, 3, many, false, [&] { deep.stepper.run(many); }, {}},
  };
  for (int round = -1; round < rounds; ++round)
    for (Variant& v : variants) {
      c.barrier();
      const auto begin = Clock::now();
      if (v.is_alone) {
        set_thread_count(c.size());
        if (c.rank() == 0) v.run();
        set_thread_count(1);
      } else {
        v.run();
      }
      c.barrier();
      if (round >= 0)
        v.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / double(v.steps));
      if (request.progress && c.rank() == 0 && &v == &variants.back())
        request.progress("ranks", double(round + 1) / rounds, "");
    }
  BenchResult result;
  result.columns = {"name", "ranks", "threads", "glups", "spread", "ratio_to_one_rank", "schedule"};
  if (c.rank() != 0) return result;
  for (const Variant& v : variants) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < v.seconds.size(); ++r)
      ratios.push_back(variants[static_cast<std::size_t>(v.against)].seconds[r] / v.seconds[r]);
    const double seconds = median(v.seconds);
    const auto [least, most] = std::minmax_element(v.seconds.begin(), v.seconds.end());
    result.figures.push_back({{"name", v.name},
                              {"stencil", measured},
                              {"dtype", "float64"},
                              {"matrix", shape},
                              {"ranks", v.is_alone ? 1 : c.size()},
                              {"threads", v.is_alone ? c.size() : 1},
                              {"split", v.is_alone ? "1 x 1 x 1" : split_text(overlapped.domain)},
                              {"mpi", c.name()},
                              {"schedule", v.schedule},
                              {"seconds", seconds},
                              {"spread", (*most - *least) / seconds},
                              {"repetitions", rounds},
                              {"glups", double(count(shape)) / seconds * 1e-9},
                              {"ratio_to_one_rank", median(ratios)},
                              {"relative_error", 0}});
  }
  return result;
}
