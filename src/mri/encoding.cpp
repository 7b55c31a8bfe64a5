#include "spinloom/mri/encoding.hpp"

#include <cmath>

#include "fourier/cuda/fuses_maps.hpp"
#include "mri/coil_batches.hpp"
#include "mri/coils_in_turn.hpp"
#include "mri/cuda/encoding.hpp"
#include "ops/cuda/gives_dots.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

// Voxels per block: one block of the image stays in a level 1 or 2 cache while the coils pass by.
constexpr Index block_size = 1 << 12;

bool on_gpu(Device device) { return device.kind == DeviceKind::cuda; }

/// images[c, n] = scale s[c, n] x[n]
template <class Real>
void expand(View<const std::complex<Real>> maps, View<const std::complex<Real>> x, Real scale,
            View<std::complex<Real>> images) {
  if (on_gpu(images.device)) return cuda::expand(maps, x, scale, images);
  const Index voxels = x.size();
  parallel_blocks(voxels, block_size, [&](Index begin, Index end, int) {
    for (Index c = 0; c < maps.shape[0]; ++c) {
      const auto* s = maps.data + c * voxels;
      auto* out = images.data + c * voxels;
      for (Index n = begin; n < end; ++n) out[n] = scale * (s[n] * x[n]);
    }
  });
}

/// x[n] = x[n] + scale sum_c conj(s[c, n]) images[c, n], coil by coil in order; x starts at 0 when `first`.
template <class Real>
void combine(View<const std::complex<Real>> maps, View<const std::complex<Real>> images, Real scale,
             bool first, View<std::complex<Real>> x) {
  if (on_gpu(x.device)) return cuda::combine(maps, images, scale, first, x);
  const Index voxels = x.size();
  parallel_blocks(voxels, block_size, [&](Index begin, Index end, int) {
    if (first) std::fill(x.data + begin, x.data + end, std::complex<Real>(0));
    for (Index c = 0; c < maps.shape[0]; ++c) {
      const auto* s = maps.data + c * voxels;
      const auto* in = images.data + c * voxels;
      for (Index n = begin; n < end; ++n) x[n] += scale * (std::conj(s[n]) * in[n]);
    }
  });
}

template <class Real>
Shape matrix_of(const CoilMaps<Real>& maps) {
  return Shape(maps->shape().begin() + 1, maps->shape().end());
}

/// Maps that are there, finite and of at least one voxel; and an operator that works on their matrix.
template <class Real>
void require_maps(const char* who, const CoilMaps<Real>& maps) {
  if (maps == nullptr) throw ArgumentError(fmt::format("{}: needs coil maps", who));
  if (maps->shape().size() < 2 || maps->empty())
    throw ShapeError(
        fmt::format("{}: coil maps have shape {}, expected [coils, matrix...] with at least 1 coil and voxel",
                    who, to_string(maps->shape())));
  require_finite_coils<Real>(who, "the map", maps->view());
}

template <class Real>
void require_fits(const char* who, const CoilMaps<Real>& maps, const LinearOperator<Real>& fourier) {
  const Shape expected = prepend(fourier.domain()[0], matrix_of(maps));
  if (fourier.domain() != expected)
    throw ShapeError(
        fmt::format("{}: coil maps have shape {}{}, but the {} works on {}; both need the same matrix", who,
                    to_string(maps->shape()), coil_axes(maps->shape().size()), fourier.name(),
                    to_string(fourier.domain())));
}

/// The maps for an operator that works on `device`: as they lie, or from locked host memory, see CoilsInTurn.
template <class Real>
class MapsInTurn {
 public:
  using Complex = std::complex<Real>;
  MapsInTurn(const char* who, CoilMaps<Real> maps, Device device) : maps_(std::move(maps)), device_(device) {
    if (share_memory(maps_->device(), device)) return;
    if (on_gpu(maps_->device()))
      throw ArgumentError(fmt::format(
          "{}: the coil maps are on {}, but the Fourier operator works on {}; bring them there, or to the "
          "host, from where they are sent batch by batch",
          who, to_string(maps_->device()), to_string(device)));
    pinned_ = cuda::pinned_copy<Real>(maps_->view(), device);
  }
  const CoilMaps<Real>& all() const { return maps_; }
  Device device() const { return device_; }

  /// One pass over them, in batches.
  CoilsInTurn<Real> pass(Index batch) const {
    if (pinned_ == nullptr) return {maps_->view(), batch, device_, false};
    return {{reinterpret_cast<const Complex*>(pinned_.get()), maps_->shape()}, batch, device_, true};
  }

 private:
  CoilMaps<Real> maps_;
  Device device_;
  std::shared_ptr<const std::byte> pinned_;
};

template <class Real>
class EncodingNormal final : public LinearOperator<Real>, public cuda::GivesDots<Real> {
 public:
  using Complex = std::complex<Real>;  // of both bases, and the same
  EncodingNormal(MapsInTurn<Real> maps, CoilBatches<Real> grams)
      : maps_(std::move(maps)),
        grams_(std::move(grams)),
        fusing_(on_gpu(grams_.full()->device())
                    ? dynamic_cast<const cuda::FusesMaps<Real>*>(grams_.full().get())
                    : nullptr) {
    require_fits("encoding normal operator", maps_.all(), *grams_.full());
    require_shape("encoding normal operator", grams_.full()->name() + " range", grams_.full()->range(),
                  grams_.full()->domain());
  }
  std::string name() const override { return "encoding normal operator by " + grams_.full()->name(); }
  Shape domain() const override { return matrix_of(maps_.all()); }
  Shape range() const override { return domain(); }
  Device device() const override { return grams_.full()->device(); }

  Index dot_count() const override {
    const bool is_one_batch = grams_.batch() == maps_.all()->shape()[0];
    return fusing_ != nullptr && is_one_batch ? fusing_->dot_count() : 0;
  }
  void forward_with_dots(const Complex* x, Complex* y, double* dots) const override {
    auto maps = maps_.pass(grams_.batch());
    fusing_->apply_with_maps(maps.take(0, grams_.batch()).data, x, scaling(), y, dots);
  }

 private:
  Real scaling() const { return Real(1 / double(count(domain()))); }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    const Real scale = scaling();
    if (fusing_ != nullptr) return fused(x, scale, y);
    Array<Complex> images(prepend(grams_.batch(), x.shape), x.device), convolved(images.shape(), x.device);
    auto in_turn = maps_.pass(grams_.batch());
    grams_.for_each([&](Index first, Index length, const LinearOperator<Real>& gram) {
      const auto part = images.view().slices(0, length), out = convolved.view().slices(0, length);
      const auto maps = in_turn.take(first, length);
      expand<Real>(maps, x, 1, part);
      gram.forward(part, out);
      combine<Real>(maps, out, scale, first == 0, y);
      in_turn.send_next();
    });
  }

  /// By operators that multiply with the maps and add the coils themselves; batch by batch where there are several.
  void fused(View<const Complex> x, Real scale, View<Complex> y) const {
    Array<Complex> sum;
    auto in_turn = maps_.pass(grams_.batch());
    grams_.for_each([&](Index first, Index length, const LinearOperator<Real>& gram) {
      if (first > 0 && sum.empty()) sum = Array<Complex>(x.shape, x.device);
      const View<Complex> out = first == 0 ? y : sum.view();
      dynamic_cast<const cuda::FusesMaps<Real>&>(gram).apply_with_maps(in_turn.take(first, length).data,
                                                                       x.data, scale, out.data, nullptr);
      if (first > 0) axpy<Complex>(Complex(1), sum.view(), y);
      in_turn.send_next();
    });
  }

  MapsInTurn<Real> maps_;
  CoilBatches<Real> grams_;
  const cuda::FusesMaps<Real>* fusing_;  ///< the operator of a full batch, where it takes maps
};

template <class Real>
OperatorPtr<Real> make_encoding_normal_of(MapsInTurn<Real> maps, const CoilTransform<Real>& gram,
                                          Index coil_batch) {
  constexpr const char* who = "encoding normal operator";
  CoilBatches<Real> batches(who, maps.all()->shape()[0], coil_batch, gram);
  if (!share_memory(maps.device(), batches.full()->device()))
    maps = MapsInTurn<Real>(who, maps.all(), batches.full()->device());
  return std::make_shared<EncodingNormal<Real>>(std::move(maps), std::move(batches));
}

