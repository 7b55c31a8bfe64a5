#include <fmt/format.h>

#include <chrono>

#include "commands.hpp"
#include "common.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/stepper.hpp"
#include "stencil_ranks.hpp"

namespace {

namespace st = spinloom::stencil;
using spinloom::Index;

struct Options : Common {
  std::string name, matrix = "256,256,256", schedule = "naive", boundary = "dirichlet 0",
                    precision = "double";
  Index steps = 10;
  std::vector<double> params;
};

/// A bump in the middle of field 0; the other fields are 0.1, below the wave equation's limit of stability.
template <class T>
Json run(const Options& o, const Console& console) {
  const st::BuiltinInfo& info = st::find_builtin(o.name);
  const auto kernels = st::builtin_kernels<T>(o.name);
  const auto view = kernels[0].view();
  const spinloom::Shape shape = parse_matrix("--matrix", o.matrix);
  st::Halo halo;
  int fields = 0;
  for (const auto& k : kernels) {
    const st::Halo one(k.view().reach());
    fields = std::max(fields, k.view().fields());
    for (std::size_t a = 0; a < 3; ++a) {
      halo.low[a] = std::max(halo.low[a], one.low[a]);
      halo.high[a] = std::max(halo.high[a], one.high[a]);
    }
  }
  const st::Boundary boundary = st::parse_boundary(o.boundary);
  std::vector<st::Grid<T>> grids;
  grids.reserve(static_cast<std::size_t>(2 * fields));
  std::vector<st::FieldGrids<T>> bound;
  for (int f = 0; f < fields; ++f) {
    const auto add = [&]() -> st::Grid<T>& {
      grids.emplace_back(shape, halo, boundary);
      auto& g = grids.back();
      const auto& n = g.layout().n;
      const auto value = [n, f](Index z, Index y, Index x) {
        const bool inside = std::abs(2 * z + 1 - n[0]) * 4 <= n[0] + 3 &&
                            std::abs(2 * y + 1 - n[1]) * 4 <= n[1] + 3 &&
                            std::abs(2 * x + 1 - n[2]) * 4 <= n[2] + 3;
        return T(f > 0 ? 0.1 : inside ? 1 : 0);
      };
      if (shape.size() == 2)
        g.fill([&](Index y, Index x) { return value(y, 0, x); });
      else
        g.fill(value);
      return g;
    };
    st::Grid<T>& current = add();
    if (view.reads(f, st::TimeLevel::previous))
      bound.push_back({current, add()});
    else
      bound.push_back({current});
  }
  st::Stepper<T> stepper(kernels, bound, st::parse_schedule(o.schedule));
  if (o.params.size() > info.params.size())
    throw spinloom::ArgumentError(fmt::format("stencil run: {} values of --param, {} has {}", o.params.size(),
                                              o.name, info.params.size()));
  Json params = Json::object();
  for (std::size_t p = 0; p < info.params.size(); ++p) {
    const double value = p < o.params.size() ? o.params[p] : info.params[p].second;
    stepper.set(static_cast<int>(p), value);
    params[info.params[p].first] = value;
  }
  const auto begin = std::chrono::steady_clock::now();
  stepper.run(o.steps, console.progress());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json results = Json::array();
  for (const auto& b : bound) {
    const auto a = b.current->to_array();
    double sum = 0, least = a.empty() ? 0 : double(a[0]), most = least;
    for (const T v : a) {
      sum += double(v);
      least = std::min(least, double(v));
      most = std::max(most, double(v));
    }
    results.push_back({{"sum", sum}, {"min", least}, {"max", most}});
  }
  const double points = double(spinloom::count(shape)) * double(o.steps) * double(kernels.size());
  return {{"stencil", o.name},
          {"expression", to_string(*kernels[0].definition)},
          {"instructions", kernels[0].rows.target},
          {"matrix", shape},
          {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
          {"schedule", to_string(stepper.schedule())},
          {"boundary", to_string(boundary)},
          {"params", params},
          {"steps", o.steps},
          {"threads", spinloom::thread_count()},
          {"seconds", seconds},
          {"glups", seconds > 0 ? points / seconds * 1e-9 : 0},
          {"fields", results}};
}

}  // namespace

Command add_stencil(CLI::App& program) {
  auto* app = program.add_subcommand("stencil", "Run stencils on regular grids");
  app->require_subcommand(1);
  auto* run_app =
      app->add_subcommand("run", "Run a built-in stencil from a block of ones and print what became of it");
  auto o = std::make_shared<Options>();
  std::vector<std::string> names;
  std::string footer = "NAME:\n";
  for (const auto& info : st::builtins()) {
    names.push_back(info.name);
    std::string params;
    for (const auto& [name, value] : info.params)
      params += fmt::format("{}{} {:.4g}", params.empty() ? "; " : ", ", name, value);
    footer += fmt::format("  {:<22}{}{}\n", info.name, info.description, params);
  }
  footer +=
      "A schedule is naive, sweep, overlapped, wavefront or diamond, then rows=N columns=N width=N steps=N "
      "planes=1|2|4 stream "
      "prefetch. It changes the speed and not one bit of the result.\n"
      "Example: spinloom stencil run 7-point --matrix 512,512,512 --steps 100 --schedule 'diamond width=32 "
      "planes=4 prefetch'";
  run_app->footer(footer);
  run_app->add_option("NAME", o->name, "stencil, see below")->required()->check(CLI::IsMember(names));
  run_app->add_option("--matrix", o->matrix, "points, Z,Y,X or Y,X as the stencil has it")
      ->capture_default_str();
  run_app->add_option("--steps", o->steps, "steps")
      ->check(CLI::Range(Index{0}, Index{1} << 40))
      ->capture_default_str();
  run_app->add_option("--schedule", o->schedule, "how the steps are carried out")->capture_default_str();
  run_app
      ->add_option("--boundary", o->boundary,
                   "all faces: none, 'dirichlet VALUE', 'neumann SLOPE', periodic, reflect or clamp")
      ->capture_default_str();
  run_app->add_option("--precision", o->precision, "float or double")
      ->check(CLI::IsMember({"float", "double"}))
      ->capture_default_str();
  run_app->add_option("--param", o->params, "values of the stencil's parameters, in order");
  const auto run_on_ranks = declare_stencil_ranks(*run_app);
  declare_common(*run_app, *o, with_threads);
  return {
      app, [o, run_on_ranks] {
        o->start();
        const Console console = o->console();
        if (run_on_ranks({o->name, o->matrix, o->schedule, o->boundary, o->precision, o->steps, o->params},
                         console))
          return;
        try {
          st::parse_schedule(o->schedule);
        } catch (const spinloom::ArgumentError& e) {
          throw CLI::ValidationError("--schedule", e.what());
        }
        try {
          st::parse_boundary(o->boundary);
        } catch (const spinloom::ArgumentError& e) {
          throw CLI::ValidationError("--boundary", e.what());
        }
        const Json json = o->precision == "float" ? run<float>(*o, console) : run<double>(*o, console);
        console.result(
            json,
            fmt::format("{} by '{}': {} steps in {:.3g} s, {:.3g} GLUP/s; sum {:.6g}, min {:.6g}, max {:.6g}",
                        o->name, json["schedule"].get<std::string>(), o->steps, json["seconds"].get<double>(),
                        json["glups"].get<double>(), json["fields"][0]["sum"].get<double>(),
                        json["fields"][0]["min"].get<double>(), json["fields"][0]["max"].get<double>()));
      }};
}
