#pragma once
#include <functional>
#include <memory>
#include <type_traits>

#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Sensitivity maps s[c, n] of all coils, shape [coils, matrix...], shared by the operators made from them.
template <class Real>
using CoilMaps = std::shared_ptr<const Array<std::complex<Real>>>;

/// Makes a Fourier operator for `coils` coils at once, unscaled as in fourier/dft.hpp: [coils, matrix...] ->
/// [coils, samples]; or its normal operator (a Toeplitz one), [coils, matrix...] -> the same.
template <class Real>
using CoilTransform = std::function<OperatorPtr<Real>(Index coils)>;

/// The multi-coil encoding operator E, unitary-scaled:
///   y[c, m] = N^(-1/2) sum_n s[c, n] x[n] exp(-2 pi i k[m].r[n]),   N = number of voxels of the matrix
///
/// Shapes   image [matrix...] -> k-space [coils, samples]
/// Scaling  N^(-1/2) both ways: adjoint() is the exact conjugate transpose. Weights never enter it.
/// Batches  fourier(b) is applied to b = coil_batch coils at a time (0: all), and fourier(rest) to those left
/// over;
///          scratch is b images. Coils are summed in order, so the result does not depend on the batch beyond
///          what fourier itself does.
/// Devices  that of what fourier makes. On a GPU, images are there; maps are there, or on the host, from where each
///          batch is brought over anew at every application (a copy locked in memory is kept for that); k-space is there
///          or on the host, brought over batch by batch.
/// Normal   make_normal() takes gram, F^H F for a number of coils, where given; else fourier's own normal
/// operators Errors   ShapeError when fourier does not fit the maps, naming both; ArgumentError for maps that
/// are not finite
///          (naming coil and voxel) or a negative batch
template <class Real>
OperatorPtr<Real> make_encoding(CoilMaps<Real> maps, CoilTransform<Real> fourier, Index coil_batch = 0,
                                CoilTransform<Real> gram = {});

/// x -> 1/N sum_c conj(s[c]) G (s[c] x):  E^H W E when gram makes G = F^H W F, as make_toeplitz() with
/// weights does. Same batches and errors as make_encoding(), of which it needs nothing.
template <class Real>
OperatorPtr<Real> make_encoding_normal(CoilMaps<Real> maps, CoilTransform<Real> gram, Index coil_batch = 0);

/// A^H W A by way of k-space, for any A with range [coils, samples] and one real weight >= 0 per sample; an
/// empty view means 1. A constant weight scales the operator and the right-hand side alike, so the solution
/// stays.
///
/// Errors   ShapeError for another number of weights; ArgumentError naming a weight that is negative or not
/// finite
template <class Real>
OperatorPtr<Real> make_weighted_normal(OperatorPtr<Real> a, View<const double> weights);

/// x = A^H W y, the right-hand side that goes with make_weighted_normal(). Errors as there.
template <class Real>
void weighted_adjoint(const LinearOperator<Real>& a, View<const double> weights,
                      std::type_identity_t<View<const std::complex<Real>>> y,
                      std::type_identity_t<View<std::complex<Real>>> x);

/// Throws ShapeError, with the axes named and a hint when they look permuted, unless maps of shape `got`
/// serve data of `coils` coils on `matrix`.
void require_coil_maps(const Shape& got, Index coils, const Shape& matrix);

}  // namespace spinloom
