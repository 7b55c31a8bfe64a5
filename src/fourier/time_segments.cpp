#include <fmt/format.h>

#include "fourier/cpu/toeplitz.hpp"
#include "fourier/segment_factors.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

double half_range(const OffResonance& b0) { return (b0.highest_hz() - b0.lowest_hz()) / 2; }

Shape without_coils(const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); }

/// Runs body(in, out) on `device`: brings the input there where it is not, and the result to where it is wanted.
template <class Complex, class Body>
void on(Device device, View<const Complex> in, View<Complex> out, const Body& body) {
  if (device.kind != DeviceKind::cuda && out.device.kind != DeviceKind::cuda &&
      in.device.kind != DeviceKind::cuda)
    return body(in, out);
  Array<Complex> storage;
  const View<const Complex> in_here = on_device(in, device, storage);
  if (out.device == device) return body(in_here, out);
  Array<Complex> out_here(out.shape, device);
  body(in_here, out_here.view());
  transfer<Complex>(out_here.view(), out);
}

template <class Real>
class Segments final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  using Factors = SegmentFactors<Real>;
  Segments(OperatorPtr<Real> plain, const OffResonance& b0, const SegmentTables& tables, Device device)
      : plain_(std::move(plain)),
        segments_(tables.interpolation.taps()),
        device_(device),
        factors_(make_segment_factors<Real>(b0, tables, device)) {}
  std::string name() const override {
    return fmt::format("{} with off-resonance by {} time segments", plain_->name(), segments_);
  }
  Shape domain() const override { return plain_->domain(); }
  Shape range() const override { return plain_->range(); }
  Device device() const override { return device_; }
  /// What lies on the host is copied for the call.
  bool takes(Device x, Device y) const override {
    const auto is_here = [&](Device d) { return d.kind != DeviceKind::cuda || d == device_; };
    return is_here(x) && is_here(y);
  }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    on(device_, x, y, [&](View<const Complex> image, View<Complex> samples) {
      Array<Complex> turned(image.shape, device_), part(samples.shape, device_);
      Array<Complex> of_voxels(without_coils(image.shape), device_), of_samples({samples.shape[1]}, device_);
      for (Index l = 0; l < segments_; ++l) {
        factors_->voxel(l, of_voxels.view());
        factors_->multiply(of_voxels.view(), Factors::Way::as_it_is, image, turned.view(),
                           Factors::Into::fresh);
        plain_->forward(turned.view(), part.view());
        factors_->sample(l, of_samples.view());
        factors_->multiply(of_samples.view(), Factors::Way::as_it_is, part.view(), samples, into(l));
      }
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    on(device_, y, x, [&](View<const Complex> samples, View<Complex> image) {
      Array<Complex> weighted(samples.shape, device_), part(image.shape, device_);
      Array<Complex> of_voxels(without_coils(image.shape), device_), of_samples({samples.shape[1]}, device_);
      for (Index l = 0; l < segments_; ++l) {
        factors_->sample(l, of_samples.view());
        factors_->multiply(of_samples.view(), Factors::Way::conjugated, samples, weighted.view(),
                           Factors::Into::fresh);
        plain_->adjoint(weighted.view(), part.view());
        factors_->voxel(l, of_voxels.view());
        factors_->multiply(of_voxels.view(), Factors::Way::conjugated, part.view(), image, into(l));
      }
    });
  }
  static typename Factors::Into into(Index l) { return l == 0 ? Factors::Into::fresh : Factors::Into::added; }

  OperatorPtr<Real> plain_;
  Index segments_;
  Device device_;
  std::shared_ptr<const Factors> factors_;
};

template <class Real>
class SegmentsNormal final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  using Factors = SegmentFactors<Real>;
  SegmentsNormal(const std::shared_ptr<const Trajectory>& k, const Shape& matrix, const OffResonance& b0,
                 const SegmentTables& tables, Index coils, double tolerance)
      : factors_(make_segment_factors<Real>(b0, tables, {})) {
    const auto weights = tables.sample_weights(b0);
    for (Index l = 0; l < tables.interpolation.taps(); ++l)
      convolutions_.push_back(
          std::make_shared<cpu::Toeplitz<Real>>(k, matrix, weights.view().slice(l), coils, tolerance));
  }
  std::string name() const override {
    return fmt::format("Toeplitz normal operator with off-resonance by {} time segments",
                       convolutions_.size());
  }
  Shape domain() const override { return convolutions_[0]->domain(); }
  Shape range() const override { return domain(); }

 private:
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    Array<Complex> turned(x.shape), convolved(x.shape), of_voxels(without_coils(x.shape));
    for (std::size_t l = 0; l < convolutions_.size(); ++l) {
      factors_->voxel(static_cast<Index>(l), of_voxels.view());
      factors_->multiply(of_voxels.view(), Factors::Way::as_it_is, x, turned.view(), Factors::Into::fresh);
      convolutions_[l]->forward(turned.view(), convolved.view());
      factors_->multiply(of_voxels.view(), Factors::Way::conjugated, convolved.view(), y,
                         l == 0 ? Factors::Into::fresh : Factors::Into::added);
    }
  }

  std::vector<OperatorPtr<Real>> convolutions_;
  std::shared_ptr<const Factors> factors_;
};

}  // namespace

TimeSegments time_segments(const OffResonance& b0, double tolerance) {
  const auto cut = cut_readout(b0, half_range(b0), tolerance);
  return {cut.interpolation.taps(), cut.interpolation.error()};
}

TimeSegments normal_time_segments(const OffResonance& b0, double tolerance) {
  const auto cut = cut_readout(b0, 2 * half_range(b0), tolerance);
  return {cut.interpolation.taps(), cut.interpolation.error()};
}

template <class Real>
OperatorPtr<Real> make_off_resonance(OperatorPtr<Real> plain, OffResonancePtr b0, double tolerance) {
  const Device device = plain->device();
  const Shape domain = plain->domain(), range = plain->range();
  if (domain.size() < 2 || range.size() != 2 || domain[0] != range[0])
    throw ShapeError(
        fmt::format("off-resonance: the {} takes {} to {}, expected [coils, matrix...] to [coils, samples]",
                    plain->name(), to_string(domain), to_string(range)));
  b0->require_fits(without_coils(domain), range[1]);
  return std::make_shared<Segments<Real>>(std::move(plain), *b0, cut_readout(*b0, half_range(*b0), tolerance),
                                          device);
}

template <class Real>
OperatorPtr<Real> make_off_resonance_normal(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                            OffResonancePtr b0, Index coils, const NufftOptions& options,
                                            Device device) {
  if (device.kind == DeviceKind::cuda)
    throw BackendUnavailable(
        "cuda", "convolutions with off-resonance have no CUDA backend; use the NUFFT pair there");
  trajectory->require_fits(matrix);
  b0->require_fits(matrix, trajectory->samples());
  if (coils < 1)
    throw ArgumentError(fmt::format("Toeplitz normal operator: {} coils, expected at least 1", coils));
  return std::make_shared<SegmentsNormal<Real>>(trajectory, matrix, *b0,
                                                cut_readout(*b0, 2 * half_range(*b0), options.tolerance),
                                                coils, options.tolerance);
}

#define SPINLOOM_INSTANTIATE(Real)                                                               \
  template OperatorPtr<Real> make_off_resonance(OperatorPtr<Real>, OffResonancePtr, double);     \
  template OperatorPtr<Real> make_off_resonance_normal(std::shared_ptr<const Trajectory>, Shape, \
                                                       OffResonancePtr, Index, const NufftOptions&, Device);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom
