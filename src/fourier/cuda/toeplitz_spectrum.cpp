#include "fourier/cuda/toeplitz_spectrum.hpp"

#include <algorithm>
#include <type_traits>

#include "fourier/cuda/coordinates.hpp"
#include "runtime/cuda/cufft.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom::cuda {

extern const KernelSource toeplitz_spectrum_source;

namespace {

constexpr Index threads = 256;  // as in toeplitz_spectrum.cu

/// struct Box of toeplitz_spectrum.cu.
struct Box {
  std::array<Index, 3> n;
};

const KernelInstance& instance(bool is_double, bool gives_double) {
  static const KernelInstance single{&toeplitz_spectrum_source, {"REAL=float", "RESULT=float"}},
      narrowed{&toeplitz_spectrum_source, {"REAL=double", "RESULT=float"}},
      twice{&toeplitz_spectrum_source, {"REAL=double", "RESULT=double"}};
  return !is_double ? single : gives_double ? twice : narrowed;
}

Grid striding(const Context& context, Index size) {
  return {static_cast<unsigned>(
      std::clamp<Index>((size + threads - 1) / threads, 1, Index{32} * context.facts().multiprocessors))};
}

Index volume(const std::array<Index, 3>& n) { return n[0] * n[1] * n[2]; }

/// Below this a float's own sums are no longer well within the tolerance, as on the CPU.
bool in_single(double tolerance) { return tolerance > 0.99e-5; }

/// Made in the precision of Real.
template <class Real, class Result>
class SpectrumMaker final : public ToeplitzSpectra<Result> {
 public:
  using Complex = std::complex<Real>;
  SpectrumMaker(std::shared_ptr<const Trajectory> trajectory, const Shape& matrix,
                const std::array<Index, 3>& cells, double tolerance, Device device)
      : context_(context(device.index)),
        device_(device),
        trajectory_(std::move(trajectory)),
        k_(coordinates_of(*trajectory_, device)),
        axes_(static_cast<int>(matrix.size())),
        voxels_(count(matrix)),
        cells_{cells} {
    for (std::size_t d = 0; d < matrix.size(); ++d) n_.n[3 - matrix.size() + d] = matrix[d];
    // The first axis of more than one voxel has lags >= 0 alone; the others take both signs.
    while (half_axis_ < 2 && n_.n[half_axis_] == 1) ++half_axis_;
    for (unsigned corner = 0; corner < 8; ++corner) {
      Box shift{};
      bool is_needed = true;
      for (std::size_t d = 0; d < 3; ++d) {
        const bool is_negative = corner >> d & 1;
        if (is_negative && (n_.n[d] == 1 || d == half_axis_)) is_needed = false;
        shift.n[d] = n_.n[d] / 2 - (is_negative ? n_.n[d] : 0);
      }
      if (is_needed) shifts_.push_back(shift);
    }
    // Corners are coils of one transform, so that they share the values of its kernel.
    nufft_ = make_nufft<Real>(trajectory_, matrix, static_cast<Index>(shifts_.size()),
                              {.tolerance = tolerance, .oversampling = 0, .log = {}}, device);
    std::vector<Index> size(cells.begin(), cells.end());
    while (size.size() > 1 && size[0] == 1) size.erase(size.begin());
    fft_ = std::make_unique<Cufft<Real>>(context_, size, 1);
  }

  Array<Result> operator()(View<const double> weights) const override {
    const KernelInstance& kernels = instance(std::is_same_v<Real, double>, std::is_same_v<Result, double>);
    auto q = point_spread(weights);
    fft_->run(q.data(), q.data(), FftSign::minus);
    Array<Result> spectrum({q.size()}, device_);
    launch(context_, kernels, "scaled_real", striding(context_, q.size()), {threads}, 0,
           static_cast<const Complex*>(q.data()), 1 / double(q.size()), q.size(), spectrum.data());
    return spectrum;
  }

