#include "spinloom/nlm/nlm.hpp"


#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "harness.hpp"
#include "nlm_check.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/nlm/tiers.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/process.hpp"
#include "spinloom/runtime/threads.hpp"

namespace {

using namespace spinloom;

/// Waves, a ball and noise of 0.05, as bench/peers/nlm.py makes them.
template <class Real>
Array<Real> volume(const Shape& matrix) {
  Shape shape = matrix;
  shape.push_back(1);
  Array<Real> image(shape);
  const Index plane = image.size() / matrix[0];
  parallel_blocks(matrix[0], 1, [&](Index first, Index, int) {
    std::mt19937 random(static_cast<unsigned>(first) + 1);
    std::normal_distribution<double> noise(0, 0.05);
    for (Index i = first * plane; i < (first + 1) * plane; ++i) {
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
  });
  return image;
}

struct Figure {
  const char* name;
  NlmMode mode;
  bool in_rows;  // with a map of h: through the loops that serve every case, not the fused ones
  Device device;
  bool from_host = true;  // else everything is in the GPU's memory
};

NlmOptions options_of(NlmMode mode, Index patch, Index distance) {
  NlmOptions options;
  options.patch_size = {patch};
  options.patch_distance = {distance};
  options.mode = mode;
  options.sigma = 0.05;
  options.h = mode == NlmMode::fast ? 0.04 : 0.03;
  return options;
}

/// A figure of `run`, which is checked before it is timed.
template <class Real>
Json timed(const char* name, const Array<Real>& image, const NlmOptions& options, double bound,
           int repetitions, const std::function<void()>& run,
           const std::function<const Array<Real>&()>& result) {
  run();
  Json figure = {{"name", name}};
  const double error = error_at_voxels(image, options, result());
  if (!(error <= bound))
    throw NotConverged("bench nlm: " + std::string(name) + " is off by " + std::to_string(error) +
                       " of the range; a wrong answer is not timed");
  figure["relative_error"] = error;
  figure.update(measure(repetitions, run));
  const Shape matrix(image.shape().begin(), image.shape().end() - 1);
  const double voxels = static_cast<double>(count(matrix)), seconds = figure["seconds"];
  figure["voxels_per_second"] = voxels / seconds;
  figure["pairs_per_second"] =
      voxels * std::pow(2 * options.patch_distance[0] + 1, static_cast<double>(matrix.size())) / seconds;
  figure["dtype"] = std::is_same_v<Real, float> ? "float32" : "float64";
  figure["size"] = matrix;
  figure["patch_size"] = options.patch_size[0];
  figure["patch_distance"] = options.patch_distance[0];
  return figure;
}

template <class Real>
Index bytes_of(const Array<Real>& image) {
  return image.size() * Index{sizeof(Real)};
}

template <class Real>
Json measure_nlm(const Figure& f, const Array<Real>& image, Index patch, Index distance, int repetitions) {
  NlmOptions options = options_of(f.mode, patch, distance);
  const Shape matrix(image.shape().begin(), image.shape().end() - 1);
  Array<Real> same_h;
  NlmMaps<Real> maps;
  if (f.in_rows) {
    same_h = Array<Real>::full(matrix, static_cast<Real>(options.h));
    maps.h = same_h.view();
  }
  options.device = f.device;
  const auto nothing = std::numeric_limits<Real>::quiet_NaN();
  Array<Real> there, here,
      result = Array<Real>::full(image.shape(), nothing, f.from_host ? Device{} : f.device);
  if (!f.from_host) there = Array<Real>::copy_of(image.view(), f.device);
  const double bound = std::is_same_v<Real, double> ? 1e-8 : f.mode == NlmMode::fast ? 2.4e-7 : 2e-6;
  Json figure = timed<Real>(
      f.name, image, options, bound, repetitions,
      [&] {
        nlm<Real>(f.from_host ? image.view() : View<const Real>(there.view()), options, result.view(), maps);
        synchronize(f.device);
      },
      [&]() -> const Array<Real>& {
        if (!f.from_host) here = Array<Real>::copy_of(result.view(), Device{});
        return f.from_host ? result : here;
      });
  const bool is_fused = f.device.kind == DeviceKind::cpu && !f.in_rows && f.mode == NlmMode::fast &&
                        std::is_same_v<Real, float> && patch == 3 && matrix.size() == 3;
  // 13 vector operations for each pair, at the rate at which multiply-adds count two.
  if (is_fused) figure["share_of_floor"] = figure["pairs_per_second"].get<double>() * 13 / peak_flops();
  if (f.device.kind == DeviceKind::cpu) figure["memory_beside_images"] = peak_memory_bytes() - 2 * bytes_of(image);
  return figure;
}

Json measure_tier(NlmTier tier, const Array<float>& image, Index patch, Index distance, int repetitions,
                  Device device) {
  const Array<float> there = Array<float>::copy_of(image.view(), device);
  Array<float> here, result = Array<float>::full(image.shape(), NAN, device);
  const NlmOptions options = options_of(NlmMode::fast, patch, distance);
  const char* names[] = {"tier_0_shift", "tier_1_row", "tier_2_plane", "tier_3_window"};
  return timed<float>(
      names[static_cast<int>(tier)], image, options, 1e-5, repetitions,
      [&] {
        nlm_tier(tier, there.view(), options, result.view());
        synchronize(device);
      },
      [&]() -> const Array<float>& { return here = Array<float>::copy_of(result.view(), Device{}); });
}

/// What a first call costs more than the next, on a machine whose cache has no kernels of it.
Json measure_first_call(Device device, Index patch, Index distance) {
  const Array<float> image = Array<float>::copy_of(volume<float>({33, 16, 16}).view(), device);
  Array<float> result(image.shape(), device);
  const NlmOptions options = options_of(NlmMode::fast, patch, distance);
  const auto run = [&] {
    nlm<float>(image.view(), options, result.view());
    synchronize(device);
  };
  const double first = time_once(run).seconds, next = time_once(run).seconds;
  return {{"name", "first_call"},
          {"seconds", first - next},
          {"dtype", "float32"},
          {"patch_size", patch},
          {"patch_distance", distance}};
}

}  // namespace

BenchResult bench_nlm(const BenchRequest& request) {
  const Device device = request.device, cpu;
  const bool on_gpu = device.kind == DeviceKind::cuda;
  const Index edge = on_gpu ? 500 : 128;
  const Shape matrix = request.matrix.empty() ? Shape{edge, edge, edge} : request.matrix;
  Shape small = matrix;
  for (Index& n : small) n = std::min<Index>(n, 48);
  const Index patch = request.patch_size > 0 ? request.patch_size : 3;
  const Index distance = request.patch_distance > 0 ? request.patch_distance : 3;
  // On a CPU the rungs below the fused tile take minutes beyond this.
  const bool fused_alone = !on_gpu && count(matrix) > (Index{1} << 25);
  const int repetitions = request.repetitions > 0 ? request.repetitions : on_gpu ? 10 : fused_alone ? 3 : 5;
  BenchResult result;
  result.columns = {"name",           "dtype",   "size",   "patch_size",        "patch_distance",
                    "relative_error", "seconds", "spread", "voxels_per_second", "share_of_floor"};
  const auto add = [&](Json figure, double share) {
    result.figures.push_back(std::move(figure));
    if (request.progress) request.progress("nlm", share, "");
  };
  const Array<float> image = volume<float>(matrix);
  if (on_gpu) {
    result.columns.pop_back();
    add(measure_first_call(device, patch, distance), 0.1);
    // With larger patches all but the fused kernels, and the check of classic mode, take minutes.
    const bool is_wide = patch > 3;
    // The ladder: more and more of the search in shared memory, then the sums in registers.
    for (int tier = 0; tier < 4 && matrix.size() == 3 && !is_wide; ++tier)
      add(measure_tier(static_cast<NlmTier>(tier), image, patch, distance, std::min(repetitions, 3), device),
          0.1 * (tier + 2));
    add(measure_nlm<float>({"fast", NlmMode::fast, false, device, false}, image, patch, distance,
                           repetitions),
        0.6);
    add(measure_nlm<float>({"fast_from_host", NlmMode::fast, false, device, true}, image, patch, distance,
                           repetitions),
        0.7);
    if (is_wide) return result;
    add(measure_nlm<float>({"classic", NlmMode::classic, false, device, false}, image, patch, distance,
                           repetitions),
        0.8);
    const Array<double> in_double = volume<double>(matrix);
    add(measure_nlm<double>({"fast", NlmMode::fast, false, device, false}, in_double, patch, distance,
                            repetitions),
        0.9);
    set_nlm_double(NlmDouble::pairs);
    add(measure_nlm<double>({"fast_by_pairs", NlmMode::fast, false, device, false}, in_double, patch,
                            distance, std::min(repetitions, 3)),
        0.93);
    set_nlm_double(NlmDouble::by_card);
    // A map of h, as all that has no tile: a patch at a time, from memory.
    const auto add_map = [&](const char* name, const auto& volume, double share) {
      add(measure_nlm({name, NlmMode::fast, true, device, true}, volume, patch, distance,
                      std::min(repetitions, 2)),
          share);
    };
    add_map("map_of_h_from_host", image, 0.95);
    add_map("map_of_h_from_host", in_double, 0.97);
    set_nlm_double(NlmDouble::pairs);
    add_map("map_of_h_from_host_by_pairs", in_double, 1);
    set_nlm_double(NlmDouble::by_card);
    return result;
  }
  if (fused_alone) {
    add(measure_nlm<float>({"fast", NlmMode::fast, false, cpu}, image, patch, distance, repetitions), 1);
    return result;
  }
  // The ladder: scikit-image's order on one core, row by row through the caches, all of a row's shifts in registers.
  add(measure_nlm<float>({"scikit_image_order", NlmMode::fast, false, {DeviceKind::reference, 0}},
                         volume<float>(small), patch, distance, 1),
      0.2);
  add(measure_nlm<float>({"rows", NlmMode::fast, true, cpu}, image, patch, distance, repetitions), 0.4);
  add(measure_nlm<float>({"fast", NlmMode::fast, false, cpu}, image, patch, distance, repetitions), 0.5);
  add(measure_nlm<float>({"classic", NlmMode::classic, false, cpu}, image, patch, distance, repetitions),
      0.7);
  add(measure_nlm<double>({"fast", NlmMode::fast, false, cpu}, volume<double>(matrix), patch, distance,
                          repetitions),
      1);
  return result;
}
