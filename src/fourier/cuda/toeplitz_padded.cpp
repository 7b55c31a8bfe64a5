#include "fourier/cuda/toeplitz_padded.hpp"

#include <algorithm>
#include <type_traits>

namespace spinloom::cuda {

extern const KernelSource toeplitz_padded_source;

namespace {

constexpr Index threads = 256;  // as in toeplitz_padded.cu
constexpr Index most_work_bytes = Index{2} << 30;

/// struct Box of toeplitz_padded.cu.
struct Box {
  Index z, y, x;
};
Box box(const std::array<Index, 3>& n) { return {n[0], n[1], n[2]}; }
Index volume(const std::array<Index, 3>& n) { return n[0] * n[1] * n[2]; }

template <class Real>
const KernelInstance& instance() {
  static const KernelInstance one{&toeplitz_padded_source,
                                  {std::is_same_v<Real, float> ? "REAL=float" : "REAL=double"}};
  return one;
}

/// The smallest 2^a 3^b 5^c 7^d that is no less, which cuFFT has kernels for.
Index next_smooth(Index n) {
  for (;; ++n) {
    Index rest = n;
    for (const Index factor : {2, 3, 5, 7})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

Grid striding(const Context& context, Index size) {
  return {static_cast<unsigned>(
      std::clamp<Index>((size + threads - 1) / threads, 1, Index{32} * context.facts().multiprocessors))};
}

}  // namespace

template <class Real>
std::array<Index, 3> PaddedToeplitz<Real>::cells(const std::array<Index, 3>& image) {
  std::array<Index, 3> cells{};
  for (std::size_t d = 0; d < 3; ++d) {
    // Twice the size has small factors where the size has, and rows that are aligned.
    const Index least = next_smooth(2 * image[d] - 1);
    cells[d] = image[d] == 1 ? 1 : least < 2 * image[d] ? next_smooth(2 * image[d]) : least;
  }
  return cells;
}

template <class Real>
Index PaddedToeplitz<Real>::coils_at_once(const std::array<Index, 3>& image, Index coils) {
  const Index bytes = volume(cells(image)) * static_cast<Index>(sizeof(Complex));
  return std::clamp<Index>(most_work_bytes / bytes, 1, coils);
}

template <class Real>
PaddedToeplitz<Real>::PaddedToeplitz(const Shape& matrix, Index coils, Array<Real> spectrum, Device device)
    : context_(context(device.index)), image_{1, 1, 1}, coils_(coils), spectrum_(std::move(spectrum)) {
  for (std::size_t d = 0; d < matrix.size(); ++d) image_[3 - matrix.size() + d] = matrix[d];
  cells_ = cells(image_);
  std::vector<Index> size(cells_.begin(), cells_.end());
  while (size.size() > 1 && size[0] == 1) size.erase(size.begin());
  const Index at_once = coils_at_once(image_, coils);
  all_ = std::make_unique<Cufft<Real>>(context_, size, at_once);
  if (coils % at_once != 0) rest_ = std::make_unique<Cufft<Real>>(context_, size, coils % at_once);
}

template <class Real>
std::size_t PaddedToeplitz<Real>::work_bytes() const {
  return static_cast<std::size_t>(coils_at_once(image_, coils_) * volume(cells_)) * sizeof(Complex);
}

template <class Real>
Index PaddedToeplitz<Real>::dot_count() const {
  return (volume(image_) + threads - 1) / threads;
}

template <class Real>
void PaddedToeplitz<Real>::convolve(Complex* grid, Index coils) const {
  const Cufft<Real>& plan = coils == coils_at_once(image_, coils_) ? *all_ : *rest_;
  plan.run(grid, grid, FftSign::minus);
  launch(context_, instance<Real>(), "multiply", striding(context_, volume(cells_)), {threads}, 0, grid,
         static_cast<const Real*>(spectrum_.data()), volume(cells_), coils);
  plan.run(grid, grid, FftSign::plus);
}

template <class Real>
void PaddedToeplitz<Real>::apply(const Complex* x, Complex* y, std::byte* work) const {
  Complex* const grid = reinterpret_cast<Complex*>(work);
  const Index voxels = volume(image_), at_once = coils_at_once(image_, coils_);
  for (Index coil = 0; coil < coils_; coil += at_once) {
    const Index count = std::min(at_once, coils_ - coil);
    launch(context_, instance<Real>(), "pad", striding(context_, count * volume(cells_)), {threads}, 0,
           x + coil * voxels, voxels, static_cast<const Complex*>(nullptr), box(image_), box(cells_), count,
           grid);
    convolve(grid, count);
    launch(context_, instance<Real>(), "crop", striding(context_, count * voxels), {threads}, 0,
           static_cast<const Complex*>(grid), box(image_), box(cells_), count, y + coil * voxels);
  }
}

template <class Real>
void PaddedToeplitz<Real>::apply(const ToeplitzSense<Real>& sense, std::byte* work) const {
  Complex* const grid = reinterpret_cast<Complex*>(work);
  const Index voxels = volume(image_), at_once = coils_at_once(image_, coils_);
  for (Index coil = 0; coil < coils_; coil += at_once) {
    const Index count = std::min(at_once, coils_ - coil);
    const Complex* const maps = sense.maps + coil * voxels;
    launch(context_, instance<Real>(), "pad", striding(context_, count * volume(cells_)), {threads}, 0,
           sense.image, Index{0}, maps, box(image_), box(cells_), count, grid);
    convolve(grid, count);
    launch(context_, instance<Real>(), "crop_sum", {static_cast<unsigned>(dot_count())}, {threads}, 0,
           static_cast<const Complex*>(grid), maps, box(image_), box(cells_), count, sense.image, sense.scale,
           sense.lambda, int{coil == 0}, int{coil + count == coils_}, sense.out, sense.dots);
  }
}

std::vector<KernelInstance> padded_toeplitz_instances() { return {instance<float>(), instance<double>()}; }

template class PaddedToeplitz<float>;
template class PaddedToeplitz<double>;

}  // namespace spinloom::cuda
