#include "fourier/cuda/toeplitz_spectrum.hpp"

#include <algorithm>
#include <type_traits>

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

/// q on the circulant grid, as fourier/toeplitz_kernel.cpp does it.
template <class Real>
Array<std::complex<Real>> point_spread(const std::shared_ptr<const Trajectory>& trajectory,
                                       const Shape& matrix, View<const double> weights,
                                       const std::array<Index, 3>& cells, double tolerance, Device device) {
  using Complex = std::complex<Real>;
  Context& c = context(device.index);
  const KernelInstance& kernels = instance(std::is_same_v<Real, double>, std::is_same_v<Real, double>);
  const Index samples = trajectory->samples();

  Box n{{1, 1, 1}};
  for (std::size_t d = 0; d < matrix.size(); ++d) n.n[3 - matrix.size() + d] = matrix[d];
  // The first axis of more than one voxel has lags >= 0 alone; the others take both signs.
  std::size_t half_axis = 0;
  while (half_axis < 2 && n.n[half_axis] == 1) ++half_axis;
  std::vector<Box> shifts;
  for (unsigned corner = 0; corner < 8; ++corner) {
    Box shift{};
    bool is_needed = true;
    for (std::size_t d = 0; d < 3; ++d) {
      const bool is_negative = corner >> d & 1;
      if (is_negative && (n.n[d] == 1 || d == half_axis)) is_needed = false;
      shift.n[d] = n.n[d] / 2 - (is_negative ? n.n[d] : 0);
    }
    if (is_needed) shifts.push_back(shift);
  }

  // Corners are coils of one transform, so that they share the values of its kernel.
  const Index corners = static_cast<Index>(shifts.size());
  const auto nufft = make_nufft<Real>(trajectory, matrix, corners,
                                      {.tolerance = tolerance, .oversampling = 0, .log = {}}, device);
  Array<Complex> data(nufft->range(), device), parts(nufft->domain(), device);
  if (samples > 0) {
    const auto k = Array<double>::copy_of(trajectory->view(), device);
    Array<double> weights_there;
    const double* w = weights.data == nullptr ? nullptr : on_device(weights, device, weights_there).data;
    for (Index i = 0; i < corners; ++i)
      launch(c, kernels, "shift_weights", striding(c, samples), {threads}, 0,
             static_cast<const double*>(k.data()), w, n, shifts[static_cast<std::size_t>(i)],
             static_cast<int>(matrix.size()), samples, data.data() + i * samples);
  }
  nufft->adjoint(data.view(), parts.view());
  auto q = Array<Complex>::zeros({volume(cells)}, device);
  for (Index i = 0; i < corners; ++i)
    launch(c, kernels, "place_corner", striding(c, count(matrix)), {threads}, 0,
           static_cast<const Complex*>(parts.data() + i * count(matrix)), n,
           shifts[static_cast<std::size_t>(i)], static_cast<int>(half_axis), Box{cells}, q.data());
  launch(c, kernels, "mean_of_both", striding(c, volume(cells) / cells[half_axis]), {threads}, 0, Box{cells},
         static_cast<int>(half_axis), q.data());
  return q;
}

/// As on the CPU: below this a float's own sums are no longer well within the tolerance.
bool in_single(double tolerance) { return tolerance > 0.99e-5; }

template <class Real, class Result>
Array<Result> spectrum_of(const std::shared_ptr<const Trajectory>& trajectory, const Shape& matrix,
                          View<const double> weights, const std::array<Index, 3>& cells, double tolerance,
                          Device device) {
  Context& c = context(device.index);
  auto q = point_spread<Real>(trajectory, matrix, weights, cells, tolerance, device);
  std::vector<Index> size(cells.begin(), cells.end());
  while (size.size() > 1 && size[0] == 1) size.erase(size.begin());
  Cufft<Real>(c, size, 1).run(q.data(), q.data(), FftSign::minus);
  Array<Result> spectrum({q.size()}, device);
  launch(c, instance(std::is_same_v<Real, double>, std::is_same_v<Result, double>), "scaled_real",
         striding(c, q.size()), {threads}, 0, static_cast<const std::complex<Real>*>(q.data()),
         1 / double(q.size()), q.size(), spectrum.data());
  return spectrum;
}

}  // namespace

template <class Real>
Array<Real> toeplitz_spectrum(const std::shared_ptr<const Trajectory>& trajectory, const Shape& matrix,
                              View<const double> weights, const std::array<Index, 3>& cells, double tolerance,
                              Device device) {
  if (in_single(tolerance))
    return spectrum_of<Real, Real>(trajectory, matrix, weights, cells, tolerance, device);
  return spectrum_of<double, Real>(trajectory, matrix, weights, cells, tolerance, device);
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
template Array<float> toeplitz_spectrum(const std::shared_ptr<const Trajectory>&, const Shape&,
                                        View<const double>, const std::array<Index, 3>&, double, Device);
template Array<double> toeplitz_spectrum(const std::shared_ptr<const Trajectory>&, const Shape&,
                                         View<const double>, const std::array<Index, 3>&, double, Device);

}  // namespace spinloom::cuda
