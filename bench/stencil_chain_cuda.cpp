#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "spinloom/stencil/gpu_model.hpp"
#include "spinloom/stencil/linear.hpp"
#include "spinloom/stencil/parse.hpp"
#include "spinloom/stencil/stepper.hpp"
#include "stencil_fields.hpp"

/// Chains of stencils on a GPU: all in one pass over memory against one pass for each.
namespace {

using namespace spinloom;
using namespace spinloom::bench_stencil;

struct Chain {
  const char* name;
  std::vector<std::string> texts;
  int values;  ///< that a point must move: those that a step starts from, and those that the next one does
  std::vector<const char*> schedules;
};

const std::vector<Chain>& chains() {
  static const std::string length =
      "max(1.0, p1 * sqrt(u1(0,0,0) * u1(0,0,0) + u2(0,0,0) * u2(0,0,0) + u3(0,0,0) * u3(0,0,0)))";
  static const auto along = [](const char* low2, const char* low, const char* high, const char* high2) {
    return fmt::format("next(u0) = 0.625 * u0(0,0,0) + p0 * (u0({}) + u0({})) + 0.0625 * (u0({}) + u0({}))",
                       low, high, low2, high2);
  };
  static const std::string gradient =
      "next(u1) = u0(1,0,0) - u0(0,0,0); next(u2) = u0(0,1,0) - u0(0,0,0); next(u3) = u0(0,0,1) - u0(0,0,0)";
  static const std::string step =
      "next(u0) = u0(0,0,0) + p0 * ((u1(0,0,0) - u1(-1,0,0)) + (u2(0,0,0) - u2(0,-1,0)) + (u3(0,0,0) - "
      "u3(0,0,-1)))";
  static const std::string heat =
      "next(u0) = u0(0,0,0) + p0 * (u0(0,0,1) + u0(0,0,-1) + u0(0,1,0) + u0(0,-1,0) + u0(1,0,0) + u0(-1,0,0) "
      "- 6 * u0(0,0,0))";
  static const std::vector<Chain> all = {
      // Gradient, its components drawn towards zero, and a step along the divergence.
      {"chain",
       {gradient,
        "next(u1) = u1(0,0,0) - min(max(u1(0,0,0), -p1), p1); next(u2) = u2(0,0,0) - min(max(u2(0,0,0), "
        "-p1), "
        "p1); next(u3) = u3(0,0,0) - min(max(u3(0,0,0), -p1), p1)",
        step},
       2,
       {"cuda fused", "cuda fused scratch", "cuda fused tile block=32x4 rows=1 depth=2 shuffle"}},
      // The same by the gradient's length: a root and three quotients a point.
      {"chain-length",
       {gradient,
        "next(u1) = u1(0,0,0) / " + length + "; next(u2) = u2(0,0,0) / " + length +
            "; next(u3) = u3(0,0,0) / " + length,
        step},
       2,
       {"cuda fused"}},
      {"chain-blur",
       {along("-2,0,0", "-1,0,0", "1,0,0", "2,0,0"), along("0,-2,0", "0,-1,0", "0,1,0", "0,2,0"),
        along("0,0,-2", "0,0,-1", "0,0,1", "0,0,2")},
       2,
       {"cuda fused"}},
      {"chain-heat", {heat, heat}, 2, {"cuda fused"}}};
  return all;
}

/// A text's stencil whose fields and parameters have the numbers in their names: u2, p1.
st::Definition numbered(const std::string& text) {
  st::ParsedStencil parsed = st::parse_stencil(text);
  const auto number = [](const std::string& called) {
    return static_cast<short>(std::stoi(called.substr(1)));
  };
  for (st::Node& n : parsed.definition.code)
    if (n.op == st::Op::access || n.op == st::Op::param)
      n.field =
          number((n.op == st::Op::access ? parsed.fields : parsed.params)[static_cast<std::size_t>(n.field)]);
  for (st::Output& o : parsed.definition.outputs)
    o.field = number(parsed.fields[static_cast<std::size_t>(o.field)]);
  return parsed.definition;
}

template <class T>
struct ChainFields {
  std::vector<st::Kernel<T>> kernels;
  std::vector<st::Grid<T>> grids;
  ChainFields(const Chain& c, const Shape& shape, Device device) {
    int fields = 0;
    st::Halo halo(0);
    for (const std::string& text : c.texts) {
      kernels.push_back(st::make_interpreted_kernel<T>(numbered(text)));
      fields = std::max(fields, kernels.back().view().fields());
      halo = st::Halo(std::max<Index>(halo.low[0], kernels.back().view().reach().radius()));
    }
    for (int f = 0; f < fields; ++f) {
      grids.emplace_back(shape, halo, st::clamp(), device);
      if (f == 0)
        grids[0].fill(
            [](Index z, Index y, Index x) { return T(1 + 0.01 * double((7 * z + 3 * y + x) % 101)); });
    }
  }
  st::Stepper<T> stepper(const std::string& schedule) {
    st::Stepper<T> s(kernels, {grids.begin(), grids.end()}, st::parse_schedule(schedule));
    int params = 0;
    for (const auto& k : kernels) params = std::max(params, k.view().params());
    const double values[] = {0.125, 0.25};
    for (int p = 0; p < params; ++p) s.set(p, values[p]);
    return s;
  }
};

/// Throws unless a schedule gives the bits of the naive one on the host.
template <class T>
void check_chain(const Chain& c, const Shape& shape, const std::string& schedule, Device device) {
  ChainFields<T> expected(c, shape, {}), got(c, shape, device);
  expected.stepper("naive").run(3);
  got.stepper(schedule).run(3);
  const bool keeps_all = schedule.find("scratch") == std::string::npos;
  for (std::size_t f = 0; f < (keeps_all ? got.grids.size() : 1); ++f) {
    const auto a = got.grids[f].to_array(), b = expected.grids[f].to_array();
    if (std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.size())) != 0)
      throw NotConverged(fmt::format("bench stencil: {} by '{}' differs from the naive schedule on the host",
                                     c.name, schedule));
  }
}

