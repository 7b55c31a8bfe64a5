#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core_distance.hpp"
#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/model.hpp"
#include "spinloom/stencil/stepper.hpp"
#include "stencil_by_hand.hpp"
#include "stencil_fields.hpp"
#include "stream_kernels.hpp"

/// How close do sweeps come to the speed of memory, and how far past it does temporal blocking go? All variants run
/// in every round, and ratios are medians of rounds: bandwidth may drift between rounds.
namespace {

using namespace spinloom;
using namespace spinloom::bench_stencil;

struct Case {
  const char* name;
  bool is_2d;
  const char *spatial_double, *spatial_float, *temporal_double, *temporal_float;
  Index steps;  ///< of one timed temporal run
};
// Tiles chosen by trial on the machine that bench/results names.
constexpr Case cases[] = {
    {"7-point", false, "sweep rows=64 planes=8 stream prefetch", "sweep rows=64 planes=8 stream prefetch",
     "diamond rows=8 width=32 planes=4 prefetch", "diamond rows=8 width=32 planes=4 prefetch", 48},
    {"25-point", false, "sweep rows=64 planes=4 stream prefetch", "sweep rows=64 planes=4 stream prefetch",
     "diamond width=32 planes=4 prefetch", "diamond width=32 planes=4 prefetch", 8},
    {"27-point", false, "sweep rows=64 planes=4 stream prefetch", "sweep rows=64 planes=4 stream prefetch",
     "diamond rows=8 width=48 planes=4 prefetch", "diamond rows=8 width=48 planes=4 prefetch", 24},
    {"wave", false, "sweep rows=32 planes=4 prefetch", "sweep rows=32 planes=4 prefetch",
     "diamond width=48 planes=4 prefetch", "diamond width=48 planes=4 prefetch", 12},
    {"red-black", false, "sweep rows=64 planes=4 prefetch", "sweep rows=64 planes=4 prefetch",
     "diamond rows=4 columns=128 width=32 planes=4 prefetch",
     "diamond rows=4 columns=128 width=32 planes=4 prefetch", 16},
    {"5-point", true, "sweep planes=8 stream prefetch", "sweep planes=8 stream prefetch",
     "overlapped steps=16 columns=1024 planes=4 stream prefetch",
     "overlapped steps=16 columns=2048 planes=4 stream prefetch", 48},
};

struct Variant {
  std::string name, schedule;
  Index steps = 1;
  double points = 0;
  std::function<void()> run;
  std::vector<double> seconds;
  int runs = 1;  ///< of a round, which keeps their median
};

/// What a sweep reaches when memory plays no part: 8 MB in two arrays, more than the level 2 caches hold and a part of
/// the last one. Rows of 1 KiB and the blocks were the fastest there; nothing is written past the caches.
struct Resident {
  Shape shape;
  std::string schedule;
  Resident(bool is_2d, Index element_bytes)
      : shape(is_2d ? Shape{512, 8192 / element_bytes} : Shape{64, 64, 1024 / element_bytes}),
        schedule(is_2d ? "sweep planes=4" : "sweep rows=16 planes=4") {}
};

/// One step of the 7-point stencil in intrinsics, with the weights of the one that is built in and the blocks of a
/// sweep's schedule.
template <class T>
void step_by_hand(Fields<T>& fields, st::Grid<T>& next, const st::Schedule& like) {
  const auto& params = st::find_builtin("7-point").params;
  seven_point_by_hand(fields.grids[0], next, T(params[0].second), T(params[1].second), like.rows,
                      like.planes);
}
template <class T>
void check_by_hand(const Shape& shape, const st::Schedule& like) {
  const auto kernels = st::builtin_kernels<T>("7-point");
  const auto view = kernels[0].view();
  Fields<T> expected(view, shape), from(view, shape);
  make_stepper<T>("7-point", expected, "naive").run(1);
  st::Grid<T> got(shape, st::Halo(view.reach()));
  from.grids[0].fill_halo();
  step_by_hand(from, got, like);
  const auto a = got.to_array(), b = expected.grids[0].to_array();
  if (std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.size())) != 0)
    throw NotConverged("bench stencil: the 7-point sweep by hand differs from the naive schedule");
}

