#include <cmath>
#include <random>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/dft_ladder.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"

namespace {

using namespace spinloom;

struct Data {
  std::shared_ptr<const Trajectory> k;
  Array<cfloat> kspace;
};

Data draw_data(const Shape& matrix, Index samples) {
  std::mt19937_64 bits(17);
  Array<double> k({static_cast<Index>(matrix.size()), samples});
  for (Index d = 0; d < k.shape()[0]; ++d)
    for (Index m = 0; m < samples; ++m)
      k[d * samples + m] =
          (double(bits() >> 11) * 0x1p-53 - 0.5) * double(matrix[static_cast<std::size_t>(d)]);
  Array<cfloat> y({samples});
  fill_random(y.view(), 19);
  return {std::make_shared<Trajectory>(std::move(k)), std::move(y)};
}

/// Against the sum in double at some voxels: relative L2 error, and PSNR over the largest of them.
void check(const Data& data, const Shape& matrix, const Array<cfloat>& image, Json& figure) {
  std::mt19937_64 bits(23);
  const int voxels = 64;
  double error = 0, size = 0, peak = 0;
  for (int i = 0; i < voxels; ++i) {
    const Index voxel = static_cast<Index>(bits() % static_cast<std::uint64_t>(image.size()));
    std::vector<double> centre;
    Index rest = voxel;
    for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d])
      centre.insert(centre.begin(), double(rest % matrix[d] - matrix[d] / 2) / double(matrix[d]));
    cdouble sum = 0;
    for (Index m = 0; m < data.kspace.size(); ++m) {
      double turns = 0;
      for (std::size_t d = 0; d < matrix.size(); ++d)
        turns += data.k->view().data[static_cast<Index>(d) * data.kspace.size() + m] * centre[d];
      sum += cdouble(data.kspace[m]) * std::polar(1.0, 2 * M_PI * (turns - std::rint(turns)));
    }
    error += std::norm(cdouble(image[voxel]) - sum);
    size += std::norm(sum);
    peak = std::max(peak, std::norm(sum));
  }
  figure["relative_error"] = std::sqrt(error / size);
  figure["psnr_db"] = 10 * std::log10(peak / (error / voxels));
}

}  // namespace

BenchResult bench_fhd(const BenchRequest& request) {
  if (request.device.kind != DeviceKind::cpu)
    throw BackendUnavailable(to_string(request.device), "the ladder runs on the CPU; choose --device cpu");
  const Shape matrix = request.matrix.empty() ? Shape{64, 64, 64} : request.matrix;
  const Index voxels = count(matrix), most_samples = request.samples > 0 ? request.samples : 16384;
  const int repetitions = request.repetitions > 0 ? request.repetitions : 5;
  const std::string only = request.rung.empty() ? "" : find_dft_rung(request.rung).name;

  BenchResult result;
  result.columns = {"name",
                    "gflops",
                    "pairs_per_second",
                    "pairs_per_cpu_second",
                    "speedup",
                    "operations_per_byte",
                    "psnr_db",
                    "relative_error",
                    "share_of_floor",
                    "samples",
                    "seconds",
                    "spread"};
  const double peak = peak_flops();
  double slowest = 0;
  for (const DftRungInfo& rung : dft_rungs()) {
    if (!only.empty() && rung.name != only) continue;
    // Rates are compared: a slow rung sums as many of the samples as a third of a second allows.
    constexpr double enough_seconds = 0.3;
    Index samples = std::min<Index>(16, most_samples);
    Data data;
    Array<cfloat> image(matrix);
    const auto work = [&] { dft_adjoint_rung(rung.rung, data.k, matrix, data.kspace.view(), image.view()); };
    while (true) {
      check_interrupt();
      data = draw_data(matrix, samples);
      work();
      if (samples >= most_samples || time_once(work).cpu_seconds > enough_seconds / 4 * thread_count()) break;
      samples = std::min(most_samples, samples * 4);
    }
    work();
    Json figure = {{"name", rung.name}, {"description", rung.description}};
    check(data, matrix, image, figure);
    if (!(figure["relative_error"].get<double>() < 1e-3))
      throw NotConverged("bench fhd: rung " + rung.name + " gives wrong answers; it is not timed");
    figure.update(measure(repetitions, work));

    const double pairs = double(voxels) * double(samples) / figure["seconds"].get<double>();
    if (slowest == 0) slowest = pairs;
    figure["gflops"] = pairs * rung.flops_per_pair * 1e-9;
    figure["pairs_per_second"] = pairs;
    figure["pairs_per_cpu_second"] = double(voxels) * double(samples) / figure["cpu_seconds"].get<double>();
    figure["speedup"] = pairs / slowest;
    figure["flops_per_pair"] = rung.flops_per_pair;
    figure["bytes_per_pair"] = rung.bytes_per_pair;
    figure["operations_per_byte"] = rung.operations_per_byte();
    // The floor of the exact sum: two multiply-adds per pair at the peak that this run measured.
    figure["share_of_floor"] = 4 * pairs / peak;
    figure["peak_gflops"] = peak * 1e-9;
    figure["dtype"] = "float32";
    figure["size"] = matrix;
    figure["samples"] = samples;
    figure["coils"] = 1;
    result.figures.push_back(figure);
    if (request.progress)
      request.progress("fhd", double(rung.rung) / double(dft_rungs().size() - 1), rung.name);
  }
  return result;
}
