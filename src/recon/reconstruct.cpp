#include "spinloom/recon/reconstruct.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "recon/operators.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/mri/coil_maps.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/solve/power_iteration.hpp"
#include "spinloom/stencil/finite_difference.hpp"

namespace spinloom {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(Device device) : device_(device) {}
  /// Seconds since the last call, or since the start; what a GPU was given counts until it is done.
  double lap() {
    synchronize(device_);
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  Device device_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void check(const ReconstructionOptions& o) {
  const auto refuse = [](const std::string& text) { throw ArgumentError("reconstruction: " + text); };
  if (o.iterations < 0) refuse(fmt::format("{} iterations, expected 0 or more", o.iterations));
  if (!(o.stop >= 0 && o.stop < 1))
    refuse(fmt::format("stop = {:g}, expected a relative residual in [0, 1)", o.stop));
  if (!(o.lambda >= 0) || !std::isfinite(o.lambda))
    refuse(fmt::format("lambda = {:g}, expected 0 or more", o.lambda));
  if (o.regularisation == Regularisation::none && o.lambda > 0)
    refuse(fmt::format("lambda = {:g} without a regularisation; choose tikhonov or laplacian", o.lambda));
  if (o.regularisation != Regularisation::none && o.lambda == 0)
    refuse(fmt::format("{} regularisation with lambda = 0; give a lambda, 1e-3 say",
                       to_string(o.regularisation)));
  if (o.method == Method::gridding && o.regularisation != Regularisation::none)
    refuse("gridding does not regularise; use the cg method");
  if (o.combination == Combination::rss && o.maps == MapsSource::given)
    refuse("the root sum of squares uses no sensitivity maps, but some were given");
  if (o.maps == MapsSource::given && !o.given_maps) refuse("no sensitivity maps were given");
}

std::shared_ptr<const Array<cfloat>> find_maps(const Measurement& m, const ReconstructionOptions& o,
                                               const CoilTransform<float>& fourier, Index batch,
                                               std::vector<std::string>& notes) {
  if (o.maps == MapsSource::given) {
    require_coil_maps(o.given_maps->shape(), m.coils(), m.matrix);
    return o.given_maps;
  }
  if (o.maps == MapsSource::ones || m.coils() == 1) {
    notes.push_back(m.coils() == 1 ? "one coil: its sensitivity is taken as 1 everywhere"
                                   : "every coil is taken to see the same image (maps of ones)");
    return std::make_shared<Array<cfloat>>(coil_maps_of_ones<float>(m.coils(), m.matrix));
  }
  // The window falls to one half at half its radius: what passes nearly whole is the well sampled centre.
  const double radius =
      o.calibration_radius > 0 ? o.calibration_radius : 2 * well_sampled_radius(*m.trajectory, m.matrix);
  const auto weights = gridding_weights(*m.trajectory, m.matrix, radius, device_of_weights(o));
  const auto images = calibration_images<float>(m.kspace.view(), *m.trajectory, weights.view(), m.matrix,
                                                fourier, {.radius = radius, .coil_batch = batch});
  notes.push_back(
      fmt::format("sensitivity maps from the k-space centre, radius {:g} cycles per field of view, box of "
                  "{} voxels",
                  radius, o.map_window));
  return std::make_shared<Array<cfloat>>(estimate_coil_maps<float>(images.view(), {.window = o.map_window}));
}

void require_finite(const Measurement& m) {
  if (!all_finite<cfloat>(m.kspace.view()))
    throw ArgumentError(
        "reconstruction: the k-space data has values that are not finite; remove those lines");
}

/// x = sum_c conj(s_c) images_c
void combine(const Array<cfloat>& maps, const Array<cfloat>& images, View<cfloat> x) {
  const Index voxels = x.size();
  for (Index n = 0; n < voxels; ++n) {
    cfloat sum = 0;
    for (Index c = 0; c < maps.shape()[0]; ++c)
      sum += std::conj(maps[c * voxels + n]) * images[c * voxels + n];
    x[n] = sum;
  }
}

/// x / sum_c |s_c|^2 where that is not 0: undoes the maps' own scale, which matters to gridding only.
void divide_by_coverage(const Array<cfloat>& maps, View<cfloat> x) {
  const auto coverage = root_sum_of_squares<float>(maps.view());
  for (Index i = 0; i < x.size(); ++i) {
    const float square = coverage[i] * coverage[i];
    x[i] = square > 0 ? x[i] / square : cfloat(0);
  }
}

/// The maps where the operators want them.
CoilMaps<float> on_device_of(const ReconstructionOptions& o, bool streams_maps, const CoilMaps<float>& maps) {
  if (o.device.kind != DeviceKind::cuda || streams_maps) return maps;
  return std::make_shared<Array<cfloat>>(Array<cfloat>::copy_of(maps->view(), o.device));
}

/// The residual of a run falls from 1 to `stop`, on a logarithmic scale nearly evenly.
double share_done(int iteration, double residual, const ReconstructionOptions& o) {
  double share = o.iterations > 0 ? double(iteration) / o.iterations : 1;
  if (o.stop > 0 && residual > 0)
    share = std::max(share, std::log(std::min(residual, 1.0)) / std::log(o.stop));
  return std::clamp(share, 0.0, 1.0);
}

}  // namespace

Reconstructor::Reconstructor(ReconstructionOptions options) : options_(std::move(options)) {
  check(options_);
}
Reconstructor::~Reconstructor() = default;

Reconstruction Reconstructor::run(const Measurement& m) {
  return options_.combination == Combination::rss ? run_coil_by_coil(m) : run_sense(m, options_);
}

Reconstruction Reconstructor::run_coil_by_coil(const Measurement& m) {
  ReconstructionOptions alone = options_;
  alone.maps = MapsSource::ones;
  Reconstruction all;
  Array<double> squares = Array<double>::zeros(m.matrix);
  for (Index c = 0; c < m.coils(); ++c) {
    Measurement coil;
    coil.trajectory = m.trajectory;
    coil.matrix = m.matrix, coil.recon_matrix = m.recon_matrix, coil.fov_mm = m.fov_mm,
    coil.geometry = m.geometry;
    coil.kspace = Array<cfloat>::copy_of(m.kspace.view().slices(c, 1));
    coil.sample_times_s = m.sample_times_s, coil.field_map_hz = m.field_map_hz;
    if (options_.progress)
      alone.progress = [&, c](const std::string& stage, double fraction, const std::string& detail) {
        options_.progress(stage, (double(c) + fraction) / double(m.coils()),
                          fmt::format("coil {}, {}", c, detail));
      };
    Reconstruction one = run_sense(coil, alone);
    for (Index n = 0; n < squares.size(); ++n) squares[n] += std::norm(cdouble(one.image[n]));
    one.seconds += all.seconds;
    // What is said of the run is said of its worst coil.
    const bool is_worse = c == 0 || one.convergence.residual > all.convergence.residual;
    Convergence worst = is_worse ? one.convergence : all.convergence;
    worst.converged = one.convergence.converged && (c == 0 || all.convergence.converged);
    all = std::move(one);
    all.convergence = std::move(worst);
  }
  all.notes = {"each coil is reconstructed alone, and their root sum of squares taken"};
  for (Index n = 0; n < squares.size(); ++n) all.image[n] = cfloat(static_cast<float>(std::sqrt(squares[n])));
  all.maps = std::make_shared<Array<cfloat>>(coil_maps_of_ones<float>(m.coils(), m.matrix));
  all.encoding = make_encoding<float>(on_device_of(options_, operators_->streams_maps, all.maps),
                                      operators_->fourier, 1, operators_->gram);
  if (options_.method == Method::cg) all.normal = normal<float>(all.encoding);
  return all;
}

Reconstruction Reconstructor::run_sense(const Measurement& m, const ReconstructionOptions& o) {
  Reconstruction result;
  Stopwatch watch(o.device);
  m.trajectory->require_fits(m.matrix);
  // On a GPU the right-hand side is looked at instead, where nothing else reads the data: no value that is not finite
  // leaves it finite.
  const bool on_gpu = o.device.kind == DeviceKind::cuda;
  const bool is_read_first =
      o.method == Method::gridding || o.start == StartingImage::gridding || o.maps == MapsSource::estimate;
  if (!on_gpu || is_read_first) require_finite(m);
  if (!operators_ || !operators_->serve(m)) operators_ = std::make_unique<Operators>(m, o);
  const Index batch = operators_->coil_batch;
  operators_->fourier(batch);
  result.off_resonance = operators_->off_resonance;
  result.seconds.plan = watch.lap();

  result.maps = find_maps(m, o, operators_->fourier, batch, result.notes);
  result.seconds.maps = watch.lap();

  const auto maps = on_device_of(o, operators_->streams_maps, result.maps);
  result.seconds.upload = watch.lap();

  result.encoding = make_encoding<float>(maps, operators_->fourier, batch, operators_->gram);
  auto image = Array<cfloat>::zeros(m.matrix, o.device);
  if (o.method == Method::gridding || o.start == StartingImage::gridding) {
    result.image = Array<cfloat>(m.matrix);
    if (operators_->weights.empty())
      operators_->weights = gridding_weights(*m.trajectory, m.matrix, 0, device_of_weights(o));
    result.seconds.plan += watch.lap();
    if (!operators_->off_resonance && lies_on_grid(*m.trajectory)) {
      result.notes.push_back("the samples lie on the grid: inverse FFT");
      combine(*result.maps, inverse_fft_images(m, operators_->weights.view()), result.image.view());
    } else {
      weighted_adjoint<float>(*result.encoding, operators_->weights.view(), m.kspace.view(), image.view());
      transfer<cfloat>(image.view(), result.image.view());
    }
    divide_by_coverage(*result.maps, result.image.view());
    transfer<cfloat>(result.image.view(), image.view());
  }
  if (o.method == Method::gridding) {
    result.convergence.converged = true;
    result.convergence.reason = "gridding does not iterate";
    result.seconds.solve = watch.lap();
    return result;
  }

  result.normal = normal<float>(result.encoding);
  result.seconds.plan += watch.lap();
  OperatorPtr<float> system = result.normal;
  if (o.regularisation != Regularisation::none) {
    result.largest_eigenvalue =
        power_iteration<float>(*result.normal, {.iterations = 20, .tolerance = 1e-2}).eigenvalue;
    result.lambda_absolute = o.lambda * result.largest_eigenvalue;
    OperatorPtr<float> penalty = identity<float>(m.matrix);
    if (o.regularisation == Regularisation::laplacian) {
      std::vector<double> voxel(m.matrix.size(), 1.0);
      for (std::size_t d = 0; d < voxel.size(); ++d)
        if (d < m.fov_mm.size() && m.fov_mm[d] > 0) voxel[d] = m.fov_mm[d] / double(m.matrix[d]);
      penalty = normal<float>(make_finite_difference<float>(m.matrix, roughness_weights(m.matrix, voxel)));
    }
    system = sum<float>({result.normal, penalty}, {1.0f, static_cast<float>(result.lambda_absolute)});
  }

  result.seconds.plan += watch.lap();
  Array<cfloat> rhs(m.matrix, o.device);
  result.encoding->adjoint(m.kspace.view(), rhs.view());
  // A GPU is at work now, so the pages of the image come at no cost.
  if (on_gpu && result.image.empty()) result.image = Array<cfloat>::zeros(m.matrix);
  if (on_gpu && !all_finite<cfloat>(rhs.view())) require_finite(m);
  result.seconds.rhs = watch.lap();

  CgOptions options{.iterations = o.iterations, .tolerance = o.stop};
  if (o.progress)
    options.report = [&](int iteration, double residual) {
      o.progress("conjugate gradients", share_done(iteration, residual, o),
                 fmt::format("iteration {}, residual {:.2e}", iteration, residual));
    };
  const CgResult cg_result = cg<float>(*system, rhs.view(), options, image.view());
  if (o.progress)
    o.progress("conjugate gradients", 1,
               fmt::format("iteration {}, residual {:.2e}", cg_result.iterations, cg_result.residual));
  result.convergence = {cg_result.iterations, cg_result.residual, cg_result.converged, cg_result.reason,
                        cg_result.history};
  result.seconds.solve = watch.lap();
  if (on_gpu)
    transfer<cfloat>(image.view(), result.image.view());
  else
    result.image = std::move(image);
  result.seconds.download = watch.lap();
  return result;
}

ReconstructionTimes& ReconstructionTimes::operator+=(const ReconstructionTimes& other) {
  maps += other.maps;
  plan += other.plan;
  upload += other.upload;
  rhs += other.rhs;
  solve += other.solve;
  download += other.download;
  return *this;
}

std::string to_string(Method m) { return m == Method::cg ? "cg" : "gridding"; }
std::string to_string(FourierKind f) {
  return f == FourierKind::toeplitz ? "toeplitz" : f == FourierKind::nufft ? "nufft" : "dft";
}
std::string to_string(Regularisation r) {
  return r == Regularisation::none ? "none" : r == Regularisation::tikhonov ? "tikhonov" : "laplacian";
}
std::string to_string(MapsSource m) {
  return m == MapsSource::given ? "given" : m == MapsSource::estimate ? "estimate" : "ones";
}
std::string to_string(Combination c) { return c == Combination::sense ? "sense" : "rss"; }
std::string to_string(StartingImage s) { return s == StartingImage::zero ? "zero" : "gridding"; }

}  // namespace spinloom
