#include "spinloom/recon/reconstruct.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "recon/operators.hpp"
#include "spinloom/core/devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/mri/coil_maps.hpp"
#include "spinloom/ops/several_devices.hpp"
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
  if (o.combination == Combination::rss && o.devices.size() > 1)
    refuse("the root sum of squares goes coil by coil on one device, but several were named; choose one");
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

/// The maps of a share of the coils, where its operators want them.
CoilMaps<float> maps_of_share(const CoilMaps<float>& maps, CoilShare share, Device device,
                              bool streams_maps) {
  const bool stay = device.kind != DeviceKind::cuda || streams_maps;
  if (stay && share.coils == maps->shape()[0]) return maps;
  return std::make_shared<Array<cfloat>>(
      Array<cfloat>::copy_of(maps->view().slices(share.first, share.coils), stay ? Device{} : device));
}

/// The residual of a run falls from 1 to `stop`, on a logarithmic scale nearly evenly.
double share_done(int iteration, double residual, const ReconstructionOptions& o) {
  double share = o.iterations > 0 ? double(iteration) / o.iterations : 1;
  if (o.stop > 0 && residual > 0)
    share = std::max(share, std::log(std::min(residual, 1.0)) / std::log(o.stop));
  return std::clamp(share, 0.0, 1.0);
}

/// What one rank comes to.
struct Solved {
  Array<cfloat> image;  ///< on the rank's device
  CgResult cg;
  double largest_eigenvalue = 0, lambda_absolute = 0;
  ReconstructionTimes seconds;
};

/// E^H E + lambda R, with what lambda stands for.
OperatorPtr<float> regularised(const OperatorPtr<float>& normal_of_all, const Measurement& m,
                               const ReconstructionOptions& o, Solved& solved) {
  if (o.regularisation == Regularisation::none) return normal_of_all;
  solved.largest_eigenvalue =
      power_iteration<float>(*normal_of_all, {.iterations = 20, .tolerance = 1e-2}).eigenvalue;
  solved.lambda_absolute = o.lambda * solved.largest_eigenvalue;
  OperatorPtr<float> penalty = identity<float>(m.matrix);
  if (o.regularisation == Regularisation::laplacian) {
    std::vector<double> voxel(m.matrix.size(), 1.0);
    for (std::size_t d = 0; d < voxel.size(); ++d)
      if (d < m.fov_mm.size() && m.fov_mm[d] > 0) voxel[d] = m.fov_mm[d] / double(m.matrix[d]);
    penalty = normal<float>(make_finite_difference<float>(m.matrix, roughness_weights(m.matrix, voxel)));
  }
  return sum<float>({normal_of_all, penalty}, {1.0f, static_cast<float>(solved.lambda_absolute)});
}

/// Iterates from `start` (on the host; empty for zero). On several ranks all go through the same numbers: each applies the
/// operators of its own coils, and from the sum over the ranks on they have the same bits. `meanwhile` is called while the
/// device is at work.
Solved solve(const Communicator& ranks, Device device, const Measurement& m, CoilShare share,
             const ReconstructionOptions& o, const LinearOperator<float>& encoding,
             const OperatorPtr<float>& normal_of_share, View<const cfloat> start,
             const std::function<void()>& meanwhile) {
  Solved solved;
  Stopwatch watch(device);
  const auto normal_of_all = ranks.size() > 1 ? all_reduced(normal_of_share, ranks) : normal_of_share;
  const auto system = regularised(normal_of_all, m, o, solved);
  solved.seconds.plan = watch.lap();

  Array<cfloat> rhs(m.matrix, device);
  encoding.adjoint(m.kspace.view().slices(share.first, share.coils), rhs.view());
  meanwhile();
  ranks.all_reduce_sum(rhs.view());
  if (device.kind == DeviceKind::cuda && !all_finite<cfloat>(rhs.view())) require_finite(m);
  solved.image =
      start.data == nullptr ? Array<cfloat>::zeros(m.matrix, device) : Array<cfloat>::copy_of(start, device);
  solved.seconds.rhs = watch.lap();

  CgOptions options{.iterations = o.iterations, .tolerance = o.stop};
  if (o.progress && ranks.rank() == 0)
    options.report = [&](int iteration, double residual) {
      o.progress("conjugate gradients", share_done(iteration, residual, o),
                 fmt::format("iteration {}, residual {:.2e}", iteration, residual));
    };
  solved.cg = cg<float>(*system, rhs.view(), options, solved.image.view());
  solved.seconds.solve = watch.lap();
  return solved;
}

/// Ranks that do not have the same bits would go their own ways.
void require_agreement(const std::vector<Solved>& ranks) {
  for (std::size_t r = 1; r < ranks.size(); ++r)
    if (ranks[r].cg.history != ranks[0].cg.history ||
        ranks[r].largest_eigenvalue != ranks[0].largest_eigenvalue)
      throw DeviceError(fmt::format(
          "reconstruction: rank {} came to a residual of {:.9g} and rank 0 to {:.9g}, expected the "
          "same; their sums differ, so choose one GPU",
          r, ranks[r].cg.residual, ranks[0].cg.residual));
}

}  // namespace

Reconstructor::Reconstructor(ReconstructionOptions options) : options_(std::move(options)) {
  check(options_);
  if (!options_.devices.empty()) options_.device = options_.devices.front();
}
Reconstructor::~Reconstructor() = default;

