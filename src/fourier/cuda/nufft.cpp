#include "fourier/cuda/nufft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "fft/cpu/lane_plan.hpp"
#include "fourier/cuda/nufft_layout.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/scratch.hpp"
#include "runtime/cuda/uploads.hpp"
#include "runtime/run_on.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

constexpr Index value_threads = 256;  // as in nufft_points.cu

/// As in nufft_grid.cuh, whose struct is cut to the kernel's size; that much of it is passed.
template <class Real>
struct Taps {
  Real coefficients[21 * 16];
};

/// Of one coil of eight, in ns, measured on an H200 for types 1 and 2 together.
template <class Real>
double time_of(const Shape& grid, int width, Index samples, int axes) {
  constexpr double of_tap = 0.0006, of_sample = 0.05, of_cell = 0.016;
  double cells = 1, taps = 1;
  for (const Index n : grid) cells *= double(n);
  for (int d = 0; d < axes; ++d) taps *= width;
  return double(samples) * (of_tap * taps + of_sample) + of_cell * cells;
}

Index next_size(Index n) {
  for (Index own = n; own <= n + n / 8; ++own)
    if (NufftFft<float>::has_own_passes({own})) return own;
  return cpu::next_smooth(n);
}

template <class Real>
class CudaNufft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  CudaNufft(const Trajectory& trajectory, Shape matrix, Index coils, const GridChoice& choice,
            double tolerance, Device device)
      : context_(context(device.index)),
        device_(device),
        matrix_(std::move(matrix)),
        coils_(coils),
        layout_(matrix_, coils, choice, tolerance, std::is_same_v<Real, float>, context_.facts()),
        points_(sort_points<Real>(device, trajectory, layout_.axes.source, layout_.axes.voxels, layout_.grid,
                                  layout_.kernels)),
        fft_(context_, layout_.grid, layout_.axes.voxels, layout_.kernels, factors(choice)) {
    std::copy(layout_.polynomial.coefficients.begin(), layout_.polynomial.coefficients.end(),
              taps_.coefficients);
    double largest = 1;
    for (int d = 0; d < layout_.dims; ++d) largest *= choice.kernel.transform(0);
    scale_ = static_cast<Real>(std::exp2(-std::ceil(std::log2(largest))));
    batch_ = choose_batch();
  }

  std::string name() const override { return fmt::format("NUFFT ({})", to_string(device_)); }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return {coils_, points_.samples}; }
  Device device() const override { return device_; }
  /// What lies on the host is copied for the call.
  bool takes(Device x, Device y) const override { return can_run_on(device_, x, y); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    if (y.empty()) return;
    run_on(device_, x, y, [&](View<const Complex> image, View<Complex> kspace) {
      in_batches([&](Index first, Index groups, Complex* grid) {
        const Index coil = first * layout_.kernels.coils;
        fft_.forward(image.data + coil * count(matrix_), coils_ - coil, groups, grid);
        interpolate(grid, coils_ - coil, groups, kspace.data + coil * points_.samples);
      });
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    if (points_.samples == 0)
      return zero_bytes(reinterpret_cast<std::byte*>(x.data), x.device,
                        static_cast<std::size_t>(x.size()) * sizeof(Complex));
    if (!share_memory(y.device, device_) && layout_.groups > 1) return adjoint_piece_by_piece(y, x);
    run_on(device_, y, x, [&](View<const Complex> kspace, View<Complex> image) {
      in_batches([&](Index first, Index groups, Complex* grid) {
        const Index coil = first * layout_.kernels.coils;
        spread(kspace.data + coil * points_.samples, coils_ - coil, groups, grid);
        fft_.inverse(grid, coils_ - coil, groups, 1 / scale_, image.data + coil * count(matrix_));
      });
    });
  }

  /// The same of samples on the host: some coils' are on their way while those before are worked on.
  void adjoint_piece_by_piece(View<const Complex> y, View<Complex> x) const {
    constexpr Index pieces = 4;
    const Index groups = std::min(batch_, (layout_.groups + pieces - 1) / pieces),
                at_once = groups * layout_.kernels.coils, parts = (coils_ + at_once - 1) / at_once;
    const auto part = [&](Index i) { return y.slices(i * at_once, std::min(at_once, coils_ - i * at_once)); };
    const auto bytes = [](View<const Complex> v) {
      return static_cast<std::size_t>(v.size()) * sizeof(Complex);
    };
    const auto send = [&](Uploads& uploads, Index i) {
      if (i < parts) uploads.send(reinterpret_cast<const std::byte*>(part(i).data), bytes(part(i)), false);
    };
    Array<Complex> x_here;
    if (x.device != device_) x_here = Array<Complex>(x.shape, device_);
    Complex* const image = x.device == device_ ? x.data : x_here.data();
    const Scratch<Complex> grid(context_, static_cast<std::size_t>(groups * layout_.group_cells()));
    Uploads uploads(context_, bytes(part(0)), parts);
    send(uploads, 0);
    for (Index i = 0; i < parts; ++i) {
      const Index coil = i * at_once, coils = part(i).shape[0],
                  own = (coils + layout_.kernels.coils - 1) / layout_.kernels.coils;
      spread(reinterpret_cast<const Complex*>(uploads.take()), coils, own, grid.data());
      fft_.inverse(grid.data(), coils, own, 1 / scale_, image + coil * count(matrix_));
      send(uploads, i + 1);
    }
    if (x.device != device_) transfer<Complex>(x_here.view(), x);
  }

  /// Calls body(first group, groups, grid) for as many groups of coils at a time as memory allows.
  template <class Body>
  void in_batches(const Body& body) const {
    const Scratch<Complex> grid(context_, static_cast<std::size_t>(batch_ * layout_.group_cells()));
    for (Index first = 0; first < layout_.groups; first += batch_)
      body(first, std::min(batch_, layout_.groups - first), grid.data());
  }
  Index choose_batch() const {
    const Index each = layout_.group_cells() + layout_.work_size<Real>() +
                       points_.slots * layout_.slot_cells() +
                       points_.samples * layout_.kernels.coils;  // complex numbers
    const auto free = static_cast<Index>(context_.free_memory_bytes() / sizeof(Complex));
    const Index possible = std::clamp<Index>((free - free / 8) / each, 1, 4096);
    const Index batches = (layout_.groups + possible - 1) / possible;
    return (layout_.groups + batches - 1) / batches;
  }

  /// 1 / psi_hat per voxel of each axis.
  std::array<std::vector<Real>, 3> factors(const GridChoice& choice) const {
    std::array<std::vector<Real>, 3> all;
    for (std::size_t d = 0; d < 3; ++d) {
      const Index voxels = layout_.axes.voxels[d];
      for (Index n = 0; n < voxels; ++n)
        all[d].push_back(layout_.axes.source[d] < 0
                             ? Real(1)
                             : static_cast<Real>(1 / choice.kernel.transform(double(n - voxels / 2) /
                                                                             double(layout_.grid.cells[d]))));
    }
    return all;
  }
  void interpolate(const Complex* grid, Index coils, Index groups, Complex* kspace) const {
    const NufftKernels& k = layout_.kernels;
    const Grid blocks{static_cast<unsigned>(points_.interpolation.size()),
                      static_cast<unsigned>(groups * (k.coils / k.pass))};
    launch(context_, k.interpolate(), "interpolate", blocks, {static_cast<unsigned>(k.threads)},
           k.interpolation_bytes(), layout_.grid, taps_, points_.interpolation.data(), points_.first.data(),
           points_.fraction.data(), points_.order.data(), points_.samples, static_cast<int>(coils), grid,
           kspace);
  }
  void spread(const Complex* kspace, Index coils, Index groups, Complex* grid) const {
    const NufftKernels& k = layout_.kernels;
    const auto rows = static_cast<unsigned>(groups);
    const Scratch<Complex> sorted(context_, static_cast<std::size_t>(groups * points_.samples * k.coils)),
        partial(context_, static_cast<std::size_t>(groups * points_.slots * layout_.slot_cells()));
    // As in nufft_points.cu: 32 bytes of a sample at a time, and four samples a thread.
    const Index at_once = std::min<Index>(k.coils, Index(32 / sizeof(Complex)));
    const Index values = (points_.samples + 3) / 4 * at_once;
    launch(context_, k.points(), "sort_values",
           {static_cast<unsigned>((values + value_threads - 1) / value_threads),
            static_cast<unsigned>(groups * (k.coils / at_once))},
           {value_threads}, 0, kspace, points_.samples, static_cast<int>(coils), points_.order.data(), scale_,
           sorted.data());
    const auto threads = static_cast<unsigned>(k.spread_threads());
    launch(context_, k.spread(), "spread", {static_cast<unsigned>(points_.spread.size()), rows}, {threads}, 0,
           layout_.grid, taps_, points_.spread.data(), points_.begins.data(), points_.first.data(),
           points_.fraction.data(), points_.samples, sorted.data(), grid, partial.data());
    if (!points_.split.empty())
      launch(context_, k.spread(), "add_partial_sums", {static_cast<unsigned>(points_.split.size()), rows},
             {threads}, 0, layout_.grid, points_.split.data(), partial.data(), grid);
  }

  Context& context_;
  Device device_;
  Shape matrix_;
  Index coils_;
  NufftLayout layout_;
  Taps<Real> taps_{};
  Real scale_;  ///< keeps sums over the grid from overflowing where the result does not
  NufftPoints<Real> points_;
  NufftFft<Real> fft_;
  Index batch_ = 1;  ///< groups of coils at a time
};

}  // namespace

