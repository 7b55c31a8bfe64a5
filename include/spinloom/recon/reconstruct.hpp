#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/recon/measurement.hpp"
#include "spinloom/runtime/communicator.hpp"

namespace spinloom {

enum class Method {
  cg,        ///< conjugate gradients on the normal equations
  gridding,  ///< density-compensated adjoint, or the inverse FFT where the samples lie on the grid
};
enum class FourierKind {
  toeplitz,  ///< normal operator as a convolution, right-hand side by NUFFT
  nufft,     ///< NUFFT pair
  dft,       ///< exact DFT
};
enum class Regularisation { none, tikhonov, laplacian };
enum class MapsSource { given, estimate, ones };
enum class StartingImage { zero, gridding };
enum class Combination {
  sense,  ///< one image seen through sensitivity maps
  rss,  ///< an image per coil, each reconstructed alone, then the root of the sum of their squares: needs no maps and
  ///< does not unfold; its magnitude is that of SENSE with maps of unit root sum of squares
};

std::string to_string(Method);
std::string to_string(FourierKind);
std::string to_string(Regularisation);
std::string to_string(MapsSource);
std::string to_string(StartingImage);
std::string to_string(Combination);

/// Coils that one of several ranks has.
struct CoilShare {
  Index first = 0, coils = 0;
};
/// Shares of consecutive coils, as even as can be. Throws ArgumentError for fewer coils than ranks.
std::vector<CoilShare> share_coils(Index coils, std::size_t ranks);

struct ReconstructionOptions {
  Method method = Method::cg;
  FourierKind fourier = FourierKind::toeplitz;
  double tolerance = 1e-4;  ///< of the Fourier operator
  int iterations = 50;      ///< limit
  double stop = 1e-3;       ///< relative residual of the normal equations to stop at
  Regularisation regularisation = Regularisation::none;
  double lambda = 0;  ///< relative to the largest eigenvalue of the normal operator
  Combination combination = Combination::sense;
  MapsSource maps = MapsSource::estimate;           ///< for sense
  std::shared_ptr<const Array<cfloat>> given_maps;  ///< [coils, matrix...], with MapsSource::given
  double calibration_radius =
      0;                 ///< of the k-space centre that maps are estimated from [cycles per FOV]; 0: chosen
  Index map_window = 3;  ///< box of the adaptive combination [voxels]
  StartingImage start = StartingImage::zero;
  Index coil_batch =
      0;  ///< coils transformed at a time; 0: as many as fit in a quarter of the memory available, on a
          ///< GPU in what is free there
  /// At most so much of a GPU's memory is planned with; 0: what is free there.
  std::int64_t device_memory_bytes = 0;
  Device device;  ///< of the operators and the iteration; data comes from the host, and the image goes there
  /// Several devices, which share the coils and take the place of `device`: a rank on each, see
  /// runtime/communicator.hpp. For sense only; at most as many as there are coils.
  std::vector<Device> devices;
  Log log;
  Progress progress;
};

struct ReconstructionTimes {
  double maps = 0;      ///< finding the sensitivities
  double plan = 0;      ///< making the operators, and the weights of gridding
  double upload = 0;    ///< sending the maps to a GPU; k-space is sent as it is used
  double rhs = 0;       ///< E^H y, k-space sent to a GPU with it
  double solve = 0;     ///< iterating, or gridding
  double download = 0;  ///< fetching the image from a GPU
  ReconstructionTimes& operator+=(const ReconstructionTimes& other);
};

/// What the iterations went through; for gridding 0 iterations and no residual.
struct Convergence {
  int iterations = 0;
  double residual = 0;  ///< |E^H y - (E^H E + lambda R) rho| / |E^H y|, of the image returned
  bool converged = false;
  std::string reason;
  std::vector<double> history;
};

struct Reconstruction {
  Array<cfloat> image;                        ///< [matrix...], before any crop
  std::shared_ptr<const Array<cfloat>> maps;  ///< those used, on the host
  OperatorPtr<float> encoding;    ///< E, on the device that was asked for, or the first of several
  OffResonancePtr off_resonance;  ///< null without a field map
  OperatorPtr<float> normal;      ///< E^H E as it was iterated with; null for gridding
  Convergence convergence;
  double lambda_absolute = 0;
  double largest_eigenvalue = 0;  ///< of E^H E; 0 when no lambda asked for it
  ReconstructionTimes seconds;
  std::vector<std::string> notes;  ///< what was chosen where nothing was asked for
};

/// Reconstructs measurements one after the other,
///   rho = argmin |E rho - y|^2 + lambda |E^H E| R(rho),   R = |rho|^2 (tikhonov) or |D rho|^2 (laplacian: D the
///   finite differences along each axis, scaled as roughness_weights() does),
/// and keeps the Fourier operators while trajectory and matrix stay the same.
///
/// Scaling  E is unitary-scaled (mri/encoding.hpp); gridding gives images of the same scale
/// Errors   ArgumentError, ShapeError for options and maps that do not fit; NotConverged; Interrupted
/// Devices  on a GPU the whole iteration stays there; the batch of coils is chosen to fit, and maps that do not fit at all
///          are sent from the host batch by batch. DeviceError, saying what would fit, when nothing does. Several GPUs iterate
///          in step, with one sum over them in each iteration; maps are found on the first
/// Threads  one measurement at a time per instance
class Reconstructor {
 public:
  explicit Reconstructor(ReconstructionOptions options);
  ~Reconstructor();
  Reconstruction run(const Measurement& measurement);

 private:
  struct Operators;
  struct Rank;
  void make_ranks(const Measurement& measurement, const ReconstructionOptions& options);
  Reconstruction run_sense(const Measurement& measurement, const ReconstructionOptions& options);
  Reconstruction run_coil_by_coil(const Measurement& measurement);
  ReconstructionOptions options_;
  std::vector<Communicator> communicators_;
  std::vector<Rank> ranks_;  ///< made for the last measurement, one for each communicator
};

}  // namespace spinloom
