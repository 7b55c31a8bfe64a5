#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil_command.hpp"

namespace stencil_command {
namespace {

std::string bytes_text(double bytes) {
  return bytes >= 1 << 20 ? fmt::format("{:.1f} MiB", bytes / (1 << 20))
                          : fmt::format("{:.1f} KiB", bytes / 1024);
}
std::string behind(const st::Machine& m, std::size_t k) {
  return k + 1 == m.caches.size() ? "memory" : fmt::format("L{}", m.caches[k + 1].level);
}

Json machine_json(const st::Machine& m, bool known) {
  Json caches = Json::array(), rates = Json::array();
  for (std::size_t k = 0; k < m.caches.size(); ++k) {
    caches.push_back(
        {{"level", m.caches[k].level}, {"bytes", m.caches[k].bytes}, {"shared_by", m.caches[k].shared_by}});
    for (const int t : {0, 1})
      rates.push_back({{"between", fmt::format("L{}-{}", m.caches[k].level, behind(m, k))},
                       {"threads", t == 0 ? 1 : m.threads},
                       {"read_bytes_per_second", m.rates[t][k].read},
                       {"update_bytes_per_second", m.rates[t][k].update},
                       {"stream_bytes_per_second", m.rates[t][k].stream}});
  }
  return {{"cpu", m.cpu_name},
          {"threads", m.threads},
          {"caches", caches},
          {"caches_known", known},
          {"rates", rates}};
}

Json prediction_json(const st::ModelInput& in, const st::Prediction& p) {
  Json layers = Json::array(), traffic = Json::array();
  for (std::size_t k = 0; k < p.caches.size(); ++k) {
    const auto& c = p.caches[k];
    layers.push_back({{"cache", fmt::format("L{}", c.level)},
                      {"share_bytes", c.share},
                      {"bytes_rows", c.bytes_rows},
                      {"bytes_layers", c.bytes_layers},
                      {"bytes_steps", c.bytes_steps},
                      {"most_rows", c.most_rows},
                      {"holds", to_string(c.holds)}});
    traffic.push_back({{"between", fmt::format("L{}-{}", c.level, behind(in.machine, k))},
                       {"read", p.traffic[k].read},
                       {"write", p.traffic[k].write},
                       {"stream", p.traffic[k].stream},
                       {"seconds", p.transfer[k]}});
  }
  return {{"layer_conditions", layers},
          {"traffic", traffic},
          {"predicted",
           {{"bytes_per_update", p.bytes_per_update},
            {"redundancy", p.redundancy},
            {"in_core_seconds", p.in_core},
            {"in_cache_seconds", p.in_cache},
            {"memory_seconds", p.transfer.back()},
            {"overlap", p.overlap},
            {"roofline_glups", p.roofline_glups},
            {"glups", p.glups},
            {"glups_by_threads", p.glups_at},
            {"saturation_threads", p.saturation_threads},
            {"limit", p.limit}}}};
}

std::string prediction_text(const st::ModelInput& in, const st::Prediction& p, bool known) {
  std::string text = fmt::format("{:<8}{:>12}{:>14}{:>14}{:>14}{:>12}  {}\n", "cache", "share", "for rows",
                                 "for layers", "for steps", "rows fit", "holds");
  for (const auto& c : p.caches)
    text += fmt::format("{:<8}{:>12}{:>14}{:>14}{:>14}{:>12}  {}\n", fmt::format("L{}", c.level),
                        bytes_text(c.share), bytes_text(c.bytes_rows), bytes_text(c.bytes_layers),
                        c.bytes_steps > 0 ? bytes_text(c.bytes_steps) : "-", c.most_rows, to_string(c.holds));
  if (!known) text += "This system does not say what caches it has: 32 KiB, 1 MiB and 32 MiB were taken.\n";
  text +=
      fmt::format("\n{:<12}{:>10}{:>10}{:>10}{:>14}\n", "B/LUP", "read", "write", "stream", "ns/LUP thread");
  for (std::size_t k = 0; k < p.traffic.size(); ++k)
    text += fmt::format("{:<12}{:>10.2f}{:>10.2f}{:>10.2f}{:>14.4f}\n",
                        fmt::format("L{}-{}", p.caches[k].level, behind(in.machine, k)), p.traffic[k].read,
                        p.traffic[k].write, p.traffic[k].stream, p.transfer[k] * 1e9);
  text += fmt::format("{:<42}{:>14.4f}\n{:<42}{:>14.4f}\n", "row kernel, level 1 cache", p.in_core * 1e9,
                      "row kernel and all caches", p.in_cache * 1e9);
  std::string threads;
  for (std::size_t n = 0; n < p.glups_at.size() && n < 8; ++n)
    threads += fmt::format("{}{:.3g}", n == 0 ? "" : ", ", p.glups_at[n]);
  text += fmt::format(
      "\npredicted   {:.3g} GLUP/s (roofline {:.3g}), limited by {}; with 1, 2, .. threads {}{}; {}", p.glups,
      p.roofline_glups, p.limit, threads, p.glups_at.size() > 8 ? ", .." : "",
      p.saturation_threads > 0 ? fmt::format("saturated with {}", p.saturation_threads) : "not saturated");
  return text;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class T>
std::pair<Json, std::string> model_case(const Options& o, const Console& console) {
  const Case<T> c(o);
  const st::Schedule schedule = chosen_schedule(o, c, console);
  std::vector<st::Definition> chain;
  for (const auto& k : c.kernels) chain.push_back(*k.definition);
  if (const auto why = why_illegal(chain, c.layout, c.problem.fields, schedule))
    throw spinloom::ArgumentError(*why);
  st::RateMeter meter;
  st::ModelInput in = model_input(c, schedule, o.steps, meter.measure());
  in.in_core = st::measure_in_core(c.kernels, c.layout.n[2], in.schedule);
  in.in_cache = st::measure_in_cache(c.kernels, c.layout, in.schedule, in.machine);
  st::Prediction p = st::predict(in);
  Json json = {{"stencil", c.source.name},
               {"expression", to_string(*c.kernels[0].definition)},
               {"instructions", c.kernels[0].rows.target},
               {"matrix", c.problem.shape},
               {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
               {"schedule", to_string(in.schedule)},
               {"steps", o.steps},
               {"threads", in.machine.threads}};
  std::string text = fmt::format("{} by '{}', {}, {} points, {} threads\n\n", c.source.name,
                                 to_string(in.schedule), sizeof(T) == 4 ? "float32" : "float64",
                                 spinloom::to_string(c.problem.shape), in.machine.threads);
  if (!o.has_measured) {
    json["machine"] = machine_json(in.machine, meter.caches_known());
    json.update(prediction_json(in, p));
    return {json, text + prediction_text(in, p, meter.caches_known())};
  }
  // Rates and runs take turns: on a machine that others use too both drift, and their ratio does not.
  Grids<T> grids(c, st::parse_boundary(o.boundary));
  st::Stepper<T> stepper(c.kernels, grids.bound, schedule);
  for (std::size_t i = 0; i < c.params.size(); ++i) stepper.set(static_cast<int>(i), c.params[i]);
  std::vector<st::Report> rounds;
  std::vector<double> ratios, glups;
  stepper.run(o.steps);
  for (int round = 0; round < 5; ++round) {
    spinloom::check_interrupt();
    in.machine = meter.measure_memory();
    in.in_cache = st::measure_in_cache(c.kernels, c.layout, in.schedule, in.machine);
    const auto begin = std::chrono::steady_clock::now();
    stepper.run(o.steps);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double updates =
        double(spinloom::count(c.problem.shape)) * double(o.steps) * double(c.kernels.size());
    rounds.push_back(st::report(st::predict(in), in.machine.threads, updates / seconds * 1e-9));
    ratios.push_back(rounds.back().predicted_over_measured);
    glups.push_back(rounds.back().glups);
    if (const auto progress = console.progress()) progress("measure", (round + 1) / 5.0, "");
  }
  // The round whose ratio is the median stands for all.
  const double middle = median(ratios);
  const auto at = static_cast<std::size_t>(std::find(ratios.begin(), ratios.end(), middle) - ratios.begin());
  const st::Report& r = rounds[at];
  json["machine"] = machine_json(in.machine, meter.caches_known());
  json.update(prediction_json(in, r.predicted));
  const auto [low, high] = std::minmax_element(glups.begin(), glups.end());
  json["measured"] = {{"glups", r.glups},
                      {"spread", (*high - *low) / median(glups)},
                      {"repetitions", rounds.size()},
                      {"bandwidth_bytes_per_second", r.bandwidth},
                      {"implied_bytes_per_update", r.implied_bytes_per_update},
                      {"share_of_bandwidth", r.share_of_bandwidth},
                      {"predicted_over_measured", r.predicted_over_measured}};
  text += prediction_text(in, r.predicted, meter.caches_known());
  text += fmt::format(
      "\nmeasured    {:.3g} GLUP/s, predicted / measured {:.2f}; {:.1f} B/LUP by the model, {:.1f} implied "
      "by {:.3g} GB/s, "
      "of which {:.0f} % are used",
      r.glups, r.predicted_over_measured, r.predicted.bytes_per_update, r.implied_bytes_per_update,
      r.bandwidth * 1e-9, 100 * r.share_of_bandwidth);
  return {json, text};
}

}  // namespace

std::pair<Json, std::string> model(const Options& o, const Console& console) {
  if (o.where.kind == spinloom::DeviceKind::cuda) return model_on_gpu(o, console);
  return o.precision == "float" ? model_case<float>(o, console) : model_case<double>(o, console);
}

}  // namespace stencil_command