struct ChainVariant {
  std::string name, schedule, carried_by;
  std::function<void()> run;
  std::vector<double> seconds;  ///< of a point's step
};

template <class T>
void bench_chain(const Chain& c, const BenchRequest& request, BenchResult& result) {
  const bool is_float = sizeof(T) == 4;
  const Device device = request.device;
  const Index n = is_float ? 768 : 512;
  const Shape shape = request.matrix.empty() ? Shape{n, n, n} : request.matrix;
  if (shape.size() != 3)
    throw ArgumentError(
        fmt::format("bench stencil: {} is a chain in 3D, --matrix has {} sizes", c.name, shape.size()));
  Shape small = shape;
  for (Index& extent : small) extent = std::min<Index>(extent, 75);
  std::vector<std::string> schedules{"cuda separate", "cuda"};
  schedules.insert(schedules.end(), c.schedules.begin(), c.schedules.end());
  for (const std::string& schedule : schedules) check_chain<T>(c, small, schedule, device);

  const double points = double(count(shape));
  constexpr Index steps = 16;
  const int rounds = request.repetitions > 0 ? request.repetitions : 11;
  ChainFields<T> fields(c, shape, device);
  const Index copied = std::max(count(shape), (Index{1} << 30) / Index{sizeof(T)});
  const auto from = Array<T>::zeros({copied}, device);
  Array<T> to({copied}, device);
  std::vector<ChainVariant> variants;
  variants.push_back({"copy_roof", "", "", [&] { transfer<T>(from.view(), to.view()); }, {}});
  std::vector<st::Stepper<T>> steppers;
  steppers.reserve(schedules.size());
  for (const std::string& schedule : schedules) {
    steppers.push_back(fields.stepper(schedule));
    const std::string name = schedule == "cuda" ? "chosen" : schedule.substr(5);
    variants.push_back({name,
                        schedule,
                        to_string(steppers.back().schedule()),
                        [&s = steppers.back()] { s.run(steps); },
                        {}});
  }
  for (int round = -1; round < rounds; ++round)
    for (ChainVariant& v : variants) {
      const double seconds = time_once([&] {
                               v.run();
                               synchronize(device);
                             }).seconds;
      if (round >= 0)
        v.seconds.push_back(seconds / (v.schedule.empty() ? double(copied) : points * double(steps)));
    }
  const st::GpuMachine machine = st::measure_gpu(device);
  /// Steps of a point a second, where the model counts stencils.
  const auto predicted = [&](const ChainVariant& v) {
    std::vector<st::Boundaries> faces;
    for (const auto& grid : fields.grids) faces.push_back(grid.boundaries());
    st::GpuModelInput in = st::gpu_model_input(fields.kernels, fields.grids[0].layout(), faces,
                                               st::parse_schedule(v.schedule), steps);
    in.machine = machine;
    st::rehearse_gpu(fields.kernels, in);
    return st::predict_gpu(in).glups / double(fields.kernels.size());
  };
  for (const ChainVariant& v : variants) {
    const double seconds = median(v.seconds);
    const auto [low, high] = std::minmax_element(v.seconds.begin(), v.seconds.end());
    std::vector<double> to_copy, to_separate;
    for (std::size_t i = 0; i < v.seconds.size(); ++i) {
      to_copy.push_back(variants[0].seconds[i] / v.seconds[i]);
      to_separate.push_back(variants[1].seconds[i] / v.seconds[i]);
    }
    const double ratio = median(to_copy);
    result.figures.push_back({{"name", v.name},
                              {"stencil", c.name},
                              {"dtype", is_float ? "float32" : "float64"},
                              {"size", shape},
                              {"schedule", v.carried_by},
                              {"steps", steps},
                              {"seconds", seconds * points},
                              {"spread", (*high - *low) / seconds},
                              {"repetitions", rounds},
                              {"glups", 1e-9 / seconds},
                              {"bytes_per_update", c.values * int(sizeof(T))},
                              {"share_of_bandwidth", ratio * c.values / 2},
                              {"ratio_to_copy_roof", ratio},
                              {"ratio_to_separate", median(to_separate)},
                              {"relative_error", 0}});
    if (v.schedule.empty()) continue;
    const double glups = predicted(v);
    result.figures.back()["predicted_glups"] = glups;
    result.figures.back()["predicted_over_measured"] = glups * 1e9 * seconds;
  }
}

}  // namespace

void bench_stencil_chains_cuda(const BenchRequest& request, BenchResult& result) {
  for (const Chain& c : chains()) {
    if (request.stencil != "all" && request.stencil != c.name) continue;
    if (request.progress) request.progress("stencil", 0, c.name);
    bench_chain<float>(c, request, result);
    bench_chain<double>(c, request, result);
  }
}