template <class Real>
class Encoding final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  Encoding(CoilMaps<Real> maps, CoilBatches<Real> fourier, CoilTransform<Real> gram)
      : maps_("encoding", std::move(maps), fourier.full()->device()),
        fourier_(std::move(fourier)),
        gram_(std::move(gram)) {
    require_fits("encoding", maps_.all(), *fourier_.full());
    const Shape range = fourier_.full()->range();
    if (range.size() != 2 || range[0] != fourier_.batch())
      throw ShapeError(fmt::format("encoding: the {} has range {}, expected [{}, samples]",
                                   fourier_.full()->name(), to_string(range), fourier_.batch()));
  }
  std::string name() const override { return "encoding by " + fourier_.full()->name(); }
  Shape domain() const override { return matrix_of(maps_.all()); }
  Shape range() const override { return {maps_.all()->shape()[0], fourier_.full()->range()[1]}; }
  Device device() const override { return fourier_.full()->device(); }
  bool takes(Device x, Device y) const override {
    return share_memory(x, device()) && (share_memory(y, device()) || !on_gpu(y));
  }

  OperatorPtr<Real> make_normal() const override {
    if (!gram_) return std::make_shared<EncodingNormal<Real>>(maps_, fourier_.normals());
    return make_encoding_normal_of(maps_, gram_, fourier_.batch());
  }

 private:
  Real scaling() const { return Real(1 / std::sqrt(double(count(domain())))); }

  void do_forward(View<const Complex> x, View<Complex> y) const override {
    Array<Complex> images(prepend(fourier_.batch(), x.shape), x.device);
    auto maps = maps_.pass(fourier_.batch());
    fourier_.for_each([&](Index first, Index length, const LinearOperator<Real>& f) {
      const auto part = images.view().slices(0, length);
      expand<Real>(maps.take(first, length), x, scaling(), part);
      maps.send_next();
      const auto samples = y.slices(first, length);
      if (share_memory(y.device, x.device)) return f.forward(part, samples);
      Array<Complex> there(samples.shape, x.device);
      f.forward(part, there.view());
      transfer<Complex>(there.view(), samples);
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    Array<Complex> images(prepend(fourier_.batch(), x.shape), x.device);
    auto maps = maps_.pass(fourier_.batch());
    // All coils' samples at once are for the transform to send, which may do so piece by piece.
    const bool is_one_batch = fourier_.batch() == y.shape[0] && fourier_.full()->takes(x.device, y.device);
    CoilsInTurn<Real> samples(y, fourier_.batch(), is_one_batch ? y.device : x.device, false);
    fourier_.for_each([&](Index first, Index length, const LinearOperator<Real>& f) {
      const auto part = images.view().slices(0, length);
      f.adjoint(samples.take(first, length), part);
      combine<Real>(maps.take(first, length), part, scaling(), first == 0, x);
      maps.send_next();
      samples.send_next();
    });
  }

  MapsInTurn<Real> maps_;
  CoilBatches<Real> fourier_;
  CoilTransform<Real> gram_;
};

void require_weights(const Shape& kspace, View<const double> weights) {
  if (kspace.size() != 2)
    throw ShapeError(
        fmt::format("weights: the operator's range is {}, expected [coils, samples]", to_string(kspace)));
  if (weights.data == nullptr) return;
  require_shape("weights", "the array, one value per sample,", weights.shape, {kspace[1]});
  for (Index m = 0; m < weights.size(); ++m)
    if (!(weights[m] >= 0 && std::isfinite(weights[m])))
      throw ArgumentError(
          fmt::format("weights: sample {} has weight {}, expected a finite number >= 0", m, weights[m]));
}

/// y[c, m] = w[m] y[c, m]
template <class Real>
void weigh(View<const double> weights, View<std::complex<Real>> y) {
  if (weights.data == nullptr) return;
  if (on_gpu(y.device)) {
    Array<double> storage;
    return cuda::weigh(on_device(weights, y.device, storage), y);
  }
  const Index samples = y.shape[1];
  parallel_blocks(samples, block_size, [&](Index begin, Index end, int) {
    for (Index c = 0; c < y.shape[0]; ++c)
      for (Index m = begin; m < end; ++m) y[c * samples + m] *= Real(weights[m]);
  });
}

template <class Real>
class WeightedNormal final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  WeightedNormal(OperatorPtr<Real> a, View<const double> weights) : a_(std::move(a)) {
    require_weights(a_->range(), weights);
    if (weights.data != nullptr) weights_ = Array<double>::copy_of(weights, a_->device());
  }
  std::string name() const override { return "weighted normal of " + a_->name(); }
  Shape domain() const override { return a_->domain(); }
  Shape range() const override { return a_->domain(); }
  Device device() const override { return a_->device(); }
  bool takes(Device x, Device y) const override { return a_->takes(x, device()) && a_->takes(y, device()); }

 private:
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    Array<Complex> ax(a_->range(), device());
    a_->forward(x, ax);
    weigh<Real>(weights_.view(), ax);
    a_->adjoint(ax, y);
  }

  OperatorPtr<Real> a_;
  Array<double> weights_;
};

}  // namespace