void Reconstructor::make_ranks(const Measurement& m, const ReconstructionOptions& o) {
  const auto devices = devices_of(o);
  const auto shares = share_coils(m.coils(), devices.size());
  if (communicators_.empty()) communicators_ = make_communicators(devices);
  ranks_.resize(devices.size());
  run_ranks(communicators_, [&](const Communicator& c) {
    Rank& rank = ranks_[static_cast<std::size_t>(c.rank())];
    rank.device = devices[static_cast<std::size_t>(c.rank())];
    rank.share = shares[static_cast<std::size_t>(c.rank())];
    if (rank.operators && rank.operators->serve(m, rank.share.coils)) return;
    ReconstructionOptions own = o;
    own.device = rank.device;
    if (c.rank() > 0) own.log = {};
    rank.operators.reset();  // its memory is free for the next
    rank.operators = std::make_shared<Operators>(m, own, rank.share.coils);
    rank.operators->fourier(rank.operators->coil_batch);
  });
}

Reconstruction Reconstructor::run(const Measurement& m) {
  try {
    return options_.combination == Combination::rss ? run_coil_by_coil(m) : run_sense(m, options_);
  } catch (...) {
    communicators_.clear();  // they may have been given up
    throw;
  }
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
  const Operators& operators = *ranks_.front().operators;
  all.encoding =
      make_encoding<float>(maps_of_share(all.maps, {0, m.coils()}, options_.device, operators.streams_maps),
                           operators.fourier, 1, operators.gram);
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
  make_ranks(m, o);
  const std::size_t count_of_ranks = ranks_.size();
  Operators& first = *ranks_.front().operators;
  result.off_resonance = first.off_resonance;
  result.seconds.plan = watch.lap();

  result.maps = find_maps(m, o, first.fourier, first.coil_batch, result.notes);
  result.seconds.maps = watch.lap();

  /// Calls body(rank, its index, its communicator) on all ranks at once.
  const auto on_ranks = [&](const auto& body) {
    run_ranks(communicators_, [&](const Communicator& c) {
      const auto r = static_cast<std::size_t>(c.rank());
      body(ranks_[r], r, c);
    });
  };
  std::vector<CoilMaps<float>> maps(count_of_ranks);
  on_ranks([&](const Rank& rank, std::size_t r, const Communicator&) {
    maps[r] = maps_of_share(result.maps, rank.share, rank.device, rank.operators->streams_maps);
    synchronize(rank.device);
  });
  result.seconds.upload = watch.lap();

  std::vector<OperatorPtr<float>> encodings(count_of_ranks), normals(count_of_ranks);
  on_ranks([&](const Rank& rank, std::size_t r, const Communicator&) {
    const Operators& operators = *rank.operators;
    encodings[r] = make_encoding<float>(maps[r], operators.fourier, operators.coil_batch, operators.gram);
  });
  result.encoding = count_of_ranks == 1 ? encodings.front() : stacked(encodings);
  const bool starts_at_zero = o.method == Method::cg && o.start == StartingImage::zero;
  if (!starts_at_zero) {
    result.image = Array<cfloat>(m.matrix);
    if (first.weights.empty())
      first.weights = gridding_weights(*m.trajectory, m.matrix, 0, device_of_weights(o));
    result.seconds.plan += watch.lap();
    if (!first.off_resonance && lies_on_grid(*m.trajectory)) {
      result.notes.push_back("the samples lie on the grid: inverse FFT");
      combine(*result.maps, inverse_fft_images(m, first.weights.view()), result.image.view());
    } else {
      Array<cfloat> image(m.matrix, o.device);
      weighted_adjoint<float>(*result.encoding, first.weights.view(), m.kspace.view(), image.view());
      transfer<cfloat>(image.view(), result.image.view());
    }
    divide_by_coverage(*result.maps, result.image.view());
  }
  if (o.method == Method::gridding) {
    result.convergence.converged = true;
    result.convergence.reason = "gridding does not iterate";
    for (Rank& rank : ranks_) rank.operators->coordinates.reset();
    result.seconds.solve = watch.lap();
    return result;
  }

  on_ranks([&](const Rank& rank, std::size_t r, const Communicator&) {
    normals[r] = normal<float>(encodings[r]);
    rank.operators->coordinates.reset();
    synchronize(rank.device);
  });
  result.normal = count_of_ranks == 1 ? normals.front() : sum_of_parts(normals);
  result.seconds.plan += watch.lap();

  std::vector<Solved> solved(count_of_ranks);
  on_ranks([&](const Rank& rank, std::size_t r, const Communicator& c) {
    const View<const cfloat> start = starts_at_zero ? View<const cfloat>() : result.image.view();
    solved[r] = solve(c, rank.device, m, rank.share, o, *encodings[r], normals[r], start, [&] {
      // The GPUs are at work now, so the pages of the image come at no cost.
      if (r == 0 && on_gpu && starts_at_zero) result.image = Array<cfloat>::zeros(m.matrix);
    });
  });
  require_agreement(solved);
  if (count_of_ranks > 1)
    result.notes.push_back(fmt::format("coils are divided over {}, which add by {}", to_string(devices_of(o)),
                                       communicators_.front().name()));
  Solved& mine = solved.front();
  if (o.progress)
    o.progress("conjugate gradients", 1,
               fmt::format("iteration {}, residual {:.2e}", mine.cg.iterations, mine.cg.residual));
  result.seconds += mine.seconds;
  result.largest_eigenvalue = mine.largest_eigenvalue;
  result.lambda_absolute = mine.lambda_absolute;
  result.convergence = {mine.cg.iterations, mine.cg.residual, mine.cg.converged, mine.cg.reason,
                        mine.cg.history};
  watch.lap();
  if (on_gpu)
    transfer<cfloat>(mine.image.view(), result.image.view());
  else
    result.image = std::move(mine.image);
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
