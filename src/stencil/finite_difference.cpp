#include "spinloom/stencil/finite_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/cpu/roughness.hpp"
#include "stencil/cuda/finite_difference.hpp"

namespace spinloom {
namespace {

/// One differenced axis, seen from the rows (last axis) of the array.
struct Axis {
  Index extent = 0;  ///< N
  Index stride = 0;  ///< elements from n to n + e_a
  double weight = 0;
  bool along_row =
      false;  ///< the last axis; another one may have stride 1 too, when those behind it have length 1
};

std::vector<Axis> axes_of(const Shape& shape, const std::vector<double>& weights) {
  std::vector<Axis> axes(weights.size());
  Index stride = 1;
  for (std::size_t back = 1; back <= weights.size(); ++back) {
    const Index extent = shape[shape.size() - back];
    axes[weights.size() - back] = {extent, stride, weights[weights.size() - back], back == 1};
    stride *= extent;
  }
  return axes;
}

/// The same in one kernel, for arrays on a GPU: false for others.
template <class Real>
bool on_gpu(const char* kernel, const std::vector<Axis>& axes, Index size, View<const std::complex<Real>> in,
            View<std::complex<Real>> out) {
  if (in.device.kind != DeviceKind::cuda) return false;
  std::vector<cuda::DifferenceAxis> there;
  for (const Axis& axis : axes) there.push_back({axis.extent, axis.stride, axis.weight});
  cuda::apply_difference(kernel, there, size, in, out);
  return true;
}

/// The work is cut into rows, so that the last axis is a plain loop and any other axis has one place per row.
/// Calls body(first element of the row).
template <class Body>
void for_each_row(Index size, Index row_length, const Body& body) {
  // About 16 Ki elements keep a block of several fields inside a level 2 cache.
  const Index grain = std::max<Index>(1, (Index{1} << 14) / row_length);
  parallel_blocks(size / row_length, grain, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row) body(row * row_length);
  });
}

/// D^H D for the axes given.
template <class Real>
class Roughness final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  Roughness(Shape shape, std::vector<Axis> axes) : shape_(std::move(shape)), axes_(std::move(axes)) {
    for (const Axis& a : axes_)
      if (a.extent > 1) rows_.push_back({a.extent, a.stride, a.weight});
  }
  std::string name() const override { return "minus Laplacian"; }
  Shape domain() const override { return shape_; }
  Shape range() const override { return shape_; }
  bool takes(Device x, Device y) const override { return share_memory(x, y); }

 private:
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }
  void do_forward(View<const Complex> in, View<Complex> out) const override {
    if (in.empty() || on_gpu<Real>("roughness", axes_, in.size(), in, out)) return;
    if (rows_.empty())
      parallel_blocks(out.size(), Index{1} << 14, [&](Index begin, Index end, int) {
        std::fill(out.data + begin, out.data + end, Complex(0));
      });
    else
      stencil::apply_roughness<Real>(rows_, in.size(), in.data, out.data, {}, false);
  }
  double do_add_forward(Real alpha, View<const Complex> in, View<Complex> out, bool with_dot) const override {
    if (in.device.kind == DeviceKind::cuda)
      return LinearOperator<Real>::do_add_forward(alpha, in, out, with_dot);
    if (in.empty() || rows_.empty()) return with_dot ? dot(in, View<const Complex>(out)).real() : 0;
    return stencil::apply_roughness<Real>(rows_, in.size(), in.data, out.data, alpha, with_dot);
  }

  Shape shape_;
  std::vector<Axis> axes_;
  std::vector<stencil::DifferencedAxis> rows_;  ///< those longer than 1: the last of them is a plain row
};

