#pragma once
#include <map>

#include "spinloom/recon/field_map.hpp"
#include "spinloom/recon/reconstruct.hpp"

namespace spinloom {

/// The Fourier operators of one trajectory and matrix, made when first asked for and kept.
struct Reconstructor::Operators {
  std::shared_ptr<const Trajectory> trajectory;
  Shape matrix;
  CoilTransform<float> fourier;   ///< unscaled, for any number of coils
  CoilTransform<float> gram;      ///< F^H F; empty when the pair is applied instead
  Index planned_coils = 0;        ///< that the batch was chosen for
  Index coil_batch = 0;           ///< coils transformed at a time
  bool streams_maps = false;      ///< on a GPU whose memory does not hold the maps
  OffResonancePtr off_resonance;  ///< null: none
  std::shared_ptr<const Array<double>> field_map;
  std::vector<float> times;                 ///< of the samples, where there is a field map
  std::shared_ptr<const void> coordinates;  ///< on a GPU, kept while operators are made
  Array<double> weights;  ///< density compensation of all samples; empty until gridding_weights() makes it

  /// For `coils` of the measurement's coils, on the device of `options`.
  Operators(const Measurement& measurement, const ReconstructionOptions& options, Index coils);
  /// Puts the measurement's off-resonance, where it has a field map, into what was made without it.
  void add_off_resonance(const Measurement& measurement, const ReconstructionOptions& options);
  bool serve(const Measurement& m, Index coils) const {
    return trajectory == m.trajectory && matrix == m.matrix && planned_coils == coils &&
           field_map == m.field_map_hz && (field_map == nullptr || times == m.sample_times_s);
  }
};

/// One of the devices that share the coils of a measurement.
struct Reconstructor::Rank {
  Device device;
  CoilShare share;
  std::shared_ptr<Operators> operators;
};

/// The devices of a reconstruction, one or several.
std::vector<Device> devices_of(const ReconstructionOptions& options);

/// Convolutions that the normal operator with off-resonance is made of; none where it is the pair: for other operators
/// than Toeplitz', and where their spectra would take more than a quarter of a GPU's memory.
TimeSegments off_resonance_convolutions(const OffResonance& off_resonance, const Shape& matrix,
                                        const ReconstructionOptions& options);
/// What a GPU holds of one convolution however many coils it serves: real numbers on twice the matrix.
std::int64_t spectrum_bytes(const Shape& matrix);

/// Coils transformed at a time: what was asked for, else as many as leave three quarters of the memory alone.
Index choose_coil_batch(Index coils, const Shape& matrix, Index asked);

/// Weights that make the adjoint an image of the scale of rho: 1 / multiplicity where all samples lie on grid points
/// (the adjoint is then the inverse FFT), else Pipe and Menon's. The samples beyond `radius` (in cycles per field of
/// view, elliptical on anisotropic matrices; 0: none are) get 0, and only those within are worked on. `device` does the
/// NUFFTs.
Array<double> gridding_weights(const Trajectory& trajectory, const Shape& matrix, double radius,
                               Device device = {});

/// Where the NUFFTs for those weights run: with everything else, unless the exact DFT was asked for.
Device device_of_weights(const ReconstructionOptions& options);

/// The cell of the grid that sample m lies nearest to, counted from 0 in FFT order; +N/2 and -N/2 are one.
Index nearest_cell(const Trajectory& trajectory, const Shape& matrix, Index m);

/// Images [coils, matrix...] of samples that all lie on grid points, by the inverse FFT of the weighted samples, scaled
/// as E^H is.
Array<cfloat> inverse_fft_images(const Measurement& measurement, View<const double> weights);

/// Radius up to which most cells of k-space hold a sample [cycles per field of view]; at least 4, at most what the
/// matrix holds.
double well_sampled_radius(const Trajectory& trajectory, const Shape& matrix);

}  // namespace spinloom
