#include <fmt/format.h>

#include "spinloom/runtime/threads.hpp"
#include "stencil_command.hpp"

namespace stencil_command {
namespace {

template <class T>
std::pair<Json, std::string> tune_case(const Options& o, const Console& console) {
  const Case<T> c(o);
  st::TuneOptions options;
  options.steps = o.steps;
  options.ignore_cache = o.is_fresh;
  options.log = console.log();
  options.progress = console.progress();
  const st::Tuned t = st::tune(c.kernels, c.problem, options);
  Json trials = Json::array();
  std::string table;
  for (const st::Trial& trial : t.trials) {
    trials.push_back({{"schedule", to_string(trial.schedule)},
                      {"predicted_glups", trial.predicted_glups},
                      {"glups", trial.glups},
                      {"trials", trial.rounds},
                      {"finalist", trial.is_finalist}});
    table += fmt::format("{:<64}{:>10.3g}{:>10.3g}{}\n", to_string(trial.schedule), trial.predicted_glups,
                         trial.glups, trial.is_finalist ? "  finalist" : "");
  }
  if (!table.empty()) table = fmt::format("{:<64}{:>10}{:>10}\n", "candidate", "predicted", "GLUP/s") + table;
  return {{{"stencil", c.source.name},
           {"matrix", c.problem.shape},
           {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
           {"device", to_string(o.where)},
           {"steps", o.steps},
           {"threads", spinloom::thread_count()},
           {"schedule", to_string(t.schedule)},
           {"first_guess", to_string(t.first_guess)},
           {"from_cache", t.from_cache},
           {"seconds", t.seconds},
           {"trials", trials}},
          fmt::format("{}{} by '{}'{}, {:.3g} s", table, c.source.name, to_string(t.schedule),
                      t.from_cache ? ", remembered" : "", t.seconds)};
}

}  // namespace

std::pair<Json, std::string> tune(const Options& o, const Console& console) {
  return o.precision == "float" ? tune_case<float>(o, console) : tune_case<double>(o, console);
}

}  // namespace stencil_command