template <class Real>
OperatorPtr<Real> make_encoding(CoilMaps<Real> maps, CoilTransform<Real> fourier, Index coil_batch,
                                CoilTransform<Real> gram) {
  require_maps("encoding", maps);
  CoilBatches<Real> batches("encoding", maps->shape()[0], coil_batch, fourier);
  return std::make_shared<Encoding<Real>>(std::move(maps), std::move(batches), std::move(gram));
}

template <class Real>
OperatorPtr<Real> make_encoding_normal(CoilMaps<Real> maps, CoilTransform<Real> gram, Index coil_batch) {
  require_maps("encoding normal operator", maps);
  const Device device = maps->device();
  return make_encoding_normal_of<Real>({"encoding normal operator", std::move(maps), device}, gram,
                                       coil_batch);
}

template <class Real>
OperatorPtr<Real> make_weighted_normal(OperatorPtr<Real> a, View<const double> weights) {
  return std::make_shared<WeightedNormal<Real>>(std::move(a), weights);
}

template <class Real>
void weighted_adjoint(const LinearOperator<Real>& a, View<const double> weights,
                      std::type_identity_t<View<const std::complex<Real>>> y,
                      std::type_identity_t<View<std::complex<Real>>> x) {
  require_weights(a.range(), weights);
  if (weights.data == nullptr) return a.adjoint(y, x);
  require_shape("weighted adjoint", "input", y.shape, a.range());
  auto weighted = Array<std::complex<Real>>::copy_of(y);
  weigh<Real>(weights, weighted);
  a.adjoint(weighted, x);
}

void require_coil_maps(const Shape& got, Index coils, const Shape& matrix) {
  const Shape expected = prepend(coils, matrix);
  if (got == expected) return;
  const std::string axes = coil_axes(expected.size());
  // Axes of length 1 are the first to be lost or gained on the way through other programs.
  const auto sorted = [](Shape shape) {
    std::erase(shape, Index{1});
    std::sort(shape.begin(), shape.end());
    return shape;
  };
  std::string hint;
  if (sorted(got) == sorted(expected))
    hint = "; the lengths agree, so the axes look permuted: coils come first, x last";
  else if (got.size() == expected.size() && Shape(got.begin() + 1, got.end()) == matrix)
    hint = fmt::format("; the maps are of {} coils, the data of {}", got[0], coils);
  throw ShapeError(fmt::format("coil maps have shape {}, expected {}{}{}", to_string(got),
                               to_string(expected), axes, hint));
}

#define SPINLOOM_INSTANTIATE(Real)                                                                           \
  template OperatorPtr<Real> make_encoding(CoilMaps<Real>, CoilTransform<Real>, Index, CoilTransform<Real>); \
  template OperatorPtr<Real> make_encoding_normal(CoilMaps<Real>, CoilTransform<Real>, Index);               \
  template OperatorPtr<Real> make_weighted_normal(OperatorPtr<Real>, View<const double>);                    \
  template void weighted_adjoint(const LinearOperator<Real>&, View<const double>,                            \
                                 View<const std::complex<Real>>, View<std::complex<Real>>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom
