#pragma once
#include <optional>

#include "spinloom/nlm/nlm.hpp"
#include "spinloom/runtime/array.hpp"

/// What stands around nlm() in scikit-image's denoise_nl_means: element types, the channel axis, the shape of the
/// result. float16 counts as float32 there: widen it first.
namespace spinloom {

/// What becomes of values that are not floating point.
enum class NlmRange {
  scale,     ///< unsigned and signed integers times 1 / (largest of the type), at least -1; bool 0 or 1
  preserve,  ///< the same number
};

/// float stays float, every other element type becomes double: the type in which scikit-image filters, and gives
/// its result.
template <class From>
inline constexpr bool nlm_works_in_float = std::is_same_v<From, float>;

/// The shape that nlm() takes: the channel axis moved last, or an axis of one channel added. A negative axis counts
/// from the end. Throws ArgumentError for an axis that is not there, ShapeError unless 2 to 4 spatial axes remain.
Shape nlm_working_shape(const Shape& image, std::optional<Index> channel_axis);

/// An image of any element type (bool, (u)int8_t to (u)int64_t, float, double) as values for nlm(); `values` has
/// the working shape.
template <class From, class Real>
void nlm_import(View<const From> image, std::optional<Index> channel_axis, NlmRange range, View<Real> values);

/// The filtered values in the image's own shape.
template <class Real>
void nlm_export(View<const Real> filtered, std::optional<Index> channel_axis, View<Real> image);

/// The filtered values in the shape that scikit-image gives: fast mode, and classic mode in 2D, drop every axis of
/// one element before they move the channels back, so that one channel in front leaves the image transposed.
/// Throws ShapeError where scikit-image fails.
template <class Real>
Array<Real> nlm_export_squeezed(View<const Real> filtered, std::optional<Index> channel_axis, NlmMode mode);

}  // namespace spinloom
