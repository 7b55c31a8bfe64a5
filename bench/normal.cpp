#include <fftw3.h>
#include <fmt/format.h>

#include "fourier_data.hpp"
#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace spinloom;

/// The usual way: zero-padded to twice the size, FFTW with measured plans on all threads, times a real spectrum.
class FftwPadded {
 public:
  explicit FftwPadded(const Shape& matrix) : n_(matrix) {
    while (n_.size() < 3) n_.insert(n_.begin(), 1);
    int size[3];
    for (std::size_t d = 0; d < 3; ++d) size[d] = static_cast<int>(n_[d] > 1 ? 2 * n_[d] : 1);
    padded_ = {size[0], size[1], size[2]};
    grid_ = Array<cfloat>(padded_);
    spectrum_ = Array<float>::full(padded_, 1.0f / float(count(padded_)));
    auto* data = reinterpret_cast<fftwf_complex*>(grid_.data());
    fftwf_init_threads();
    fftwf_plan_with_nthreads(thread_count());
    forward_ = fftwf_plan_dft(3, size, data, data, FFTW_FORWARD, FFTW_MEASURE);
    backward_ = fftwf_plan_dft(3, size, data, data, FFTW_BACKWARD, FFTW_MEASURE);
    fftwf_plan_with_nthreads(1);
    if (forward_ == nullptr || backward_ == nullptr) throw DeviceError("bench normal: FFTW has no plan");
  }
  ~FftwPadded() {
    fftwf_destroy_plan(forward_);
    fftwf_destroy_plan(backward_);
  }
  FftwPadded(const FftwPadded&) = delete;
  FftwPadded& operator=(const FftwPadded&) = delete;

  void operator()(const cfloat* x, cfloat* y) {
    const Index row = padded_[2];
    parallel_blocks(padded_[0], 1, [&](Index begin, Index end, int) {
      for (Index z = begin; z < end; ++z) {
        cfloat* plane = grid_.data() + z * padded_[1] * row;
        std::fill(plane, plane + padded_[1] * row, cfloat(0));
        for (Index v = 0; v < n_[1] && z < n_[0]; ++v)
          std::copy_n(x + (z * n_[1] + v) * n_[2], n_[2], plane + v * row);
      }
    });
    fftwf_execute(forward_);
    parallel_blocks(grid_.size(), 1 << 16, [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) grid_[i] *= spectrum_[i];
    });
    fftwf_execute(backward_);
    parallel_blocks(n_[0], 1, [&](Index begin, Index end, int) {
      for (Index z = begin; z < end; ++z)
        for (Index v = 0; v < n_[1]; ++v)
          std::copy_n(grid_.data() + (z * padded_[1] + v) * row, n_[2], y + (z * n_[1] + v) * n_[2]);
    });
  }

 private:
  Shape n_, padded_;
  Array<cfloat> grid_;
  Array<float> spectrum_;
  fftwf_plan forward_, backward_;
};

/// Bytes per second of a copy past the caches on all threads, counting read and write.
double bandwidth() {
  constexpr Index length = Index{1} << 25, block = 1 << 16;
  auto a = Array<float>::zeros({length}), b = Array<float>::zeros({length});
  const Json copy = measure(5, [&] {
    parallel_blocks(length, block, [&](Index begin, Index end, int) {
      stream_copy_past_caches(a.data() + begin, end - begin, b.data() + begin);
    });
  });
  return 8.0 * double(length) / copy["seconds"].get<double>();
}

}  // namespace

BenchResult bench_normal(const BenchRequest& request) {
  if (request.device.kind == DeviceKind::reference)
    throw BackendUnavailable(
        to_string(request.device),
        "the normal operator is measured on a CPU or a GPU; choose --device cpu or cuda");
  if (request.device.kind == DeviceKind::cuda) return bench_normal_cuda(request);
  if (request.coils > 1)
    throw ArgumentError(fmt::format(
        "bench normal: {} coils, a CPU works on them one by one; leave out --coils", request.coils));
  const Shape matrix = request.matrix.empty() ? Shape{128, 128, 128} : request.matrix;
  const Index samples = request.samples > 0 ? request.samples : 1000000;
  const int repetitions = request.repetitions > 0 ? request.repetitions : 10;
  constexpr double tolerance = 1e-4;
  const auto k = even_trajectory(matrix, samples);

  OperatorPtr<float> toeplitz;
  const double plan =
      time_once([&] { toeplitz = make_toeplitz<float>(k, matrix, {}, 1, {.tolerance = tolerance}); }).seconds;
  Array<cfloat> x(toeplitz->domain()), y(toeplitz->domain());
  fill_random(x.view(), 1);
  toeplitz->forward(x.view(), y.view());
  const double error =
      error_of_normal(k, matrix, x.view().slice(0), y.view().slice(0), tolerance, request.device);
  require_error("normal", "toeplitz", error, tolerance);

  // Least traffic in images of complex numbers: 1 read and 2 written by z, 2 and 2 by the planes with 4 of spectrum,
  // 2 and 1 back through z.
  const double least_bytes = 14.0 * 8 * double(count(matrix));
  BenchResult result;
  result.columns = {"name",    "relative_error", "seconds",     "spread",
                    "speedup", "share_of_floor", "plan_seconds"};
  Json common = {{"dtype", "float32"}, {"size", matrix}, {"samples", samples}, {"coils", 1}};
  FftwPadded padded(matrix);
  Array<cfloat> z(x.shape());
  padded(x.data(), z.data());  // its spectrum is that of the identity
  const double padded_error = distance<cfloat>(z, x) / norm<cfloat>(x);
  require_error("normal", "fftw_padded", padded_error, 1e-5);

  Json fast = {{"name", "toeplitz"}, {"tolerance", tolerance}, {"relative_error", error}};
  Json slow = {{"name", "fftw_padded"}, {"relative_error", padded_error}};
  fast.update(measure(repetitions, [&] { toeplitz->forward(x.view(), y.view()); }));
  slow.update(measure(repetitions, [&] { padded(x.data(), z.data()); }));
  const double floor = least_bytes / bandwidth();
  for (Json* figure : {&fast, &slow}) {
    (*figure)["speedup"] = slow["seconds"].get<double>() / (*figure)["seconds"].get<double>();
    (*figure)["share_of_floor"] = floor / (*figure)["seconds"].get<double>();
    figure->update(common);
  }
  fast["plan_seconds"] = plan;
  fast["least_bytes"] = least_bytes;
  result.figures = {fast, slow};
  return result;
}
