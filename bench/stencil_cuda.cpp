#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/stepper.hpp"
#include "stencil_fields.hpp"

/// How close do sweeps on a GPU come to the speed of its memory? The copy is measured in every round.
namespace {

using namespace spinloom;
using namespace spinloom::bench_stencil;

struct Case {
  const char *name, *stencil;
  bool is_2d;
  std::vector<const char*> schedules;  ///< beside "cuda", the library's own choice
  Index steps = 8;                     ///< of one timed run
  Index size = 0;                      ///< along each axis where no --matrix is given; 0: what fills the GPU
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"7-point", "7-point", false, {"cuda gather", "cuda overlapped"}, 24},
      {"on-chip", "7-point", false, {"cuda overlapped"}, 240, 192},
      {"27-point", "27-point", false, {"cuda gather"}},
      {"25-point", "25-point", false, {"cuda gather"}},
      {"wave", "wave", false, {"cuda gather"}},
      {"red-black", "red-black", false, {"cuda gather", "cuda overlapped"}},
      {"5-point", "5-point", true, {"cuda gather", "cuda overlapped"}, 48}};
  return all;
}

struct Variant {
  std::string name, schedule;
  Index steps;
  std::function<void()> run;
  std::vector<double> seconds;
};

template <class T>
void bench_case(const Case& c, const BenchRequest& request, BenchResult& result) {
  const bool is_float = sizeof(T) == 4;
  const Device device = request.device;
  Shape shape = request.matrix;
  if (shape.empty()) {
    const Index n = c.size > 0 ? c.size : c.is_2d ? 16384 : is_float ? 1024 : 768;
    shape = c.is_2d ? Shape{n, n} : Shape{n, n, n};
  }
  if (shape.size() != (c.is_2d ? 2u : 3u))
    throw ArgumentError(fmt::format("bench stencil: {} is a stencil in {}D, --matrix has {} sizes", c.name,
                                    c.is_2d ? 2 : 3, shape.size()));
  std::vector<std::string> schedules{"cuda"};
  schedules.insert(schedules.end(), c.schedules.begin(), c.schedules.end());
  Shape small = shape;
  for (Index& n : small) n = std::min<Index>(n, c.is_2d ? 700 : 75);
  for (const std::string& schedule : schedules) check_schedule<T>(c.stencil, small, schedule, 11, device);

  const auto kernels = st::builtin_kernels<T>(c.stencil);
  const auto view = kernels[0].view();
  const double points = double(count(shape));
  const int rounds = request.repetitions > 0 ? request.repetitions : 11;
  Fields<T> fields(view, shape, device);
  // Memory's speed, and not that of a cache, also where the grids are small.
  const Index copied = std::max(count(shape), (Index{1} << 30) / Index{sizeof(T)});
  const auto from = Array<T>::zeros({copied}, device);
  Array<T> to({copied}, device);
  std::vector<Variant> variants;
  variants.push_back({"copy_roof", "", 1, [&] { transfer<T>(from.view(), to.view()); }, {}});
  std::vector<st::Stepper<T>> steppers;
  steppers.reserve(schedules.size());
  for (const std::string& schedule : schedules) {
    steppers.push_back(make_stepper<T>(c.stencil, fields, schedule));
    const std::string name = schedule == "cuda" ? "spatial" : schedule.substr(5);
    variants.push_back({name, schedule, c.steps, [&s = steppers.back(), n = c.steps] { s.run(n); }, {}});
  }
  for (int round = -1; round < rounds; ++round)
    for (Variant& v : variants) {
      const double seconds = time_once([&] {
                               v.run();
                               synchronize(device);
                             }).seconds;
      const double updates = v.name == "copy_roof" ? double(copied) : points * double(v.steps);
      if (round >= 0) v.seconds.push_back(seconds / updates);
    }
  for (const Variant& v : variants) {
    const double seconds = median(v.seconds);
    const auto [low, high] = std::minmax_element(v.seconds.begin(), v.seconds.end());
    const int bytes = v.name == "copy_roof" ? 2 * int(sizeof(T)) : view.bytes_per_point(sizeof(T));
    std::vector<double> ratios;
    for (std::size_t i = 0; i < v.seconds.size(); ++i)
      ratios.push_back(variants[0].seconds[i] / v.seconds[i]);
    const double ratio = median(ratios);
    result.figures.push_back({{"name", v.name},
                              {"stencil", c.name},
                              {"dtype", is_float ? "float32" : "float64"},
                              {"size", shape},
                              {"schedule", v.schedule},
                              {"seconds", seconds * points},
                              {"spread", (*high - *low) / seconds},
                              {"repetitions", rounds},
                              {"glups", 1e-9 / seconds},
                              {"bytes_per_update", bytes},
                              {"share_of_bandwidth", ratio * bytes / (2.0 * sizeof(T))},
                              {"ratio_to_copy_roof", ratio},
                              {"relative_error", 0}});
  }
}

}  // namespace

BenchResult bench_stencil_cuda(const BenchRequest& request) {
  BenchResult result;
  result.columns = {"stencil", "dtype", "name", "glups", "spread", "ratio_to_copy_roof", "share_of_bandwidth",
                    "schedule"};
  for (const Case& c : cases()) {
    if (request.stencil != "all" &&
        c.name != (request.stencil.empty() ? std::string("7-point") : request.stencil))
      continue;
    if (request.progress) request.progress("stencil", 0, c.name);
    bench_case<float>(c, request, result);
    bench_case<double>(c, request, result);
  }
  return result;
}