template <class Real>
GridCosts nufft_grid_costs() {
  return {next_size, time_of<Real>};
}

template <class Real>
OperatorPtr<Real> make_nufft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                             const GridChoice& choice, double tolerance, Device device) {
  require_indexable(choice.grid, trajectory->samples(), coils, device);
  return std::make_shared<CudaNufft<Real>>(*trajectory, std::move(matrix), coils, choice, tolerance, device);
}

template <class Real>
std::int64_t nufft_memory_bytes(const Shape& matrix, Index samples, Index coils, const GridChoice& choice,
                                double tolerance, Device device) {
  require_indexable(choice.grid, samples, coils, device);
  const DeviceFacts& facts = context(device.index).facts();
  const NufftLayout layout(matrix, coils, choice, tolerance, std::is_same_v<Real, float>, facts);
  const Index points = samples * (sizeof(std::uint32_t) + 3 * (sizeof(std::int32_t) + sizeof(Real)));
  // While sorting: coordinates in double, and keys and positions twice.
  const Index sorting = samples * (3 * sizeof(double) + 3 * sizeof(std::uint32_t));
  // A tile has the samples of at most 64, and is cut into pieces of some thousand.
  const Index slots = std::min(most_slots(layout.tiles, facts.multiprocessors), samples / 16 + 1);
  const Index of_group = layout.group_cells() + layout.work_size<Real>() + slots * layout.slot_cells() +
                         samples * layout.kernels.coils;
  return points + std::max(sorting, Index(sizeof(std::complex<Real>)) * layout.groups * of_group);
}

#define SPINLOOM_INSTANTIATE(Real)                                                                          \
  template GridCosts nufft_grid_costs<Real>();                                                              \
  template OperatorPtr<Real> make_nufft(std::shared_ptr<const Trajectory>, Shape, Index, const GridChoice&, \
                                        double, Device);                                                    \
  template std::int64_t nufft_memory_bytes<Real>(const Shape&, Index, Index, const GridChoice&, double,     \
                                                 Device);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
