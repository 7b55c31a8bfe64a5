#include "fourier/cpu/toeplitz.hpp"

#include <algorithm>

#include "fft/cpu/passes.hpp"
#include "fourier/cpu/axes.hpp"
#include "fourier/toeplitz_kernel.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

std::shared_ptr<ScratchPool> pool_of_reals(Index reals, std::size_t size) {
  return std::make_shared<ScratchPool>(static_cast<std::size_t>(reals) * size);
}

/// The error of q enters every application, so it stays well below what was asked for;
double kernel_tolerance(double tolerance) { return std::max(0.1 * tolerance, 1e-13); }
/// below 1e-5 a float's own gridding no longer does.
bool in_own_precision(double tolerance) { return kernel_tolerance(tolerance) > 0.99e-5; }

}  // namespace

template <class Real>
Toeplitz<Real>::Toeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix,
                         View<const double> weights, Index coils, double tolerance)
    : matrix_(std::move(matrix)),
      coils_(coils),
      layout_(Axes(matrix_).voxels),
      spectrum_(Array<Real>::zeros({layout_.spectrum_reals()})),
      work_(pool_of_reals(layout_.work_reals(), sizeof(Real))),
      scratch_(pool_of_reals(layout_.scratch_reals(), sizeof(Real))) {
  if (in_own_precision(tolerance))
    make_spectrum<Real>(trajectory, weights, kernel_tolerance(tolerance));
  else
    make_spectrum<double>(trajectory, weights, kernel_tolerance(tolerance));
}

template <class Real>
std::int64_t Toeplitz<Real>::applying_bytes(const Shape& matrix, Index coils) {
  const ToeplitzLayout<Real> layout(Axes(matrix).voxels);
  const Index threads = thread_count();
  const Index at_once = layout.planes() > 1 ? 1 : std::min(coils, threads);
  return (layout.spectrum_reals() + at_once * layout.work_reals() + threads * layout.scratch_reals()) *
         Index(sizeof(Real));
}

template <class Real>
std::int64_t Toeplitz<Real>::planning_bytes(const Shape& matrix, Index samples, double tolerance) {
  const ToeplitzLayout<Real> layout(Axes(matrix).voxels);
  const bool own = in_own_precision(tolerance);
  const NufftOptions options{.tolerance = kernel_tolerance(tolerance), .oversampling = 0, .log = {}};
  const Index gridding = own ? nufft_memory_bytes<Real>(matrix, samples, 1, options)
                             : nufft_memory_bytes<double>(matrix, samples, 1, options);
  Index values = samples + count(matrix), cells = 1;
  for (std::size_t d = 0; d < 3; ++d) cells *= layout.halves[d] * layout.n[d];
  values += cells;
  return layout.spectrum_reals() * Index(sizeof(Real)) + gridding +
         values * 2 * Index(own ? sizeof(Real) : sizeof(double));
}

template <class Real>
template <class KernelReal>
void Toeplitz<Real>::make_spectrum(const std::shared_ptr<const Trajectory>& trajectory,
                                   View<const double> weights, double tolerance) {
  const Axes axes(matrix_);
  Shape cells(matrix_.size(), 1);
  std::array<Index, 3> size{1, 1, 1};
  for (std::size_t d = 0; d < 3; ++d) {
    size[d] = layout_.halves[d] * layout_.n[d];
    if (axes.source[d] >= 0) cells[static_cast<std::size_t>(axes.source[d])] = size[d];
  }
  auto q = point_spread<KernelReal>(trajectory, matrix_, weights, cells, tolerance);
  PrunedFft<KernelReal>({size, size, size[2], size[1] * size[2]}).forward_in_place(q.data());
  const double scale = 1 / double(q.size());
  // q is hermitian, so that its spectrum is real.
  parallel_blocks(size[0] * size[1], 16, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row)
      for (Index half = 0; half < layout_.halves[2]; ++half) {
        Real* to = spectrum_.data() + layout_.spectrum_index(row / size[1], row % size[1], half);
        const auto* from = q.data() + row * size[2] + half;
        for (Index x = 0; x < layout_.n[2]; ++x)
          to[x * lanes<Real>] = static_cast<Real>(scale * double(from[x * layout_.halves[2]].real()));
      }
  });
}

template <class Real>
void Toeplitz<Real>::do_forward(View<const Complex> x, View<Complex> y) const {
  const ToeplitzKernels<Real>& kernels = toeplitz_kernels<Real>();
  const Index rows = layout_.image[1], planes = layout_.planes();
  const auto apply = [&](Index coil) {
    const auto work_memory = work_->borrow();
    Real* work = reinterpret_cast<Real*>(work_memory.get());
    const Complex* in = x.slice(coil).data;
    Complex* out = y.slice(coil).data;
    const auto parallel = [&](Index size, const auto& body) {
      parallel_blocks(size, 2, [&](Index begin, Index end, int) {
        const auto scratch = scratch_->borrow();
        for (Index i = begin; i < end; ++i) body(i, reinterpret_cast<Real*>(scratch.get()));
      });
    };
    parallel(rows, [&](Index row, Real* scratch) { kernels.z_forward(layout_, row, in, work, scratch); });
    parallel(planes, [&](Index plane, Real* scratch) {
      kernels.plane(layout_, spectrum_.data() + plane * layout_.plane_spectrum(),
                    work + plane * layout_.plane_blocks * block_reals<Real>, scratch);
    });
    parallel(rows,
             [&](Index row, Real* scratch) { kernels.z_inverse(layout_, row, Real(1), work, out, scratch); });
  };
  if (planes > 1) {
    for (Index coil = 0; coil < coils_; ++coil) apply(coil);
  } else {  // 2D: a coil is one plane
    parallel_blocks(coils_, 1, [&](Index begin, Index end, int) {
      for (Index coil = begin; coil < end; ++coil) apply(coil);
    });
  }
}

template class Toeplitz<float>;
template class Toeplitz<double>;

}  // namespace spinloom::cpu