template <class Real>
class FiniteDifference final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  FiniteDifference(Shape shape, const std::vector<double>& weights)
      : shape_(std::move(shape)), axes_(axes_of(shape_, weights)) {}
  std::string name() const override { return "finite difference"; }
  Shape domain() const override { return shape_; }
  Shape range() const override { return prepend(static_cast<Index>(axes_.size()), shape_); }
  bool takes(Device x, Device y) const override { return share_memory(x, y); }
  OperatorPtr<Real> make_normal() const override { return std::make_shared<Roughness<Real>>(shape_, axes_); }

 private:
  void do_forward(View<const Complex> in, View<Complex> out) const override {
    if (in.empty() || on_gpu<Real>("difference", axes_, in.size(), in, out)) return;
    const Index length = shape_.back(), size = in.size();
    for_each_row(size, length, [&](Index start) {
      const Complex* x = in.data + start;
      Complex* y = out.data + start;
      for (const Axis& axis : axes_) {
        const Real w = Real(axis.weight);
        const Index s = axis.stride;
        // How many elements of the row have a next neighbour.
        const Index inside = axis.along_row                              ? length - 1
                             : start / s % axis.extent + 1 < axis.extent ? length
                                                                         : 0;
        for (Index j = 0; j < inside; ++j) y[j] = w * (x[j + s] - x[j]);
        std::fill(y + inside, y + length, Complex(0));
        y += size;
      }
    });
  }

  // Gathered: element n is the end of the difference at n - e_a and the start of its own.
  void do_adjoint(View<const Complex> in, View<Complex> out) const override {
    if (out.empty() || on_gpu<Real>("difference_adjoint", axes_, out.size(), in, out)) return;
    const Index length = shape_.back(), size = out.size();
    for_each_row(size, length, [&](Index start) {
      const Complex* y = in.data + start;
      Complex* x = out.data + start;
      std::fill(x, x + length, Complex(0));
      for (const Axis& axis : axes_) {
        const Real w = Real(axis.weight);
        const Index s = axis.stride;
        const Index place = start / s % axis.extent;
        const Index inside = axis.along_row ? length - 1 : place + 1 < axis.extent ? length : 0;
        for (Index j = 0; j < inside; ++j) x[j] -= w * y[j];
        if (axis.along_row)
          for (Index j = 1; j < length; ++j) x[j] += w * y[j - 1];
        else if (place > 0)
          for (Index j = 0; j < length; ++j) x[j] += w * y[j - s];
        y += size;
      }
    });
  }

  Shape shape_;
  std::vector<Axis> axes_;
};

}  // namespace

template <class Real>
OperatorPtr<Real> make_finite_difference(Shape shape, std::vector<double> weights) {
  if (weights.empty() || weights.size() > shape.size())
    throw ArgumentError(
        fmt::format("finite difference: {} weights for shape {}, expected one for each of its last axes",
                    weights.size(), to_string(shape)));
  for (const double w : weights)
    if (!(w >= 0 && std::isfinite(w)))
      throw ArgumentError(fmt::format("finite difference: weight {}, expected a finite number >= 0", w));
  count(shape);  // refuses sizes that overflow
  return std::make_shared<FiniteDifference<Real>>(std::move(shape), weights);
}

std::vector<double> roughness_weights(const Shape& shape, const std::vector<double>& spacing) {
  if (spacing.empty() || spacing.size() > shape.size())
    throw ArgumentError(
        fmt::format("roughness weights: {} spacings for shape {}, expected one for each of its last axes",
                    spacing.size(), to_string(shape)));
  std::vector<double> weights;
  double largest = 0;
  for (std::size_t a = 0; a < spacing.size(); ++a) {
    if (!(spacing[a] > 0 && std::isfinite(spacing[a])))
      throw ArgumentError(
          fmt::format("roughness weights: spacing {}, expected a positive length", spacing[a]));
    weights.push_back(1 / spacing[a]);
    const Index n = shape[shape.size() - spacing.size() + a];
    if (n > 1) largest += std::pow(2 * weights[a] * std::cos(std::numbers::pi / (2 * double(n))), 2);
  }
  if (largest > 0)
    for (double& w : weights) w /= std::sqrt(largest);
  return weights;
}

template OperatorPtr<float> make_finite_difference(Shape, std::vector<double>);
template OperatorPtr<double> make_finite_difference(Shape, std::vector<double>);

}  // namespace spinloom
