#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "spinloom/core/error.hpp"
#include "stencil_command.hpp"
#include "stencil_ranks.hpp"

namespace {

namespace st = spinloom::stencil;
using spinloom::Index;
using stencil_command::Options;

/// "7-point  what it is; its parameters" for each stencil.
std::string list_of_stencils() {
  std::string list = "NAME:\n";
  for (const auto& info : st::builtins()) {
    std::string params;
    for (const auto& [name, value] : info.params)
      params += fmt::format("{}{} {:.4g}", params.empty() ? "; " : ", ", name, value);
    list += fmt::format("  {:<22}{}{}\n", info.name, info.description, params);
  }
  return list;
}
constexpr const char* schedules =
    "A schedule is naive, sweep, overlapped, wavefront or diamond, then rows=N columns=N width=N steps=N "
    "planes=1|2|4 stream prefetch; or 'best': the one remembered from a tuning, else the model's guess; or "
    "'tuned': "
    "the one remembered, else found now. On a GPU (--device cuda) it is cuda, the library's choice, cuda "
    "gather or "
    "cuda march, then block=XxY rows=N depth=N points=N ahead=N unroll=N shuffle. It changes the speed and "
    "not one bit of the result.\n";

enum Parts : unsigned { with_schedule = 1, with_values = 2, on_gpus = 4, on_ranks = 8 };

CLI::App* declare(CLI::App& parent, Options& o, const char* name, const char* what,
                  const std::string& example, unsigned parts) {
  CLI::App* app = parent.add_subcommand(name, what);
  std::vector<std::string> names;
  for (const auto& info : st::builtins()) names.push_back(info.name);
  app->footer(list_of_stencils() + ((parts & with_schedule) != 0 ? schedules : "") + "Example: " + example);
  auto* name_option = app->add_option("NAME", o.name, "stencil, see below")->check(CLI::IsMember(names));
  app->add_option("--expression", o.expression,
                  "a stencil of your own instead, such as 'next(u) = u(0,0,0) + dt * (u(0,0,1) - u(0,0,-1))'")
      ->excludes(name_option);
  app->add_option("--matrix", o.matrix,
                  "points, Z,Y,X or Y,X as the stencil has it; 256,256,256 unless given");
  app->add_option("--boundary", o.boundary,
                  "all faces: none, 'dirichlet VALUE', 'neumann SLOPE', periodic, reflect or clamp")
      ->capture_default_str();
  const bool may_be_half = (parts & with_values) != 0;
  app->add_option(
         "--precision", o.precision,
         may_be_half ? "float, double, or half: kept in 16 bits, computed in float" : "float or double")
      ->check(may_be_half ? CLI::IsMember({"float", "double", "half"}) : CLI::IsMember({"float", "double"}))
      ->capture_default_str();
  if ((parts & with_schedule) != 0)
    app->add_option("--schedule", o.schedule, "how the steps are carried out")->capture_default_str();
  if ((parts & with_values) != 0) {
    o.otherwise = std::nan("");
    app->add_option("--param", o.params, "values of the stencil's parameters, in order, or NAME=VALUE");
    app->add_option(
        "--input", o.inputs,
        "FIELD=FILE, an image (NIfTI, npy, ..) that the field starts from; FILE alone: the first field. "
        "Without any, fields start from a block of ones in the middle");
    app->add_option("-o,--output", o.outputs,
                    "FIELD=FILE, where a field is written in the end (.npy, .nii, .nii.gz, .cfl)");
  }
  o.device = "cpu";
  const unsigned devices = (parts & on_ranks) != 0  ? with_several_devices
                           : (parts & on_gpus) != 0 ? with_device
                                                    : 0u;
  declare_common(*app, o, with_threads | devices | ((parts & with_values) != 0 ? with_force : 0u));
  return app;
}

std::vector<spinloom::Device> one_device(const Options& o) { return {o.start(Common::Gpu::accepted)}; }

/// Texts that are not what they should be are wrong usage.
template <class Parse>
void require(const char* option, const std::string& text, const Parse& parse) {
  try {
    parse(text);
  } catch (const spinloom::ArgumentError& e) {
    throw CLI::ValidationError(option, e.what());
  }
}
void require_texts(const Options& o) {
  if (!o.schedule.empty() && o.schedule != "best" && o.schedule != "tuned")
    require("--schedule", o.schedule, st::parse_schedule);
  require("--boundary", o.boundary, st::parse_boundary);
}

StencilRun what_ranks_run(const Options& o, const stencil_command::Source& source,
                          const std::vector<spinloom::Device>& devices) {
  StencilRun what;
  what.params = param_values(source, o.params, o.otherwise);
  what.source = source;
  what.matrix = o.matrix.empty() ? "256,256,256" : o.matrix;
  what.schedule = o.schedule;
  what.boundary = o.boundary;
  what.precision = o.precision;
  what.steps = o.steps;
  what.devices = devices;
  what.any_gpu = o.device == "cuda" || o.device == "auto";
  what.has_files = !o.inputs.empty() || !o.outputs.empty();
  return what;
}

}  // namespace

Command add_stencil(CLI::App& program) {
  auto* app =
      program.add_subcommand("stencil", "Run stencils on regular grids, predict their speed, find schedules");
  app->require_subcommand(1);
  auto ran = std::make_shared<Options>(), modelled = std::make_shared<Options>(),
       tuned = std::make_shared<Options>();
  const auto steps = [](CLI::App* of, Options& o, Index least, const char* what) {
    of->add_option("--steps", o.steps, what)->check(CLI::Range(least, Index{1} << 40))->capture_default_str();
  };
  ran->schedule = "naive";
  auto* run =
      declare(*app, *ran, "run", "Run a stencil on images or on a block of ones, and print what became of it",
              "spinloom stencil run 7-point --matrix 512,512,512 --steps 100 --schedule 'diamond width=32 "
              "planes=4 prefetch'",
              with_schedule | with_values | on_ranks);
  steps(run, *ran, 0, "steps");
  const auto run_on_ranks = declare_stencil_ranks(*run);
  modelled->schedule = "best";
  auto* model = declare(
      *app, *modelled, "model",
      "Print what a cache holds, the bytes that an update moves, and the speed that follows",
      "spinloom stencil model 25-point --matrix 512,512,512 --schedule 'sweep rows=64 planes=4 stream "
      "prefetch' --measure",
      with_schedule | on_gpus);
  steps(model, *modelled, 1, "steps of a run: a temporal block is no deeper");
  model->add_flag("--measure", modelled->has_measured, "run it too, and print what was measured beside");
  auto* tune = declare(*app, *tuned, "tune",
                       "Find the fastest schedule by trials, or the one found before, and remember it",
                       "spinloom stencil tune 7-point --matrix 512,512,512 --steps 1000", on_gpus);
  tuned->steps = 1000;
  steps(tune, *tuned, 1, "steps of the runs to come");
  tune->add_flag("--fresh", tuned->is_fresh, "try again what was found before");
  return {app, [=] {
            const auto chosen = run->parsed() ? ran : model->parsed() ? modelled : tuned;
            if (chosen->name.empty() && chosen->expression.empty())
              throw CLI::RequiredError("NAME or --expression");
            const auto devices = run->parsed() ? ran->start_several() : one_device(*chosen);
            chosen->where = devices.front();
            const Console console = chosen->console();
            const auto source = stencil_command::find_source(chosen->name, chosen->expression);
            if (run->parsed() && run_on_ranks(what_ranks_run(*ran, source, devices), console)) return;
            require_texts(*chosen);
            if (run->parsed()) {
              const Json json = stencil_command::run(*ran, console);
              console.result(
                  json,
                  fmt::format("{} by '{}': {} steps in {:.3g} s, {:.3g} GLUP/s; sum {:.6g}, min {:.6g}, max "
                              "{:.6g}",
                              source.name, json["schedule"].get<std::string>(), ran->steps,
                              json["seconds"].get<double>(), json["glups"].get<double>(),
                              json["fields"][0]["sum"].get<double>(), json["fields"][0]["min"].get<double>(),
                              json["fields"][0]["max"].get<double>()));
              return;
            }
            const auto [json, text] = model->parsed() ? stencil_command::model(*modelled, console)
                                                      : stencil_command::tune(*tuned, console);
            console.result(json, text);
          }};
}