 private:
  /// q on the circulant grid, as fourier/toeplitz_kernel.cpp does it.
  Array<Complex> point_spread(View<const double> weights) const {
    const KernelInstance& kernels = instance(std::is_same_v<Real, double>, std::is_same_v<Real, double>);
    const Index samples = trajectory_->samples(), corners = static_cast<Index>(shifts_.size());
    const int half_axis = static_cast<int>(half_axis_);
    Array<Complex> data(nufft_->range(), device_), parts(nufft_->domain(), device_);
    if (samples > 0) {
      Array<double> weights_there;
      const double* w = weights.data == nullptr ? nullptr : on_device(weights, device_, weights_there).data;
      for (Index i = 0; i < corners; ++i)
        launch(context_, kernels, "shift_weights", striding(context_, samples), {threads}, 0, k_->data(), w,
               n_, shifts_[static_cast<std::size_t>(i)], axes_, samples, data.data() + i * samples);
    }
    nufft_->adjoint(data.view(), parts.view());
    auto q = Array<Complex>::zeros({volume(cells_.n)}, device_);
    for (Index i = 0; i < corners; ++i)
      launch(context_, kernels, "place_corner", striding(context_, voxels_), {threads}, 0,
             static_cast<const Complex*>(parts.data() + i * voxels_), n_,
             shifts_[static_cast<std::size_t>(i)], half_axis, cells_, q.data());
    launch(context_, kernels, "mean_of_both", striding(context_, volume(cells_.n) / cells_.n[half_axis_]),
           {threads}, 0, cells_, half_axis, q.data());
    return q;
  }

  Context& context_;
  Device device_;
  std::shared_ptr<const Trajectory> trajectory_;
  Coordinates k_;
  int axes_;
  Index voxels_;
  Box cells_, n_{{1, 1, 1}};
  std::size_t half_axis_ = 0;
  std::vector<Box> shifts_;
  OperatorPtr<Real> nufft_;
  std::unique_ptr<Cufft<Real>> fft_;
};

}  // namespace

template <class Real>
std::unique_ptr<ToeplitzSpectra<Real>> toeplitz_spectra(std::shared_ptr<const Trajectory> trajectory,
                                                        const Shape& matrix,
                                                        const std::array<Index, 3>& cells, double tolerance,
                                                        Device device) {
  if (in_single(tolerance))
    return std::make_unique<SpectrumMaker<Real, Real>>(std::move(trajectory), matrix, cells, tolerance,
                                                       device);
  return std::make_unique<SpectrumMaker<double, Real>>(std::move(trajectory), matrix, cells, tolerance,
                                                       device);
}

template <class Real>
std::int64_t toeplitz_spectrum_bytes(const Shape& matrix, Index samples, const std::array<Index, 3>& cells,
                                     double tolerance, Device device) {
  const bool is_single = in_single(tolerance) && std::is_same_v<Real, float>;
  Index corners = 1;
  for (const Index n : matrix) corners *= n > 1 ? 2 : 1;
  corners = std::max<Index>(corners / 2, 1);
  const NufftOptions options{.tolerance = tolerance, .oversampling = 0, .log = {}};
  const Index transform = is_single ? nufft_memory_bytes<float>(matrix, samples, corners, options, device)
                                    : nufft_memory_bytes<double>(matrix, samples, corners, options, device);
  // Both sides of the transform, q with as much again for cuFFT, the result; and trajectory and weights.
  const Index complex_bytes = is_single ? Index(sizeof(cfloat)) : Index(sizeof(cdouble));
  return transform + (corners * (samples + count(matrix)) + 2 * volume(cells)) * complex_bytes +
         volume(cells) * Index(sizeof(Real)) + (Index(matrix.size()) + 1) * samples * Index(sizeof(double));
}

void pack_spectrum(Context& context, const std::array<LineShape, 3>& shape, const float* spectrum,
                   float* packed) {
  struct Line {
    int a, b, halves;
  } line[3];
  for (std::size_t d = 0; d < 3; ++d) line[d] = {shape[d].a, shape[d].b, shape[d].halves};
  launch(context, instance(false, false), "pack", striding(context, Index{1} << 30), {threads}, 0, spectrum,
         line[0], line[1], line[2], shape[2].row_values(), packed);
}

std::vector<KernelInstance> toeplitz_spectrum_instances() {
  return {instance(false, false), instance(true, false), instance(true, true)};
}

template std::int64_t toeplitz_spectrum_bytes<float>(const Shape&, Index, const std::array<Index, 3>&, double,
                                                     Device);
template std::int64_t toeplitz_spectrum_bytes<double>(const Shape&, Index, const std::array<Index, 3>&,
                                                      double, Device);
template std::unique_ptr<ToeplitzSpectra<float>> toeplitz_spectra(std::shared_ptr<const Trajectory>,
                                                                  const Shape&, const std::array<Index, 3>&,
                                                                  double, Device);
template std::unique_ptr<ToeplitzSpectra<double>> toeplitz_spectra(std::shared_ptr<const Trajectory>,
                                                                   const Shape&, const std::array<Index, 3>&,
                                                                   double, Device);

}  // namespace spinloom::cuda
