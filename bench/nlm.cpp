#include "spinloom/nlm/nlm.hpp"

#include <cmath>
#include <random>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"

namespace {

using namespace spinloom;

/// Waves, a ball and noise of 0.05, as bench/peers/nlm.py makes them.
template <class Real>
Array<Real> volume(const Shape& matrix) {
  Shape shape = matrix;
  shape.push_back(1);
  Array<Real> image(shape);
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.05);
  for (Index i = 0; i < image.size(); ++i) {
    Index rest = i;
    double sum = 0, square = 0;
    for (std::size_t a = matrix.size(); a-- > 0;) {
      const double x = static_cast<double>(rest % matrix[a]), n = static_cast<double>(matrix[a]);
      sum += x;
      square += (2 * x / n - 1) * (2 * x / n - 1);
      rest /= matrix[a];
    }
    image[i] = static_cast<Real>(0.5 + 0.3 * std::sin(sum / 9) + (square < 0.5 ? 0.2 : 0) + noise(random));
  }
  return image;
}

/// Largest difference from direct sums in double at some 200 voxels, over the range of the values.
template <class Real>
double error_at_voxels(const Array<Real>& image, const NlmOptions& options, const Array<Real>& result) {
  Array<std::uint8_t> mask =
      Array<std::uint8_t>::zeros(Shape(image.shape().begin(), image.shape().end() - 1));
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i)
    mask[static_cast<Index>(random() % static_cast<std::uint64_t>(mask.size()))] = 1;
  NlmMaps<Real> maps;
  maps.mask = mask.view();
  const Device reference{DeviceKind::reference, 0};
  Array<Real> exact(image.shape());
  nlm<Real>({image.data(), image.shape(), reference}, options, exact.view(), maps);
  double low = image[0], high = image[0], worst = 0;
  for (Index i = 0; i < image.size(); ++i) {
    low = std::min(low, static_cast<double>(image[i]));
    high = std::max(high, static_cast<double>(image[i]));
    if (mask[i] != 0)
      worst = std::max(worst, std::abs(static_cast<double>(result[i]) - static_cast<double>(exact[i])));
  }
  return worst / (high - low);
}

struct Figure {
  const char* name;
  NlmMode mode;
  bool in_rows;  // through the loops that serve every case, not the fused ones
  DeviceKind device;
};

template <class Real>
Json measure_nlm(const Figure& f, const Shape& matrix, Index patch, Index distance, int repetitions) {
  const Array<Real> image = volume<Real>(matrix);
  Array<Real> result(image.shape());
  NlmOptions options;
  options.patch_size = {patch};
  options.patch_distance = {distance};
  options.mode = f.mode;
  options.sigma = 0.05;
  options.h = f.mode == NlmMode::fast ? 0.04 : 0.03;
  const Array<Real> same_h = Array<Real>::full(matrix, static_cast<Real>(options.h));
  NlmMaps<Real> maps;
  if (f.in_rows) maps.h = same_h.view();
  const auto run = [&] {
    nlm<Real>({image.data(), image.shape(), {f.device, 0}}, options, result.view(), maps);
  };
  run();
  Json figure = {{"name", f.name}};
  const double error = error_at_voxels(image, options, result);
  const double bound = std::is_same_v<Real, double> ? 1e-8 : f.mode == NlmMode::fast ? 2.4e-7 : 2e-6;
  if (!(error <= bound))
    throw NotConverged("bench nlm: " + std::string(f.name) + " is off by " + std::to_string(error) +
                       " of the range; a wrong answer is not timed");
  figure["relative_error"] = error;
  figure.update(measure(repetitions, run));
  const double voxels = static_cast<double>(count(matrix)), seconds = figure["seconds"];
  const double pairs = voxels * std::pow(2 * distance + 1, static_cast<double>(matrix.size()));
  figure["voxels_per_second"] = voxels / seconds;
  figure["pairs_per_second"] = pairs / seconds;
  const bool is_fused = f.device == DeviceKind::cpu && !f.in_rows && f.mode == NlmMode::fast &&
                        std::is_same_v<Real, float> && patch == 3 && matrix.size() == 3;
  // 13 vector operations for each pair, at the rate at which multiply-adds count two.
  if (is_fused) figure["share_of_floor"] = pairs * 13 / peak_flops() / seconds;
  figure["dtype"] = std::is_same_v<Real, float> ? "float32" : "float64";
  figure["size"] = matrix;
  figure["patch_size"] = patch;
  figure["patch_distance"] = distance;
  return figure;
}

}  // namespace

BenchResult bench_nlm(const BenchRequest& request) {
  if (request.device.kind != DeviceKind::cpu)
    throw BackendUnavailable(to_string(request.device),
                             "non-local means runs on the CPU; choose --device cpu");
  const Shape matrix = request.matrix.empty() ? Shape{128, 128, 128} : request.matrix;
  Shape small = matrix;
  for (Index& n : small) n = std::min<Index>(n, 48);
  const Index patch = request.patch_size > 0 ? request.patch_size : 3;
  const Index distance = request.patch_distance > 0 ? request.patch_distance : 3;
  const int repetitions = request.repetitions > 0 ? request.repetitions : 5;
  BenchResult result;
  result.columns = {"name",           "dtype",   "size",   "patch_size",        "patch_distance",
                    "relative_error", "seconds", "spread", "voxels_per_second", "share_of_floor"};
  const auto add = [&](Json figure, double share) {
    result.figures.push_back(std::move(figure));
    if (request.progress) request.progress("nlm", share, "");
  };
  // The ladder: scikit-image's order on one core, row by row through the caches, all of a row's shifts in registers.
  add(measure_nlm<float>({"scikit_image_order", NlmMode::fast, false, DeviceKind::reference}, small, patch,
                         distance, 1),
      0.2);
  add(measure_nlm<float>({"rows", NlmMode::fast, true, DeviceKind::cpu}, matrix, patch, distance,
                         repetitions),
      0.4);
  add(measure_nlm<float>({"fast", NlmMode::fast, false, DeviceKind::cpu}, matrix, patch, distance,
                         repetitions),
      0.5);
  add(measure_nlm<float>({"classic", NlmMode::classic, false, DeviceKind::cpu}, matrix, patch, distance,
                         repetitions),
      0.7);
  add(measure_nlm<double>({"fast", NlmMode::fast, false, DeviceKind::cpu}, matrix, patch, distance,
                          repetitions),
      1);
  return result;
}
