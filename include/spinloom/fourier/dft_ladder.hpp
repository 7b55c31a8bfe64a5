#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spinloom/fourier/trajectory.hpp"

namespace spinloom {

/// The adjoint sum x[n] = sum_m y[m] exp(2 pi i k[m].r[n]) in single precision on the CPU or a GPU, written in the
/// order in which one makes it fast: each rung changes one thing. They are kept to be timed and read;
/// make_dft() uses the last.
enum class DftRung {
  scatter,
  gather,
  fission,
  registers,
  chunk_arrays,
  chunk_structures,
  polynomial,
  unrolled,
  recurrence,
  separable,
  fast_sine,
  separable_fp16,
  separable_split,
};

struct DftRungInfo {
  DftRung rung;
  std::string name;
  std::string description;
  /// Additions and multiplications per voxel and sample as the inner loop has them; a sine or a cosine counts
  /// as one.
  double flops_per_pair;
  /// Bytes that the inner loop loads and stores per voxel and sample, whichever cache they come from.
  double bytes_per_pair;

  double operations_per_byte() const { return flops_per_pair / bytes_per_pair; }
};

/// All rungs of a device, slowest first; bytes are for the vectors of this machine.
const std::vector<DftRungInfo>& dft_rungs(Device device = {});

/// Throws ArgumentError that lists the names when there is no such rung.
const DftRungInfo& find_dft_rung(const std::string& name, Device device = {});

/// Shapes   kspace [samples], image [matrix...]
/// Accuracy float phases up to the recurrence, about 1e-7 * max |k|; the separable form has 5e-7. `scatter`
/// adds in
///          whatever order its threads arrive; all others give the same bits for any thread count
/// Errors   those of make_dft(), and ShapeError
void dft_adjoint_rung(DftRung rung, std::shared_ptr<const Trajectory> trajectory, const Shape& matrix,
                      View<const cfloat> kspace, View<cfloat> image);

/// The sum as a function of (kspace [samples], image [matrix...]), with what depends on the trajectory alone made
/// beforehand where the rung keeps such a thing. On a GPU both arrays are there, and the work may run on after the call.
/// Errors   BackendUnavailable when the device, or the rung on this card, cannot be used
std::function<void(View<const cfloat> kspace, View<cfloat> image)> make_dft_rung(
    DftRung rung, std::shared_ptr<const Trajectory> trajectory, const Shape& matrix, Device device);

/// Pairs of one fast sine and one fast cosine that a GPU makes per second when it does nothing else, measured: what
/// bounds every sum that makes one pair per voxel and sample. 0 for other devices.
double fast_sines_per_second(Device device);

}  // namespace spinloom
