#include "spinloom/fourier/nufft.hpp"

#include "fourier_data.hpp"
#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"

BenchResult bench_nufft(const BenchRequest& request) {
  using namespace spinloom;
  if (request.device.kind != DeviceKind::cpu)
    throw BackendUnavailable(to_string(request.device), "the NUFFT runs on the CPU; choose --device cpu");
  const Shape matrix = request.matrix.empty() ? Shape{128, 128, 128} : request.matrix;
  const Index samples = request.samples > 0 ? request.samples : 1000000;
  const int repetitions = request.repetitions > 0 ? request.repetitions : 10;
  const auto k = even_trajectory(matrix, samples);

  BenchResult result;
  result.columns = {"name",   "tolerance",          "relative_error", "seconds",
                    "spread", "samples_per_second", "plan_seconds"};
  const double tolerances[] = {1e-3, 1e-4, 1e-5};
  int done = 0;
  for (const double tolerance : tolerances) {
    OperatorPtr<float> nufft;
    const double plan =
        time_once([&] { nufft = make_nufft<float>(k, matrix, 1, {.tolerance = tolerance}); }).seconds;
    Array<cfloat> x(nufft->domain()), y(nufft->range()), fx(nufft->range()), fhy(nufft->domain());
    fill_random(x.view(), 1);
    fill_random(y.view(), 2);
    const auto type2 = [&] { nufft->forward(x.view(), fx.view()); };
    const auto type1 = [&] { nufft->adjoint(y.view(), fhy.view()); };
    type2();
    type1();
    const double errors[] = {error_at_voxels(*k, matrix, y, fhy), error_at_samples(*k, matrix, x, fx)};
    for (const bool is_type2 : {false, true}) {
      Json figure = {{"name", is_type2 ? "type2" : "type1"}, {"tolerance", tolerance}};
      // Some fifty samples or voxels scatter around the mean of all.
      require_error("nufft", figure["name"], errors[is_type2], 2 * tolerance);
      figure["relative_error"] = errors[is_type2];
      figure.update(is_type2 ? measure(repetitions, type2) : measure(repetitions, type1));
      figure["samples_per_second"] = double(samples) / figure["seconds"].get<double>();
      figure["plan_seconds"] = plan;
      figure["dtype"] = "float32";
      figure["size"] = matrix;
      figure["samples"] = samples;
      figure["coils"] = 1;
      result.figures.push_back(figure);
    }
    if (request.progress) request.progress("nufft", ++done / 3.0, "");
  }
  return result;
}