template <class T>
void bench_case(const Case& c, const BenchRequest& request, BenchResult& result) {
  const bool is_float = sizeof(T) == 4;
  Shape shape = request.matrix;
  if (shape.empty()) shape = c.is_2d ? Shape{8192, 8192} : Shape{512, 512, 512};
  if (shape.size() != (c.is_2d ? 2u : 3u))
    throw ArgumentError(fmt::format("bench stencil: {} is a stencil in {}D, --matrix has {} sizes", c.name,
                                    c.is_2d ? 2 : 3, shape.size()));
  const std::string spatial = is_float ? c.spatial_float : c.spatial_double,
                    temporal = is_float ? c.temporal_float : c.temporal_double;
  Shape small = shape;
  for (Index& n : small) n = std::min<Index>(n, c.is_2d ? 700 : 75);
  for (const auto& schedule : {spatial, temporal}) check_schedule<T>(c.name, small, schedule, c.steps + 3);

  const auto kernels = st::builtin_kernels<T>(c.name);  // a view lives as long as these
  const auto view = kernels[0].view();
  const double points = double(count(shape));
  const int rounds = request.repetitions > 0 ? request.repetitions : 5;
  Fields<T> fields(view, shape);
  std::vector<Variant> variants;
  // What the memory gives: as many bytes as one array, copied past the caches.
  const Index floats = count(shape) * static_cast<Index>(sizeof(T)) / 4 / 64 * 64;
  Array<float> from({floats}), to({floats});
  const Index block = std::max<Index>(64, (floats / thread_count() + 63) / 64 * 64);
  parallel_blocks(floats, block, [&](Index a, Index b, int) {
    std::fill(from.data() + a, from.data() + b, 1.0f);
    std::fill(to.data() + a, to.data() + b, 0.0f);
  });
  variants.push_back({"copy_roof",
                      "",
                      1,
                      points,
                      [&] {
                        parallel_blocks(floats, block, [&](Index a, Index b, int) {
                          stream_copy_past_caches(from.data() + a, b - a, to.data() + a);
                        });
                      },
                      {}});
  std::vector<st::Stepper<T>> steppers;
  steppers.reserve(4);
  const auto add = [&](const std::string& name, const std::string& schedule, Index steps) {
    steppers.push_back(make_stepper<T>(c.name, fields, schedule));
    variants.push_back({name, schedule, steps, points, [&s = steppers.back(), steps] { s.run(steps); }, {}});
  };
  add("naive", "naive", 2);
  add("spatial", spatial, 8);  // what a run does once, such as setting halos, is not a sweep's
  add("temporal", temporal, c.steps);
  const Resident resident(c.is_2d, sizeof(T));
  check_schedule<T>(c.name, resident.shape, resident.schedule, 2);
  Fields<T> cached(view, resident.shape);
  steppers.push_back(make_stepper<T>(c.name, cached, resident.schedule));
  // Its steps are a tenth of a millisecond: one that waits for a thread that lost its core takes tens of them.
  variants.push_back({"resident",
                      resident.schedule,
                      40,
                      double(count(resident.shape)),
                      [&s = steppers.back()] { s.run(40); },
                      {},
                      15});
  std::vector<double> core_distance;

  // The model's speed of the spatial variant, from rates measured in the same rounds.
  st::RateMeter meter;
  st::ModelInput model;
  model.machine = meter.measure();
  for (const auto& k : kernels) model.chain.push_back(*k.definition);
  model.layout = fields.grids[0].layout();
  model.element_bytes = sizeof(T);
  model.schedule = st::effective(kernels, st::parse_schedule(spatial));
  model.in_core = st::measure_in_core(kernels, model.layout.n[2], model.schedule);
  std::vector<double> predicted, predicted_over_measured;
  // The definition is held against the same sweep in intrinsics.
  std::optional<st::Grid<T>> by_hand;
  if (std::string(c.name) == "7-point" && can_sweep_by_hand() && shape.back() % 16 == 0) {
    const st::Schedule like = st::parse_schedule(spatial);
    check_by_hand<T>({small[0], small[1], 48}, like);
    by_hand.emplace(shape, st::Halo(view.reach()));
    variants.push_back(
        {"by_hand", spatial, 1, points, [&, like] { step_by_hand(fields, *by_hand, like); }, {}});
  }

  for (int round = -1; round < rounds; ++round)
    for (Variant& v : variants) {
      if (round >= 0 && v.name == "spatial") {
        model.machine = meter.measure_memory();
        model.in_cache = st::measure_in_cache(kernels, model.layout, model.schedule, model.machine);
        predicted.push_back(st::predict(model).glups);
      }
      std::vector<double> runs;
      for (int i = 0; i < v.runs; ++i) runs.push_back(time_once(v.run).seconds / double(v.steps) / v.points);
      const double seconds = median(runs);
      if (round >= 0) v.seconds.push_back(seconds);
      if (round >= 0 && v.name == "resident") core_distance.push_back(core_distance_ns());
      if (round >= 0 && v.name == "spatial")
        predicted_over_measured.push_back(predicted.back() * 1e9 * seconds);
    }
  const auto ratio = [&](const Variant& v, const Variant& against) {
    std::vector<double> r;
    for (std::size_t i = 0; i < v.seconds.size(); ++i) r.push_back(against.seconds[i] / v.seconds[i]);
    return median(r);
  };
  for (const Variant& v : variants) {
    const double seconds = median(v.seconds);
    const auto [low, high] = std::minmax_element(v.seconds.begin(), v.seconds.end());
    const int bytes = v.name == "copy_roof" ? 2 * int(sizeof(T)) : view.bytes_per_point(sizeof(T));
    Json figure = {{"name", v.name},
                   {"stencil", c.name},
                   {"dtype", is_float ? "float32" : "float64"},
                   {"size", v.name == "resident" ? resident.shape : shape},
                   {"schedule", v.schedule},
                   {"threads", thread_count()},
                   {"seconds", seconds * v.points},
                   {"spread", (*high - *low) / seconds},
                   {"repetitions", rounds},
                   {"glups", 1e-9 / seconds},
                   {"bytes_per_update", bytes},
                   // Of the bandwidth that the copy had in the same round.
                   {"share_of_bandwidth", ratio(v, variants[0]) * bytes / (2.0 * sizeof(T))},
                   {"ratio_to_copy_roof", ratio(v, variants[0])},
                   {"ratio_to_spatial", ratio(v, variants[2])},
                   {"ratio_to_resident", ratio(v, variants[4])},
                   {"relative_error", 0}};
    if (v.name == "resident") {
      figure["temporal_over_resident"] = ratio(variants[3], v);
      if (core_distance.front() > 0) figure["core_distance_ns"] = median(core_distance);
    }
    if (v.name == "spatial") {
      figure["predicted_glups"] = median(predicted);
      figure["predicted_over_measured"] = median(predicted_over_measured);
    }
    result.figures.push_back(figure);
  }
}

}  // namespace

