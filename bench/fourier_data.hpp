#pragma once
#include <memory>

#include "bench.hpp"
#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/runtime/array.hpp"

/// Samples drawn evenly from the whole k-space of `matrix`: few share cache lines of a grid.
std::shared_ptr<const spinloom::Trajectory> even_trajectory(const spinloom::Shape& matrix,
                                                            spinloom::Index samples);

/// Relative L2 errors against direct sums in double, of F x at some samples and of F^H y at some voxels.
double error_at_samples(const spinloom::Trajectory& k, const spinloom::Shape& matrix,
                        const spinloom::Array<spinloom::cfloat>& x,
                        const spinloom::Array<spinloom::cfloat>& fx);
double error_at_voxels(const spinloom::Trajectory& k, const spinloom::Shape& matrix,
                       const spinloom::Array<spinloom::cfloat>& y,
                       const spinloom::Array<spinloom::cfloat>& fhy);

/// |y - F^H F x| / |F^H F x| at some voxels: F x by a NUFFT in double on `device`, a hundred times more accurate than
/// `tolerance` and itself held against direct sums at some samples, then F^H as direct sums in double.
double error_of_normal(const std::shared_ptr<const spinloom::Trajectory>& k, const spinloom::Shape& matrix,
                       spinloom::View<const spinloom::cfloat> x, spinloom::View<const spinloom::cfloat> y,
                       double tolerance, spinloom::Device device);

/// Throws NotConverged unless `error` is within `bound`: a wrong answer is not timed.
void require_error(const std::string& bench, const std::string& figure, double error, double bound);
