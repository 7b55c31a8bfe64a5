#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "../cli/console.hpp"
#include "harness.hpp"
#include "ranks.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"

/// Weak scaling: what does a step cost when each rank has a block, against one rank with one block on a GPU of its own? Ranks
/// that share a GPU are allowed the time of their blocks one after the other, so that what remains is the price of sharing a
/// grid. In turn in every round; ratios are medians of rounds.
namespace {

using namespace spinloom;
namespace st = spinloom::stencil;
using bench_ranks::Alone, bench_ranks::Shared, bench_ranks::measured;
using Clock = std::chrono::steady_clock;

struct Variant {
  const char *name, *schedule;
  int between;  ///< steps from one exchange to the next; 0: one rank
  st::Exchanging how;
  int against;
};
constexpr auto overlapped = st::Exchanging::overlapped, blocking = st::Exchanging::blocking;
constexpr Variant variants[] = {{"one block", "cuda", 0, overlapped, 0},
                                {"overlapped", "cuda", 1, overlapped, 0},
                                {"blocking", "cuda", 1, blocking, 0},
                                {"four steps between", "cuda", 4, overlapped, 0},
                                {"one block, temporal", "cuda overlapped", 0, overlapped, 4},
                                {"deep rims, temporal", "cuda overlapped", 4, overlapped, 4},
                                {"deeper rims, temporal", "cuda overlapped", 12, overlapped, 4}};

/// One block after the other along z.
st::DomainOptions along_z(const Communicator& c) { return {{c.size(), 1, 1}, {}}; }

template <class T>
void check(const Communicator& c, Device device, Shape block) {
  for (Index& n : block) n = std::min<Index>(n, 75);
  const Shape shape{block[0] * c.size() + 1, block[1], block[2]};  // parts of different sizes
  for (const Variant& v : variants) {
    if (v.between == 0) continue;
    Shared<T> several(shape, c, v.schedule, v.between, v.how, device, along_z(c));
    bench_ranks::check_against_one(several, c, shape, v.name);
  }
}

template <class T>
void measure(const Communicator& c, const std::vector<Device>& devices, const Shape& block, int rounds,
             BenchResult& result) {
  const auto device_of = [&](int rank) { return devices[static_cast<std::size_t>(rank) % devices.size()]; };
  const Device device = device_of(c.rank());
  check<T>(c, device, block);
  const int sharing = (c.size() + static_cast<int>(devices.size()) - 1) / static_cast<int>(devices.size());
  const Shape shape{block[0] * c.size(), block[1], block[2]};
  const Index steps = 96;
  std::vector<double> seconds[std::size(variants)];
  double bytes[std::size(variants)] = {};
  for (std::size_t i = 0; i < std::size(variants); ++i) {
    const Variant& v = variants[i];
    if (v.between == 0) continue;
    // One pair at a time, so that large blocks fit.
    std::unique_ptr<Alone<T>> one;
    if (c.rank() == 0) one = std::make_unique<Alone<T>>(block, variants[v.against].schedule, device);
    Shared<T> several(shape, c, v.schedule, v.between, v.how, device, along_z(c));
    bytes[i] = several.stepper.bytes_per_exchange();
    for (int round = -1; round < rounds; ++round)
      for (const std::size_t which : {static_cast<std::size_t>(v.against), i}) {
        synchronize(device);
        c.barrier();
        const auto begin = Clock::now();
        if (which == i)
          several.stepper.run(steps);
        else if (one)
          one->stepper.run(steps);
        synchronize(device);
        c.barrier();
        if (round >= 0)
          seconds[which].push_back(std::chrono::duration<double>(Clock::now() - begin).count() /
                                   double(steps));
      }
    std::vector<double> ratios;
    const std::vector<double>& base = seconds[v.against];
    for (std::size_t r = 0; r < seconds[i].size(); ++r)
      ratios.push_back(sharing * base[base.size() - seconds[i].size() + r] / seconds[i][r]);
    const double typical = median(seconds[i]);
    const auto [least, most] = std::minmax_element(seconds[i].begin(), seconds[i].end());
    result.figures.push_back({{"name", v.name},
                              {"stencil", measured},
                              {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
                              {"matrix", shape},
                              {"ranks", c.size()},
                              {"ranks_by", c.name()},
                              {"ranks_of_a_gpu", sharing},
                              {"schedule", to_string(several.stepper.schedule())},
                              {"steps_per_exchange", several.stepper.steps_per_exchange()},
                              {"bytes_per_exchange", bytes[i]},
                              {"seconds", typical},
                              {"spread", (*most - *least) / typical},
                              {"repetitions", rounds},
                              {"glups", double(count(shape)) / typical * 1e-9},
                              {"one_block_seconds", median({base.end() - rounds, base.end()})},
                              {"weak_scaling", median(ratios)},
                              {"relative_error", 0}});
  }
}

void measure_all(const Communicator& c, const BenchRequest& request, BenchResult& result) {
  if (!c.is_one_process() && c.rank() != 0) silence();
  const Shape block = request.matrix.empty() ? Shape{512, 512, 512} : request.matrix;
  const int rounds = request.repetitions > 0 ? request.repetitions : 11;
  BenchResult mine;
  measure<float>(c, request.devices, block, rounds, mine);
  measure<double>(c, request.devices, block, rounds, mine);
  if (c.rank() == 0) result.figures = mine.figures;
}

}  // namespace

BenchResult bench_ranks_cuda(const BenchRequest& request) {
  if (!request.matrix.empty() && request.matrix.size() != 3)
    throw ArgumentError("bench ranks: --matrix needs three sizes");
  BenchResult result;
  result.columns = {"name",    "dtype",  "ranks",        "ranks_of_a_gpu", "schedule",
                    "seconds", "spread", "weak_scaling", "glups"};
  if (launched_ranks() > 1) {
    if (request.ranks > 0)
      throw ArgumentError("bench ranks: --ranks is for ranks of one process; mpirun -n has said how many");
    measure_all(make_mpi_communicator(), request, result);
    return result;
  }
  const int ranks = request.ranks > 0 ? request.ranks : std::max(2, static_cast<int>(request.devices.size()));
  run_ranks(make_communicators(std::vector<Device>(static_cast<std::size_t>(ranks))),
            [&](const Communicator& c) { measure_all(c, request, result); });
  return result;
}
