#pragma once
#include <memory>
#include <string>

#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom/io/tensor.hpp"
#include "spinloom/recon/assemble.hpp"

/// What the command `nufft` reads and writes: npy and cfl arrays in the layouts of docs/conventions.md.

/// A trajectory file in the library's units.
struct NufftTrajectory {
  std::shared_ptr<const spinloom::Trajectory> k;  ///< cycles per field of view; of `matrix`
  spinloom::Shape matrix;   ///< without an axis z of one voxel, and with an axis y for 1D
  spinloom::Shape samples;  ///< shape of the samples in the file: [samples...], cfl [spokes, samples]
};
NufftTrajectory read_nufft_trajectory(const std::string& path, const spinloom::Shape& matrix,
                                      spinloom::TrajectoryUnit unit, const spinloom::Log& log);

/// An array of one or many coils, as the operators take it.
struct CoilArray {
  spinloom::Tensor values;  ///< complex64 or complex128, [coils * size]
  spinloom::Index coils = 1;
  bool has_coil_axis = false;
};

/// Reads [shape] or [coils, shape]; a cfl image or k-space of that size. Real values get an imaginary part of 0.
/// Throws ShapeError with both shapes, and ArgumentError with the place of a value that is not finite.
CoilArray read_coil_array(const std::string& path, const spinloom::Shape& shape, const std::string& what,
                          bool is_kspace, spinloom::DType type);

/// The shape in which a result is written.
spinloom::Shape result_shape(const std::string& path, const spinloom::Shape& shape, const CoilArray& like,
                             bool is_kspace);
