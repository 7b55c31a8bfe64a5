#pragma once
#include <map>

#include "common.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/stepper.hpp"
#include "spinloom/stencil/tuner.hpp"
#include "stencil_source.hpp"

/// What the commands under `spinloom stencil` share.
namespace stencil_command {

namespace st = spinloom::stencil;
using spinloom::Index;

struct Options : Common {
  std::string name, expression;  ///< one of the two
  std::string matrix, schedule, boundary = "dirichlet 0", precision = "double";
  Index steps = 10;
  std::vector<std::string> params, inputs, outputs;
  double otherwise =
      0.1;  ///< value of a parameter that has no default: speed does not depend on it. NaN: refuse
  bool has_measured = false, is_fresh = false;
  spinloom::Device where;  ///< what --device came to
  spinloom::Shape shape() const { return parse_matrix("--matrix", matrix.empty() ? "256,256,256" : matrix); }
};

/// The stencil and its grids; each command makes what it needs of them.
template <class T>
struct Case {
  Source source;
  std::vector<st::Kernel<T>> kernels;
  st::GridProblem problem;
  std::vector<double> params;
  st::GridLayout layout;

  explicit Case(const Options& o) : Case(o, o.shape()) {}
  Case(const Options& o, const spinloom::Shape& shape)
      : source(find_source(o.name, o.expression)),
        kernels(source.kernels<T>()),
        params(param_values(source, o.params, o.otherwise)) {
    problem.shape = shape;
    int fields = 0;
    for (const auto& k : kernels) {
      const st::Halo one(k.view().reach());
      fields = std::max(fields, k.view().fields());
      for (std::size_t a = 0; a < 3; ++a) {
        problem.halo.low[a] = std::max(problem.halo.low[a], one.low[a]);
        problem.halo.high[a] = std::max(problem.halo.high[a], one.high[a]);
      }
    }
    problem.device = o.where;
    layout = st::make_layout(problem.shape, problem.halo, sizeof(T), o.where);
    const st::Boundary boundary = st::parse_boundary(o.boundary);
    st::Boundaries faces{{boundary, boundary, boundary}, {boundary, boundary, boundary}};
    if (problem.shape.size() == 2) faces.low[1] = faces.high[1] = {};
    problem.fields.assign(static_cast<std::size_t>(fields), faces);
  }
};

inline const char* dtype_name(std::size_t bytes) {
  return bytes == 2 ? "float16" : bytes == 4 ? "float32" : "float64";
}

/// Grids of a case: the values given, by field; without any, a bump in the middle of field 0, and 0.1 in the other
/// fields, below the wave equation's limit of stability. What came before is at first the same.
template <class T>
struct Grids {
  std::vector<st::Grid<T>> grids;
  std::vector<st::FieldGrids<T>> bound;

  /// `is_flat`: 0.1 everywhere, where values do not matter.
  Grids(const Case<T>& c, const st::Boundary& boundary, const std::map<int, spinloom::Array<T>>& given = {},
        bool is_flat = false) {
    const auto& shape = c.problem.shape;
    grids.reserve(2 * c.problem.fields.size());
    for (int f = 0; f < static_cast<int>(c.problem.fields.size()); ++f) {
      const auto add = [&]() -> st::Grid<T>& {
        grids.emplace_back(shape, c.problem.halo, boundary, c.problem.device);
        auto& g = grids.back();
        if (is_flat) {
          g.fill(T(0.1));
          return g;
        }
        if (!given.empty()) {
          if (const auto found = given.find(f); found != given.end()) g.assign(found->second.view());
          return g;
        }
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
      if (c.kernels[0].view().reads(f, st::TimeLevel::previous))
        bound.push_back({current, add()});
      else
        bound.push_back({current});
    }
  }
};

/// What is printed of a field.
template <class T>
Json summary(const spinloom::Array<T>& a) {
  double sum = 0, least = a.empty() ? 0 : double(a[0]), most = least;
  for (const T v : a) {
    sum += double(v);
    least = std::min(least, double(v));
    most = std::max(most, double(v));
  }
  return {{"sum", sum}, {"min", least}, {"max", most}};
}

/// --schedule as it was given, or found: "best" and "tuned" look for one.
template <class T>
st::Schedule chosen_schedule(const Options& o, const Case<T>& c, const Console& console) {
  st::TuneOptions options;
  options.steps = o.steps;
  options.log = console.log();
  options.progress = console.progress();
  if constexpr (std::is_same_v<T, spinloom::Half>) {
    if (o.schedule == "best" || o.schedule == "tuned")
      throw CLI::ValidationError("--schedule",
                                 "'" + o.schedule + "' is for float and double; name a schedule for half");
  } else {
    if (o.schedule == "best") return st::best_schedule(c.kernels, c.problem, options).schedule;
    if (o.schedule == "tuned") return st::tune(c.kernels, c.problem, options).schedule;
  }
  return st::parse_schedule(o.schedule);
}

/// Everything that the model needs but for the rates of memory, measured or counted.
template <class T>
st::ModelInput model_input(const Case<T>& c, const st::Schedule& schedule, Index steps,
                           const st::Machine& machine) {
  st::ModelInput in;
  for (const auto& k : c.kernels) in.chain.push_back(*k.definition);
  in.layout = c.layout;
  in.element_bytes = sizeof(T);
  in.schedule = st::effective(c.kernels, schedule);
  in.steps = steps;
  in.machine = machine;
  return in;
}

Json run(const Options& o, const Console& console);
/// The object that is printed with --json, and the text without.
std::pair<Json, std::string> model(const Options& o, const Console& console);
std::pair<Json, std::string> model_on_gpu(const Options& o, const Console& console);
std::pair<Json, std::string> tune(const Options& o, const Console& console);

}  // namespace stencil_command
