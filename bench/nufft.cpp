#include "spinloom/fourier/nufft.hpp"

#include "fourier_data.hpp"
#include "harness.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/cuda.hpp"

BenchResult bench_nufft(const BenchRequest& request) {
  using namespace spinloom;
  const Device device = request.device;
  const bool on_gpu = device.kind == DeviceKind::cuda;
  const Shape matrix = request.matrix.empty() ? Shape{128, 128, 128} : request.matrix;
  const Index samples = request.samples > 0 ? request.samples : 1000000;
  const Index coils = request.coils > 0 ? request.coils : on_gpu ? 8 : 1;
  const int repetitions = request.repetitions > 0 ? request.repetitions : on_gpu ? 20 : 10;
  const auto k = even_trajectory(matrix, samples);
  Array<cfloat> x(prepend(coils, matrix)), y({coils, samples});
  fill_random(x.view(), 1);
  fill_random(y.view(), 2);
  const auto x_there = Array<cfloat>::copy_of(x.view(), device),
             y_there = Array<cfloat>::copy_of(y.view(), device);
  const auto last_of = [&](View<const cfloat> all) {
    return Array<cfloat>::copy_of(all.slice(coils - 1), Device{});
  };
  const Array<cfloat> x_last = last_of(x), y_last = last_of(y);

  BenchResult result;
  result.columns = {"name",   "tolerance",          "relative_error", "seconds",
                    "spread", "samples_per_second", "plan_seconds"};
  std::vector<NufftOptions> all;
  for (const double tolerance :
       request.tolerances.empty() ? std::vector{1e-3, 1e-4, 1e-5} : request.tolerances)
    all.push_back({.tolerance = tolerance});
  if (!on_gpu && request.tolerances.empty())
    all.push_back({.tolerance = 1e-4, .transform = NufftOptions::GridTransform::fftw});
  std::size_t done = 0;
  for (const NufftOptions& options : all) {
    const double tolerance = options.tolerance;
    const std::string suffix = options.transform == NufftOptions::GridTransform::fftw ? "_fftw" : "";
    OperatorPtr<float> nufft;
    const double plan = time_once([&] {
                          nufft = make_nufft<float>(k, matrix, coils, options, device);
                          synchronize(device);
                        }).seconds;
    auto fx = Array<cfloat>::full(nufft->range(), cfloat(NAN, NAN), device),
         fhy = Array<cfloat>::full(nufft->domain(), cfloat(NAN, NAN), device);
    const auto type2 = [&] {
      nufft->forward(x_there.view(), fx.view());
      synchronize(device);
    };
    const auto type1 = [&] {
      nufft->adjoint(y_there.view(), fhy.view());
      synchronize(device);
    };
    type2();
    type1();
    const double errors[] = {error_at_voxels(*k, matrix, y_last, last_of(fhy)),
                             error_at_samples(*k, matrix, x_last, last_of(fx))};
    for (const bool is_type2 : {false, true}) {
      Json figure = {{"name", (is_type2 ? "type2" : "type1") + suffix}, {"tolerance", tolerance}};
      // Some fifty samples or voxels scatter around the mean of all.
      require_error("nufft", figure["name"], errors[is_type2], 2 * tolerance);
      figure["relative_error"] = errors[is_type2];
      figure.update(is_type2 ? measure(repetitions, type2) : measure(repetitions, type1));
      figure["samples_per_second"] = double(coils) * double(samples) / figure["seconds"].get<double>();
      figure["plan_seconds"] = plan;
      figure["dtype"] = "float32";
      figure["size"] = matrix;
      figure["samples"] = samples;
      figure["coils"] = coils;
      result.figures.push_back(figure);
    }
    if (request.progress) request.progress("nufft", double(++done) / double(all.size()), "");
  }
  return result;
}
