#include <fmt/format.h>

#include "fourier/cpu/toeplitz.hpp"
#include "fourier/cuda/fuses_maps.hpp"
#include "fourier/cuda/toeplitz.hpp"
#include "fourier/segment_factors.hpp"
#include "runtime/run_on.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

double half_range(const OffResonance& b0) { return (b0.highest_hz() - b0.lowest_hz()) / 2; }

Shape without_coils(const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); }

template <class Real>
class Segments final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  using Factors = SegmentFactors<Real>;
  Segments(OperatorPtr<Real> plain, const OffResonance& b0, const SegmentTables& tables, Device device)
      : plain_(std::move(plain)),
        segments_(tables.interpolation.taps()),
        device_(device),
        factors_(make_segment_factors<Real>(b0, tables, FactorsOf::voxels_and_samples, device)) {}
  std::string name() const override {
    return fmt::format("{} with off-resonance by {} time segments", plain_->name(), segments_);
  }
  Shape domain() const override { return plain_->domain(); }
  Shape range() const override { return plain_->range(); }
  Device device() const override { return device_; }
  /// What lies on the host is copied for the call.
  bool takes(Device x, Device y) const override { return can_run_on(device_, x, y); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    run_on(device_, x, y, [&](View<const Complex> image, View<Complex> samples) {
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
    run_on(device_, y, x, [&](View<const Complex> samples, View<Complex> image) {
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

/// F^H W F for each row of weights, which may be of either sign.
template <class Real>
std::vector<OperatorPtr<Real>> make_convolutions(const std::shared_ptr<const Trajectory>& k,
                                                 const Shape& matrix, View<const double> weights, Index coils,
                                                 double tolerance, Device device) {
  if (device.kind == DeviceKind::cuda)
    return cuda::make_toeplitz_of_each<Real>(k, matrix, weights, coils, tolerance, device);
  std::vector<OperatorPtr<Real>> all;
  for (Index l = 0; l < weights.shape[0]; ++l)
    all.push_back(std::make_shared<cpu::Toeplitz<Real>>(k, matrix, weights.slice(l), coils, tolerance));
  return all;
}

template <class Real>
class SegmentsNormal final : public LinearOperator<Real>, public cuda::FusesMaps<Real> {
 public:
  using Complex = std::complex<Real>;  // of both bases, and the same
  using Factors = SegmentFactors<Real>;
  SegmentsNormal(const std::shared_ptr<const Trajectory>& k, const Shape& matrix, const OffResonance& b0,
                 const SegmentTables& tables, Index coils, double tolerance, Device device)
      : device_(device),
        convolutions_(
            make_convolutions<Real>(k, matrix, tables.sample_weights(b0).view(), coils, tolerance, device)),
        factors_(make_segment_factors<Real>(b0, tables, FactorsOf::voxels, device)) {}
  std::string name() const override {
    return fmt::format("Toeplitz normal operator with off-resonance by {} time segments",
                       convolutions_.size());
  }
  Shape domain() const override { return convolutions_[0]->domain(); }
  Shape range() const override { return domain(); }
  Device device() const override { return device_; }

  /// The segments' factors are common to the coils, so they meet the image before the maps do.
  Index dot_count() const override { return 0; }
  void apply_with_maps(const Complex* maps, const Complex* x, Real scale, Complex* out,
                       double*) const override {
    const Shape matrix = without_coils(domain());
    segment_by_segment(
        {x, matrix, device_}, {out, matrix, device_},
        [&](const LinearOperator<Real>& convolution, View<const Complex> in, View<Complex> result) {
          dynamic_cast<const cuda::FusesMaps<Real>&>(convolution)
              .apply_with_maps(maps, in.data, scale, result.data, nullptr);
        });
  }

 private:
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    segment_by_segment(
        x, y, [](const LinearOperator<Real>& convolution, View<const Complex> in, View<Complex> result) {
          convolution.forward(in, result);
        });
  }
  /// y = sum_l conj(v_l) convolve(T_l, v_l x), v_l the voxels' factors.
  template <class Convolve>
  void segment_by_segment(View<const Complex> x, View<Complex> y, const Convolve& convolve) const {
    Array<Complex> turned(x.shape, device_), convolved(x.shape, device_),
        of_voxels(without_coils(domain()), device_);
    for (std::size_t l = 0; l < convolutions_.size(); ++l) {
      factors_->voxel(static_cast<Index>(l), of_voxels.view());
      factors_->multiply(of_voxels.view(), Factors::Way::as_it_is, x, turned.view(), Factors::Into::fresh);
      convolve(*convolutions_[l], View<const Complex>(turned.view()), convolved.view());
      factors_->multiply(of_voxels.view(), Factors::Way::conjugated, convolved.view(), y,
                         l == 0 ? Factors::Into::fresh : Factors::Into::added);
    }
  }

  Device device_;
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
  trajectory->require_fits(matrix);
  b0->require_fits(matrix, trajectory->samples());
  if (coils < 1)
    throw ArgumentError(fmt::format("Toeplitz normal operator: {} coils, expected at least 1", coils));
  return std::make_shared<SegmentsNormal<Real>>(trajectory, matrix, *b0,
                                                cut_readout(*b0, 2 * half_range(*b0), options.tolerance),
                                                coils, options.tolerance, device);
}

#define SPINLOOM_INSTANTIATE(Real)                                                               \
  template OperatorPtr<Real> make_off_resonance(OperatorPtr<Real>, OffResonancePtr, double);     \
  template OperatorPtr<Real> make_off_resonance_normal(std::shared_ptr<const Trajectory>, Shape, \
                                                       OffResonancePtr, Index, const NufftOptions&, Device);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom
