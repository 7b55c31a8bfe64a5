#include "fourier/cuda/toeplitz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "fourier/cuda/fuses_maps.hpp"
#include "fourier/cuda/sense_toeplitz.hpp"
#include "fourier/cuda/toeplitz_fused.hpp"
#include "fourier/cuda/toeplitz_padded.hpp"
#include "fourier/cuda/toeplitz_spectrum.hpp"
#include "runtime/cuda/scratch.hpp"
#include "runtime/run_on.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

std::array<Index, 3> image_of(const Shape& matrix) {
  std::array<Index, 3> image{1, 1, 1};
  for (std::size_t d = 0; d < matrix.size(); ++d) image[3 - matrix.size() + d] = matrix[d];
  return image;
}

/// The error of q enters every application, so it stays well below what was asked for.
double spread_tolerance(double tolerance) { return std::max(0.1 * tolerance, 1e-13); }

/// Convolutions of one trajectory, for one set of weights after another.
template <class Real>
class Planner {
 public:
  Planner(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils, double tolerance,
          Device device, ToeplitzPath path)
      : matrix_(std::move(matrix)),
        coils_(coils),
        device_(device),
        path_(choose_path<Real>(matrix_, path, context(device.index).facts().shared_memory_bytes)),
        spectra_(toeplitz_spectra<Real>(std::move(trajectory), matrix_, circulant_cells(matrix_, path_),
                                        spread_tolerance(tolerance), device)) {}
  std::unique_ptr<ToeplitzConvolution<Real>> operator()(View<const double> weights) const {
    return make_convolution<Real>(matrix_, coils_, (*spectra_)(weights), device_, path_);
  }

 private:
  Shape matrix_;
  Index coils_;
  Device device_;
  ToeplitzPath path_;
  std::unique_ptr<ToeplitzSpectra<Real>> spectra_;
};

template <class Real>
class CudaToeplitz final : public LinearOperator<Real>, public FusesMaps<Real> {
 public:
  using Complex = std::complex<Real>;  // of both bases, and the same
  CudaToeplitz(Shape matrix, Index coils, Device device,
               std::unique_ptr<ToeplitzConvolution<Real>> convolution)
      : matrix_(std::move(matrix)), coils_(coils), device_(device), convolution_(std::move(convolution)) {}

  std::string name() const override {
    return fmt::format("Toeplitz normal operator ({})", to_string(device_));
  }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return domain(); }
  Device device() const override { return device_; }
  /// What lies on the host is copied for the call.
  bool takes(Device x, Device y) const override { return can_run_on(device_, x, y); }
  Index dot_count() const override { return convolution_->dot_count(); }
  void apply_with_maps(const Complex* maps, const Complex* x, Real scale, Complex* out,
                       double* dots) const override {
    const Scratch<std::byte> work(context(device_.index), convolution_->work_bytes());
    convolution_->apply(ToeplitzSense<Real>{x, maps, scale, 0, out, dots}, work.data());
  }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    run_on(device_, x, y, [&](View<const Complex> in, View<Complex> out) {
      const Scratch<std::byte> work(context(device_.index), convolution_->work_bytes());
      convolution_->apply(in.data, out.data, work.data());
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }

  Shape matrix_;
  Index coils_;
  Device device_;
  std::unique_ptr<ToeplitzConvolution<Real>> convolution_;
};

/// Blocks of the fused passes take up to this much: every card from sm_80 on has it.
constexpr std::size_t least_shared_bytes = std::size_t{99} << 10;

}  // namespace

template <class Real>
ToeplitzPath choose_path(const Shape& matrix, ToeplitzPath path, std::size_t shared_memory_bytes) {
  const bool can_fuse = std::is_same_v<Real, float> && shared_memory_bytes >= least_shared_bytes &&
                        *std::max_element(matrix.begin(), matrix.end()) <= longest_line;
  if (path == ToeplitzPath::fused && !can_fuse)
    throw ArgumentError(fmt::format(
        "Toeplitz normal operator: matrix {} in {} precision has no fused passes; they are for axes of at "
        "most {} voxels in single precision on cards with {} bytes of shared memory per block, this has {}",
        to_string(matrix), std::is_same_v<Real, float> ? "single" : "double", longest_line,
        least_shared_bytes, shared_memory_bytes));
  return path != ToeplitzPath::best ? path : can_fuse ? ToeplitzPath::fused : ToeplitzPath::cufft;
}

std::array<Index, 3> circulant_cells(const Shape& matrix, ToeplitzPath chosen) {
  std::array<Index, 3> cells = image_of(matrix);
  if (chosen == ToeplitzPath::cufft) return PaddedToeplitz<float>::cells(cells);
  for (Index& n : cells) n = line_shape(n)->cells();
  return cells;
}

template <class Real>
std::unique_ptr<ToeplitzConvolution<Real>> make_convolution(const Shape& matrix, Index coils,
                                                            Array<Real> spectrum, Device device,
                                                            ToeplitzPath chosen) {
  if constexpr (std::is_same_v<Real, float>)
    if (chosen != ToeplitzPath::cufft) {
      const std::size_t shared_bytes = context(device.index).facts().shared_memory_bytes;
      return std::make_unique<FusedToeplitz>(*toeplitz_passes(matrix, shared_bytes), coils, spectrum, device);
    }
  return std::make_unique<PaddedToeplitz<Real>>(matrix, coils, std::move(spectrum), device);
}

template <class Real>
OperatorPtr<Real> make_toeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix,
                                View<const double> weights, Index coils, double tolerance, Device device,
                                ToeplitzPath path) {
  auto convolution = Planner<Real>(trajectory, matrix, coils, tolerance, device, path)(weights);
  return std::make_shared<CudaToeplitz<Real>>(std::move(matrix), coils, device, std::move(convolution));
}

template <class Real>
std::vector<OperatorPtr<Real>> make_toeplitz_of_each(const std::shared_ptr<const Trajectory>& trajectory,
                                                     const Shape& matrix, View<const double> weights,
                                                     Index coils, double tolerance, Device device) {
  const Planner<Real> plan(trajectory, matrix, coils, tolerance, device, ToeplitzPath::best);
  std::vector<OperatorPtr<Real>> all;
  for (Index l = 0; l < weights.shape[0]; ++l)
    all.push_back(std::make_shared<CudaToeplitz<Real>>(matrix, coils, device, plan(weights.slice(l))));
  return all;
}

template <class Real>
std::int64_t toeplitz_bytes(const Shape& matrix, Index coils) {
  const ToeplitzPath chosen = choose_path<Real>(matrix, ToeplitzPath::best);
  if (chosen == ToeplitzPath::fused) {
    const auto passes = toeplitz_passes(matrix, most_shared_bytes);
    return passes->spectrum_size() * Index(sizeof(float)) +
           static_cast<Index>(FusedToeplitz::work_bytes(*passes, coils));
  }
  const auto image = image_of(matrix);
  const auto cells = PaddedToeplitz<Real>::cells(image);
  // cuFFT wants as much again as it transforms for some sizes.
  const Index grid = cells[0] * cells[1] * cells[2];
  return grid * Index(sizeof(Real)) +
         2 * PaddedToeplitz<Real>::coils_at_once(image, coils) * grid * Index(2 * sizeof(Real));
}

template <class Real>
std::int64_t toeplitz_planning_bytes(const Shape& matrix, Index samples, double tolerance, Device device) {
  const ToeplitzPath chosen = choose_path<Real>(matrix, ToeplitzPath::best);
  const auto cells = circulant_cells(matrix, chosen);
  const Index making =
      toeplitz_spectrum_bytes<Real>(matrix, samples, cells, spread_tolerance(tolerance), device);
  // The fused passes put it into their own order, in other memory.
  const Index packed = cells[0] * cells[1] * cells[2] * Index(sizeof(Real));
  return making + (chosen == ToeplitzPath::fused ? packed : 0);
}

template <class Real>
SenseToeplitz<Real>::SenseToeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix,
                                   View<const double> weights, Array<Complex> maps,
                                   const NufftOptions& options, Device device)
    : maps_(std::move(maps)) {
  trajectory->require_fits(matrix);
  const Shape& shape = maps_.shape();
  if (shape.size() != matrix.size() + 1 || shape[0] < 1 || maps_.device() != device)
    throw ShapeError(fmt::format("SENSE normal operator: coil maps {} on {}, expected [coils, {}] on {}",
                                 to_string(shape), to_string(maps_.device()), to_string(matrix),
                                 to_string(device)));
  require_shape("SENSE normal operator", "coil maps", shape, prepend(shape[0], matrix));
  convolution_ =
      Planner<Real>(trajectory, matrix, shape[0], options.tolerance, device, ToeplitzPath::best)(weights);
  work_ = Array<std::byte>({static_cast<Index>(convolution_->work_bytes())}, device);
}

template <class Real>
SenseToeplitz<Real>::~SenseToeplitz() = default;

template <class Real>
void SenseToeplitz<Real>::apply(const Complex* x, Real lambda, Complex* out, double* dots) const {
  convolution_->apply(ToeplitzSense<Real>{x, maps_.data(), 1, lambda, out, dots},
                      const_cast<std::byte*>(work_.data()));
}

template <class Real>
Index SenseToeplitz<Real>::dot_count() const {
  return convolution_->dot_count();
}

std::vector<KernelInstance> toeplitz_kernel_instances() {
  std::vector<KernelInstance> all = fused_toeplitz_instances();
  for (const auto& more : {padded_toeplitz_instances(), toeplitz_spectrum_instances()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

#define SPINLOOM_INSTANTIATE(Real)                                                                        \
  template ToeplitzPath choose_path<Real>(const Shape&, ToeplitzPath, std::size_t);                       \
  template std::unique_ptr<ToeplitzConvolution<Real>> make_convolution(const Shape&, Index, Array<Real>,  \
                                                                       Device, ToeplitzPath);             \
  template OperatorPtr<Real> make_toeplitz(const std::shared_ptr<const Trajectory>&, Shape,               \
                                           View<const double>, Index, double, Device, ToeplitzPath);      \
  template std::vector<OperatorPtr<Real>> make_toeplitz_of_each(                                          \
      const std::shared_ptr<const Trajectory>&, const Shape&, View<const double>, Index, double, Device); \
  template std::int64_t toeplitz_bytes<Real>(const Shape&, Index);                                        \
  template std::int64_t toeplitz_planning_bytes<Real>(const Shape&, Index, double, Device);               \
  template class SenseToeplitz<Real>;
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
