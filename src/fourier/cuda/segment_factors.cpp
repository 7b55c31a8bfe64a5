#include "fourier/segment_factors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "fourier/cuda/off_resonance.hpp"
#include "runtime/cuda/kernel.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cuda {

extern const KernelSource time_segments_source;

namespace {

template <class Real>
const KernelInstance& instance() {
  static const KernelInstance one{&time_segments_source,
                                  {std::is_same_v<Real, float> ? "REAL=float" : "REAL=double"}};
  return one;
}

constexpr Index block = 1 << 14;

template <class Real>
class CudaFactors final : public SegmentFactors<Real> {
 public:
  using Complex = std::complex<Real>;
  using Way = typename SegmentFactors<Real>::Way;
  using Into = typename SegmentFactors<Real>::Into;
  CudaFactors(const OffResonance& b0, const SegmentTables& tables, FactorsOf what, Device device)
      : context_(context(device.index)) {
    for (int l = 0; l < tables.interpolation.taps(); ++l) times_.push_back(tables.time(l));
    const auto narrowed = [&](const auto& values, double less) {
      Array<Real> narrow(values.shape);
      parallel_blocks(values.size(), block, [&](Index begin, Index end, int) {
        for (Index i = begin; i < end; ++i) narrow[i] = static_cast<Real>(values[i] - less);
      });
      return Array<Real>::copy_of(narrow.view(), device);
    };
    hz_ = narrowed(b0.map_hz(), tables.middle_hz);
    if (what == FactorsOf::voxels) return;
    const auto weights = tables.sample_weights(b0);
    weights_ = narrowed(weights.view(), 0);
    Array<Complex> turns(b0.times_s().shape);
    parallel_blocks(turns.size(), block, [&](Index begin, Index end, int) {
      for (Index m = begin; m < end; ++m) {
        const double t = tables.middle_hz * b0.times_s()[m];
        turns[m] = Complex(std::polar(1.0, -2 * std::numbers::pi * (t - std::rint(t))));
      }
    });
    turns_ = Array<Complex>::copy_of(turns.view(), device);
  }

 private:
  void voxel(Index l, View<Complex> factors) const override {
    run("voxel_factors", factors.size(), hz_.data(), times_[static_cast<std::size_t>(l)], factors.data);
  }
  void sample(Index l, View<Complex> factors) const override {
    run("sample_factors", factors.size(), weights_.data() + l * factors.size(), turns_.data(), factors.data);
  }
  void multiply(View<const Complex> factors, Way way, View<const Complex> in, View<Complex> out,
                Into into) const override {
    const Index size = factors.size();
    if (size > 0)
      run("multiply", size, factors.data, way == Way::conjugated ? -1 : 1, in.data, out.data,
          into == Into::added ? 1 : 0, in.size() / size);
  }
  template <class... Arguments>
  void run(const char* kernel, Index size, const Arguments&... arguments) const {
    if (size == 0) return;
    const Index blocks = std::min<Index>((size + 255) / 256, 16 * context_.facts().multiprocessors);
    launch(context_, instance<Real>(), kernel, {static_cast<unsigned>(blocks)}, {256}, 0, arguments..., size);
  }

  Context& context_;
  std::vector<double> times_;
  Array<Real> hz_, weights_;  ///< from the middle of the map's range; [segments, samples]
  Array<Complex> turns_;      ///< exp(-2 pi i f_c t)
};

}  // namespace

template <class Real>
std::shared_ptr<const SegmentFactors<Real>> make_segment_factors(const OffResonance& b0,
                                                                 const SegmentTables& tables, FactorsOf what,
                                                                 Device device) {
  return std::make_shared<CudaFactors<Real>>(b0, tables, what, device);
}

template std::shared_ptr<const SegmentFactors<float>> make_segment_factors(const OffResonance&,
                                                                           const SegmentTables&, FactorsOf,
                                                                           Device);
template std::shared_ptr<const SegmentFactors<double>> make_segment_factors(const OffResonance&,
                                                                            const SegmentTables&, FactorsOf,
                                                                            Device);

std::vector<KernelInstance> time_segment_kernel_instances() {
  return {instance<float>(), instance<double>()};
}

}  // namespace spinloom::cuda
