#include "stencil_ranks.hpp"

#include <fmt/format.h>

#include <chrono>

#include "spinloom/core/devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/domain_stepper.hpp"
#include "stencil_command.hpp"

namespace {

namespace st = spinloom::stencil;
using spinloom::Communicator;
using spinloom::Index;

struct RankOptions {
  std::string ranks = "auto", split, exchange = "overlapped";
  int steps_between = 1;
};

/// What an option's text stands for; where it cannot be read, the option is to blame.
template <class Parse>
auto as_option(const char* option, const Parse& parse) {
  try {
    return parse();
  } catch (const spinloom::ArgumentError& e) {
    throw CLI::ValidationError(option, e.what());
  }
}

/// "2,1,0"
spinloom::Shape parse_split(const std::string& text) {
  spinloom::Shape split;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    Index parts = 0;
    if (!CLI::detail::lexical_cast(word, parts) || parts < 0)
      throw CLI::ValidationError("--split", "'" + text + "' is not one whole number for each axis, as 2,1,0");
    split.push_back(parts);
  }
  return split;
}

/// The same start as on one rank: a bump in the middle of field 0, 0.1 in the others.
template <class T>
Json run(const StencilRun& what, const RankOptions& how, const Communicator& c, const Console& console) {
  const auto kernels = what.source.kernels<T>();
  spinloom::Shape shape;
  st::Boundary boundary;
  st::Schedule schedule;
  std::unique_ptr<st::Domain> domain;
  std::vector<st::DomainGrid<T>> grids;
  std::vector<st::DomainFields<T>> fields;
  std::unique_ptr<st::DomainStepper<T>> stepper;
  const spinloom::Device device = what.devices[static_cast<std::size_t>(c.rank()) % what.devices.size()];
  const bool on_gpu = device.kind == spinloom::DeviceKind::cuda;
  c.agree([&] {
    shape = parse_matrix("--matrix", what.matrix);
    boundary = as_option("--boundary", [&] { return st::parse_boundary(what.boundary); });
    schedule = as_option("--schedule", [&] { return st::parse_schedule(what.schedule); });
    if (kernels[0].definition->rank != static_cast<int>(shape.size()))
      throw spinloom::ArgumentError(fmt::format("{} is written for {} axes, --matrix has {}",
                                                what.source.name, kernels[0].definition->rank, shape.size()));
    const bool is_periodic = boundary.kind == st::Boundary::Kind::periodic;
    st::DomainOptions options{{}, {is_periodic, is_periodic, is_periodic}};
    if (!how.split.empty()) options.split = parse_split(how.split);
    domain = std::make_unique<st::Domain>(shape, c, st::rim_of(kernels, how.steps_between), options);
    int count = 0;
    for (const auto& k : kernels) count = std::max(count, k.view().fields());
    grids.reserve(static_cast<std::size_t>(2 * count));
    const auto n = st::make_layout(shape, {}, 1).n;
    for (int f = 0; f < count; ++f) {
      const auto add = [&]() -> st::DomainGrid<T>& {
        grids.emplace_back(*domain, boundary, device);
        grids.back().fill([n, f](Index z, Index y, Index x) {
          const bool inside = std::abs(2 * z + 1 - n[0]) * 4 <= n[0] + 3 &&
                              std::abs(2 * y + 1 - n[1]) * 4 <= n[1] + 3 &&
                              std::abs(2 * x + 1 - n[2]) * 4 <= n[2] + 3;
          return T(f > 0 ? 0.1 : inside ? 1 : 0);
        });
        return grids.back();
      };
      st::DomainGrid<T>& current = add();
      if (kernels[0].view().reads(f, st::TimeLevel::previous))
        fields.push_back({current, add()});
      else
        fields.push_back({current});
    }
  });
  stepper = std::make_unique<st::DomainStepper<T>>(
      kernels, fields, schedule,
      how.exchange == "blocking" ? st::Exchanging::blocking : st::Exchanging::overlapped);
  Json params = Json::object();
  for (std::size_t p = 0; p < what.params.size(); ++p) {
    stepper->set(static_cast<int>(p), what.params[p]);
    params[what.source.params[p].first] = what.params[p];
  }
  spinloom::synchronize(device);
  c.barrier();
  const auto begin = std::chrono::steady_clock::now();
  stepper->run(what.steps, c.rank() == 0 ? console.progress() : spinloom::Progress{});
  spinloom::synchronize(device);
  c.barrier();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json results = Json::array();
  for (const auto& f : fields) results.push_back(stencil_command::summary(f.current->gather()));
  const double points = double(spinloom::count(shape)) * double(what.steps) * double(kernels.size());
  return {{"stencil", what.source.name},
          {"expression", to_string(*kernels[0].definition)},
          {"device", to_string(what.devices)},
          {"instructions", on_gpu ? "cuda" : kernels[0].rows.target},
          {"matrix", shape},
          {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
          {"schedule", to_string(stepper->schedule())},
          {"boundary", to_string(boundary)},
          {"params", params},
          {"steps", what.steps},
          {"ranks", c.size()},
          {"ranks_by", c.name()},
          {"split", split_text(*domain)},
          {"steps_per_exchange", stepper->steps_per_exchange()},
          {"bytes_per_exchange", stepper->bytes_per_exchange()},
          {"exchange", how.exchange},
          {"threads", spinloom::thread_count()},
          {"seconds", seconds},
          {"glups", seconds > 0 ? points / seconds * 1e-9 : 0},
          {"fields", results}};
}

void run_and_tell(const StencilRun& what, const RankOptions& how, const Communicator& c,
                  const Console& console) {
  const Json json =
      what.precision == "float" ? run<float>(what, how, c, console) : run<double>(what, how, c, console);
  if (c.rank() != 0) return;
  console.result(
      json, fmt::format("{} on {} ranks ({}) by '{}': {} steps in {:.3g} s, {:.3g} GLUP/s; sum {:.6g}, min "
                        "{:.6g}, max {:.6g}",
                        what.source.name, c.size(), json["split"].get<std::string>(),
                        json["schedule"].get<std::string>(), what.steps, json["seconds"].get<double>(),
                        json["glups"].get<double>(), json["fields"][0]["sum"].get<double>(),
                        json["fields"][0]["min"].get<double>(), json["fields"][0]["max"].get<double>()));
}

/// Errors that all ranks have agreed on are told by rank 0 alone; any other by the rank that has it, whose status then ends
/// the others.
void run_as_process(const StencilRun& what, const RankOptions& how, const Console& console) {
  const Communicator c = spinloom::make_mpi_communicator();
  try {
    run_and_tell(what, how, c, console);
  } catch (const std::exception&) {
    // An interrupt reaches them all by itself.
    if (c.rank() != 0 && (c.has_agreed_to_fail() || spinloom::interrupt_requested())) silence();
    throw;
  }
}

}  // namespace

std::function<bool(const StencilRun&, const Console&)> declare_stencil_ranks(CLI::App& app) {
  auto o = std::make_shared<RankOptions>();
  app.add_option(
         "--ranks", o->ranks,
         "who shares the grid: mpi, the processes that mpirun started; N, as many ranks within this "
         "process, to rehearse, or one for each GPU; auto, the first under an mpirun of several, those "
         "GPUs that --device names several of, else nobody. Ranks take the GPUs of --device in turn: with "
         "cuda all, with cuda:0,1 these")
      ->capture_default_str();
  const auto* split = app.add_option("--split", o->split,
                                     "ranks along each axis, such as 2,1,0; 0 is chosen; without it all");
  const auto* between =
      app.add_option("--steps-between", o->steps_between,
                     "steps from one exchange between ranks to the next; rims are as deep as that needs")
          ->check(CLI::Range(1, 1000))
          ->capture_default_str();
  const auto* exchange =
      app.add_option("--exchange", o->exchange,
                     "overlapped: inner points are computed meanwhile, by naive and sweep; or blocking")
          ->check(CLI::IsMember({"overlapped", "blocking"}))
          ->capture_default_str();
  const auto share_cores = [&app](int ranks) {
    const auto* threads = app.get_option_no_throw("--threads");
    if (threads == nullptr || threads->count() == 0)
      spinloom::set_thread_count(std::max(1, spinloom::thread_count() / ranks));
  };
  return [=](const StencilRun& what, const Console& console) {
    const bool has_mpi = o->ranks == "mpi" || (o->ranks == "auto" && spinloom::launched_ranks() > 1);
    if ((has_mpi || o->ranks != "auto" || what.devices.size() > 1) &&
        (what.schedule == "best" || what.schedule == "tuned"))
      throw CLI::ValidationError("--schedule",
                                 "'" + what.schedule +
                                     "' is found for a whole grid, not for the parts that ranks have; "
                                     "name a schedule, such as one that stencil tune prints");
    if ((has_mpi || o->ranks != "auto" || what.devices.size() > 1) && what.has_files)
      throw CLI::ValidationError(
          "--ranks", "fields are read and written by one rank alone; leave out --input and --output");
    StencilRun shared = what;
    if (what.any_gpu && what.devices.front().kind == spinloom::DeviceKind::cuda)
      for (int i = 1; i < static_cast<int>(spinloom::cuda_status().gpus.size()); ++i)
        shared.devices.push_back({spinloom::DeviceKind::cuda, i});
    const auto refuse_halves = [&] {
      if (what.precision == "half")
        throw CLI::ValidationError("--precision", "half is for one rank; use float or double for several");
    };
    if (has_mpi) {
      refuse_halves();
      share_cores(spinloom::launched_ranks());
      run_as_process(shared, *o, console);
      return true;
    }
    const bool takes_gpus = o->ranks == "auto" && what.devices.size() > 1;
    if (o->ranks == "auto" && !takes_gpus) {
      for (const auto* option : {split, between, exchange})
        if (option->count() > 0)
          throw CLI::ValidationError(option->get_name(),
                                     "is for several ranks: start the command by mpirun, or give --ranks");
      return false;
    }
    int count = static_cast<int>(what.devices.size());
    if ((!takes_gpus && !CLI::detail::lexical_cast(o->ranks, count)) || count < 1 || count > 256)
      throw CLI::ValidationError("--ranks", "'" + o->ranks + "' is not auto, mpi, or a number from 1 to 256");
    refuse_halves();
    share_cores(count);
    run_ranks(spinloom::make_communicators(std::vector<spinloom::Device>(static_cast<std::size_t>(count))),
              [&](const Communicator& c) { run_and_tell(shared, *o, c, console); });
    return true;
  };
}
