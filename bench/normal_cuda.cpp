#include "fourier_data.hpp"
#include "harness.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace {

using namespace spinloom;

/// Bytes per second of a copy on the device, counting read and write, of a gigabyte: more than any cache holds.
double bandwidth(Device device, int repetitions) {
  const auto from = Array<float>::zeros({Index{1} << 27}, device);
  Array<float> to(from.shape(), device);
  const Json copy = measure(repetitions, [&] {
    transfer<float>(from.view(), to.view());
    synchronize(device);
  });
  return 8.0 * double(from.size()) / copy["seconds"].get<double>();
}

}  // namespace

BenchResult bench_normal_cuda(const BenchRequest& request) {
  const Device device = request.device;
  const Shape matrix = request.matrix.empty() ? Shape{128, 128, 128} : request.matrix;
  const Index samples = request.samples > 0 ? request.samples : 1000000,
              coils = request.coils > 0 ? request.coils : 8;
  const int repetitions = request.repetitions > 0 ? request.repetitions : 20;
  const NufftOptions options;
  const auto k = even_trajectory(matrix, samples);
  Array<cfloat> host(prepend(coils, matrix));
  fill_random(host.view(), 1);
  const auto x = Array<cfloat>::copy_of(host.view(), device);
  Array<cfloat> y(x.shape(), device);

  // Least traffic in images of complex numbers: per coil 1 read and 2 written by z, 2 and 2 by the planes, 2 and 1 back
  // through z; and 4 of spectrum once for all.
  const double least_bytes = (10.0 * double(coils) + 4) * 8 * double(count(matrix)),
               bytes_per_second = bandwidth(device, repetitions);
  BenchResult result;
  result.columns = {"name",   "relative_error", "seconds",        "seconds_per_coil",
                    "spread", "speedup",        "share_of_floor", "plan_seconds"};
  for (const bool is_padded : {false, true}) {
    const std::string name = is_padded ? "cufft_padded" : "toeplitz";
    OperatorPtr<float> toeplitz;
    const auto make = [&] {
      toeplitz = is_padded ? make_padded_toeplitz<float>(k, matrix, {}, coils, options, device)
                           : make_toeplitz<float>(k, matrix, {}, coils, options, device);
      synchronize(device);
    };
    make();  // kernels are compiled by the first
    const double plan = time_once(make).seconds;
    const auto apply = [&] {
      toeplitz->forward(x.view(), y.view());
      synchronize(device);
    };
    apply();
    const auto got = Array<cfloat>::copy_of(y.view(), Device{});
    const double error = error_of_normal(k, matrix, host.view().slice(coils - 1), got.view().slice(coils - 1),
                                         options.tolerance, device);
    require_error("normal", name, error, options.tolerance);
    Json figure = {{"name", name}, {"tolerance", options.tolerance}, {"relative_error", error}};
    figure.update(measure(repetitions, apply));
    const double seconds = figure["seconds"].get<double>();
    figure["seconds_per_coil"] = seconds / double(coils);
    figure["share_of_floor"] = least_bytes / bytes_per_second / seconds;
    figure["plan_seconds"] = plan;
    figure["least_bytes"] = least_bytes;
    figure["bytes_per_second"] = bytes_per_second;
    figure.update(Json{{"dtype", "float32"}, {"size", matrix}, {"samples", samples}, {"coils", coils}});
    result.figures.push_back(figure);
    if (request.progress) request.progress("normal", is_padded ? 1 : 0.5, name);
  }
  const double padded = result.figures[1]["seconds"].get<double>();
  for (Json& figure : result.figures) figure["speedup"] = padded / figure["seconds"].get<double>();
  return result;
}