std::vector<std::string> stencil_bench_names() {
  std::vector<std::string> names{"all"};
  for (const Case& c : cases) names.push_back(c.name);
  for (const char* name : {"on-chip", "chain", "chain-length", "chain-blur", "chain-heat"})
    names.push_back(name);  // of GPUs alone
  return names;
}

BenchResult bench_stencil(const BenchRequest& request) {
  if (request.device.kind == DeviceKind::cuda) return bench_stencil_cuda(request);
  if (request.stencil == "on-chip" || request.stencil.rfind("chain", 0) == 0)
    throw ArgumentError(fmt::format("bench stencil: {} is measured with --device cuda", request.stencil));
  BenchResult result;
  result.columns = {
      "stencil",           "dtype",   "name", "glups", "spread", "ratio_to_copy_roof", "ratio_to_spatial",
      "ratio_to_resident", "schedule"};
  std::vector<const Case*> chosen;
  for (const Case& c : cases)
    if (request.stencil == "all" ||
        c.name == (request.stencil.empty() ? std::string("7-point") : request.stencil))
      chosen.push_back(&c);
  for (const Case* c : chosen)
    for (const bool is_float : {false, true}) {
      if (request.progress)
        request.progress("stencil", double(result.figures.size()) / double(10 * chosen.size()), c->name);
      if (is_float)
        bench_case<float>(*c, request, result);
      else
        bench_case<double>(*c, request, result);
    }
  return result;
}
