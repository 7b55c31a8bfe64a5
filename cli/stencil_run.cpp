#include <fmt/format.h>

#include <chrono>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/gpu_model.hpp"
#include "stencil_files.hpp"

namespace stencil_command {
namespace {

/// The speed of the GPU's memory, or 0 where there is no room left to measure it.
double copy_or_nothing(spinloom::Device device, const Console& console) {
  try {
    return st::measure_gpu_copy(device);
  } catch (const spinloom::DeviceError& e) {
    spinloom::warn(console.log(), fmt::format("the copy was not measured: {}", e.what()));
    return 0;
  }
}

/// What a file of the given name holds, as elements of the grids: halves come and go as float.
template <class T>
std::map<int, spinloom::Array<T>> taken(FieldFiles& files) {
  if constexpr (std::is_same_v<T, spinloom::Half>) {
    std::map<int, spinloom::Array<T>> all;
    for (const auto& [field, values] : files.take<float>()) {
      spinloom::Array<T> rounded(values.shape());
      for (Index i = 0; i < values.size(); ++i) rounded[i] = T(values[i]);
      all.emplace(field, std::move(rounded));
    }
    return all;
  } else {
    return files.take<T>();
  }
}
template <class T>
void write(FieldFiles& files, int field, const spinloom::Array<T>& values) {
  if constexpr (std::is_same_v<T, spinloom::Half>) {
    spinloom::Array<float> widened(values.shape());
    for (Index i = 0; i < values.size(); ++i) widened[i] = float(values[i]);
    files.write<float>(field, widened);
  } else {
    files.write<T>(field, values);
  }
}

template <class T>
Json run_case(const Options& o, const Console& console) {
  FieldFiles files(o, console);
  const Case<T> c(o, files.shape());
  if constexpr (std::is_same_v<T, spinloom::Half>)
    for (const auto& kernel : c.kernels)
      if (o.where.kind != spinloom::DeviceKind::cuda && kernel.rows.at[0][0] == nullptr)
        throw spinloom::ArgumentError(
            c.source.name +
            ": on halves the host has 7-point, 27-point and laplacian alone; use --precision float, or "
            "--device cuda");
  const st::Boundary boundary = st::parse_boundary(o.boundary);
  const st::Schedule schedule = chosen_schedule(o, c, console);
  Grids<T> grids(c, boundary, taken<T>(files));
  st::Stepper<T> stepper(c.kernels, grids.bound, schedule);
  Json params = Json::object();
  for (std::size_t p = 0; p < c.params.size(); ++p) {
    stepper.set(static_cast<int>(p), c.params[p]);
    params[c.source.params[p].first] = c.params[p];
  }
  spinloom::synchronize(o.where);
  const auto begin = std::chrono::steady_clock::now();
  stepper.run(o.steps, console.progress());
  spinloom::synchronize(o.where);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json results = Json::array();
  for (std::size_t f = 0; f < grids.bound.size(); ++f) {
    const auto values = grids.bound[f].current->to_array();
    results.push_back(summary(values));
    write<T>(files, static_cast<int>(f), values);
  }
  files.commit();
  // What the model says that each update moves, and the bandwidth that this comes to at the speed measured.
  st::Machine machine;
  machine.threads = spinloom::thread_count();
  machine.caches = st::usable_caches(spinloom::detect_hardware());
  const bool on_gpu = o.where.kind == spinloom::DeviceKind::cuda;
  double bytes = 0, copy = 0;
  if (on_gpu) {
    st::GpuModelInput in =
        st::gpu_model_input(c.kernels, c.layout, c.problem.fields, stepper.schedule(), o.steps);
    in.machine = st::describe_gpu(o.where);
    if (st::is_modelled_on_gpu(in.schedule))
      bytes = st::predict_gpu_traffic(in).bytes_per_update;
    else
      for (const auto& k : c.kernels)  // of a sweep that reads and writes everything once
        bytes += double(k.view().bytes_per_point(sizeof(T))) / double(c.kernels.size());
    copy = copy_or_nothing(o.where, console);
  } else {
    bytes = st::predict_traffic(model_input(c, schedule, o.steps, machine)).bytes_per_update;
  }
  const double points = double(spinloom::count(c.problem.shape)) * double(o.steps) * double(c.kernels.size());
  const double glups = seconds > 0 ? points / seconds * 1e-9 : 0;
  Json json = {{"stencil", c.source.name},
               {"expression", to_string(*c.kernels[0].definition)},
               {"device", to_string(o.where)},
               {"instructions", on_gpu ? "cuda" : c.kernels[0].rows.target},
               {"matrix", c.problem.shape},
               {"dtype", dtype_name(sizeof(T))},
               {"schedule", to_string(stepper.schedule())},
               {"boundary", to_string(boundary)},
               {"params", params},
               {"steps", o.steps},
               {"threads", spinloom::thread_count()},
               {"seconds", seconds},
               {"glups", glups},
               {"bytes_per_update", bytes},
               {"bytes_per_second", bytes * glups * 1e9},
               {"fields", results}};
  if (copy > 0 && glups > 0) {
    json["copy_bytes_per_second"] = copy;
    json["share_of_bandwidth"] = bytes * glups * 1e9 / copy;
    json["implied_bytes_per_update"] = copy / (glups * 1e9);
  }
  return json;
}

}  // namespace

Json run(const Options& o, const Console& console) {
  if (o.precision == "half") return run_case<spinloom::Half>(o, console);
  return o.precision == "float" ? run_case<float>(o, console) : run_case<double>(o, console);
}

}  // namespace stencil_command
