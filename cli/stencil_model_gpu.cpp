#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/stencil/gpu_model.hpp"
#include "stencil_command.hpp"

namespace stencil_command {
namespace {

Json machine_json(const st::GpuMachine& m) {
  return {{"gpu", m.name},
          {"capability", m.capability},
          {"multiprocessors", m.multiprocessors},
          {"level2_bytes", m.level2_bytes},
          {"shared_bytes", m.shared_bytes},
          {"rates",
           {{"copy_bytes_per_second", m.copy},
            {"in_order_bytes_per_second", m.in_order},
            {"marching_bytes_per_second", m.marching},
            {"level2_bytes_per_second", m.level2},
            {"single_operations_per_second", m.single_operations},
            {"double_operations_per_second", m.double_operations},
            {"launch_seconds", m.launch_seconds}}}};
}

Json traffic_json(const char* between, const st::Traffic& t, double seconds) {
  return {
      {"between", between}, {"read", t.read}, {"write", t.write}, {"stream", t.stream}, {"seconds", seconds}};
}

Json prediction_json(const st::GpuPrediction& p) {
  Json kernels = Json::array();
  for (const auto& s : p.stages)
    kernels.push_back({{"schedule", to_string(s.schedule)},
                       {"block_points", {s.block[0], s.block[1], s.block[2]}},
                       {"blocks", s.blocks},
                       {"threads", s.kernel.threads},
                       {"registers", s.kernel.registers},
                       {"local_bytes", s.kernel.local_bytes},
                       {"shared_bytes", s.kernel.shared_bytes},
                       {"blocks_at_once", s.kernel.blocks_at_once},
                       {"waves", s.waves},
                       {"tail", s.tail}});
  return {{"kernels", kernels},
          {"traffic",
           {traffic_json("SM-L2", p.level2, p.level2_seconds),
            traffic_json("L2-memory", p.memory, p.memory_seconds)}},
          {"predicted",
           {{"bytes_per_update", p.bytes_per_update},
            {"redundancy", p.redundancy},
            {"operations_per_update", p.operations},
            {"arithmetic_seconds", p.arithmetic_seconds},
            {"in_cache_seconds", p.on_chip},
            {"memory_seconds", p.memory_seconds},
            {"roofline_glups", p.roofline_glups},
            {"glups", p.glups},
            {"limit", p.limit}}}};
}

std::string prediction_text(const st::GpuPrediction& p) {
  std::string text = fmt::format("{:<52}{:>10}{:>8}{:>10}{:>10}{:>9}{:>8}{:>6}\n", "kernel", "registers",
                                 "local", "shared", "blocks", "at once", "waves", "tail");
  for (const auto& s : p.stages)
    text += fmt::format("{:<52}{:>10}{:>8}{:>10}{:>10}{:>9}{:>8.2f}{:>6.2f}\n", to_string(s.schedule),
                        s.kernel.registers, s.kernel.local_bytes, s.kernel.shared_bytes, s.blocks,
                        s.kernel.blocks_at_once, s.waves, s.tail);
  text += fmt::format("\n{:<32}{:>10}{:>10}{:>14}\n", "B/LUP", "read", "write", "ps/LUP");
  text += fmt::format("{:<32}{:>10.2f}{:>10.2f}{:>14.3f}\n", "asked of L2", p.level2.read, p.level2.write,
                      p.level2_seconds * 1e12);
  text += fmt::format("{:<32}{:>10.2f}{:>10.2f}{:>14.3f}\n", "memory", p.memory.read, p.memory.write,
                      p.memory_seconds * 1e12);
  text += fmt::format(
      "{:<52}{:>14.3f}\n",
      fmt::format("{:.1f} operations/LUP ({:.2f} points computed for one)", p.operations, p.redundancy),
      p.arithmetic_seconds * 1e12);
  text += fmt::format("{:<52}{:>14.3f}\n", "rehearsed within L2", p.on_chip * 1e12);
  return text + fmt::format("\npredicted   {:.3g} GLUP/s (roofline {:.3g}), limited by {}", p.glups,
                            p.roofline_glups, p.limit);
}

template <class T>
std::pair<Json, std::string> model_case(const Options& o, const Console& console) {
  const Case<T> c(o);
  const st::Schedule schedule = chosen_schedule(o, c, console);
  const spinloom::Device device = c.problem.device;
  st::GpuModelInput in = st::gpu_model_input(c.kernels, c.layout, c.problem.fields, schedule, o.steps);
  in.machine = st::describe_gpu(device);
  st::predict_gpu_traffic(in);  // what cannot run is refused before anything is measured
  in.machine = st::measure_gpu(device);
  st::rehearse_gpu(c.kernels, in);
  st::GpuPrediction p = st::predict_gpu(in);
  const char* const dtype = sizeof(T) == 4 ? "float32" : "float64";
  Json json = {{"stencil", c.source.name},
               {"expression", to_string(*c.kernels[0].definition)},
               {"device", to_string(device)},
               {"matrix", c.problem.shape},
               {"dtype", dtype},
               {"schedule", to_string(schedule)},
               {"steps", o.steps}};
  const std::string head =
      fmt::format("{} by '{}', {}, {} points, {}\n\n", c.source.name, to_string(schedule), dtype,
                  spinloom::to_string(c.problem.shape), in.machine.name);
  if (!o.has_measured) {
    json["machine"] = machine_json(in.machine);
    json.update(prediction_json(p));
    return {json, head + prediction_text(p)};
  }
  Grids<T> grids(c, st::parse_boundary(o.boundary), {}, true);
  st::Stepper<T> stepper(c.kernels, grids.bound, schedule);
  for (std::size_t i = 0; i < c.params.size(); ++i) stepper.set(static_cast<int>(i), c.params[i]);
  const auto seconds_of_run = [&] {
    spinloom::synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    stepper.run(o.steps);
    spinloom::synchronize(device);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds_of_run();
  const double updates =
      double(spinloom::count(c.problem.shape)) * double(o.steps) * double(c.kernels.size());
  std::vector<double> glups;
  for (int round = 0; round < 5; ++round) {
    spinloom::check_interrupt();
    glups.push_back(1e-9 * updates / seconds_of_run());
    if (const auto progress = console.progress()) progress("measure", (round + 1) / 5.0, "");
  }
  std::sort(glups.begin(), glups.end());
  const double middle = glups[glups.size() / 2];
  const st::GpuReport r = st::report(p, in.machine, middle);
  json["machine"] = machine_json(in.machine);
  json.update(prediction_json(p));
  json["measured"] = {{"glups", r.glups},
                      {"spread", (glups.back() - glups.front()) / middle},
                      {"repetitions", glups.size()},
                      {"bandwidth_bytes_per_second", r.bandwidth},
                      {"implied_bytes_per_update", r.implied_bytes_per_update},
                      {"share_of_bandwidth", r.share_of_bandwidth},
                      {"predicted_over_measured", r.predicted_over_measured}};
  return {
      json,
      head + prediction_text(p) +
          fmt::format("\nmeasured    {:.3g} GLUP/s, predicted / measured {:.2f}; {:.1f} B/LUP by the model, "
                      "{:.1f} implied by the copy's {:.4g} GB/s, of which {:.0f} % are used",
                      r.glups, r.predicted_over_measured, p.bytes_per_update, r.implied_bytes_per_update,
                      r.bandwidth * 1e-9, 100 * r.share_of_bandwidth)};
}

}  // namespace

std::pair<Json, std::string> model_on_gpu(const Options& o, const Console& console) {
  return o.precision == "float" ? model_case<float>(o, console) : model_case<double>(o, console);
}

}  // namespace stencil_command
