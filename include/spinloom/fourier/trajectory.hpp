#pragma once
#include "spinloom/core/view.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Positions k[m] of the samples in k-space, in cycles per field of view.
///
/// Axes follow the image: row d of `k` belongs to image axis d, so a 2D trajectory holds (ky, kx) for an image
/// [y, x] and a 3D one (kz, ky, kx) for [z, y, x]. Kept in double: at 128 cycles a float's rounding alone costs 1e-5
/// of phase.
class Trajectory {
 public:
  /// k has shape [dims, samples], dims 1, 2 or 3. Throws ShapeError otherwise, and ArgumentError naming the
  /// sample and axis of the first value that is not finite.
  explicit Trajectory(Array<double> k);

  int dims() const { return static_cast<int>(k_.shape()[0]); }
  Index samples() const { return k_.shape()[1]; }
  View<const double> axis(int d) const { return k_.view().slice(d); }
  View<const double> view() const { return k_.view(); }

  /// Throws ArgumentError unless |k| <= matrix / 2 on every axis (and a rounding error of float input beyond),
  /// naming the worst sample and what the numbers look like. Throws ShapeError when the dimensions differ.
  void require_fits(const Shape& matrix) const;

 private:
  Array<double> k_;
};

/// max |k| per axis, 0 without samples.
std::vector<double> extent(const Trajectory& trajectory);

}  // namespace spinloom
