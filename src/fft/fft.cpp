#include "spinloom/fft/fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "fft/fftw_lines.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index bundle =
    8;  // columns that are copied out, transformed and copied back together: 64 bytes of floats

/// All lines along one axis: `outer` blocks of n x inner elements.
template <class Real>
struct AxisLines {
  Index n, inner, outer;
  FftwLines<Real> rows;  ///< a bundle of adjacent columns, or one row where inner is 1
  FftwLines<Real> backward_rows;

  AxisLines(Index length, Index inner_size, Index outer_size)
      : n(length), inner(inner_size), outer(outer_size), rows(plan(false)), backward_rows(plan(true)) {}
  FftwLines<Real> plan(bool inverse) const {
    return inner == 1 ? FftwLines<Real>(n, 1, 1, n, inverse) : FftwLines<Real>(n, bundle, bundle, 1, inverse);
  }

  void run(std::complex<Real>* data, bool inverse) const {
    const FftwLines<Real>& transform = inverse ? backward_rows : rows;
    if (inner == 1) {
      parallel_blocks(outer, 16, [&](Index begin, Index end, int) {
        for (Index o = begin; o < end; ++o) transform(data + o * n);
      });
      return;
    }
    const Index bundles = (inner + bundle - 1) / bundle;
    parallel_blocks(outer * bundles, 8, [&](Index begin, Index end, int) {
      auto buffer = Array<std::complex<Real>>::zeros({n, bundle});
      for (Index i = begin; i < end; ++i) {
        const Index first = i % bundles * bundle, used = std::min(bundle, inner - first);
        std::complex<Real>* corner = data + i / bundles * n * inner + first;
        for (Index j = 0; j < n; ++j) std::copy_n(corner + j * inner, used, buffer.data() + j * bundle);
        transform(buffer.data());
        for (Index j = 0; j < n; ++j) std::copy_n(buffer.data() + j * bundle, used, corner + j * inner);
      }
    });
  }
};

}  // namespace

template <class Real>
struct Fft<Real>::Plans {
  std::vector<AxisLines<Real>> axes;
};

template <class Real>
Fft<Real>::Fft(Shape shape) : shape_(std::move(shape)) {
  if (shape_.empty() || count(shape_) == 0)
    throw ArgumentError(
        fmt::format("FFT: shape {} is empty, expected at least one element", to_string(shape_)));
  Plans plans;
  const Index total = count(shape_);
  Index inner = total, outer = 1;
  for (const Index n : shape_) {
    inner /= n;
    if (n > 1) plans.axes.emplace_back(n, inner, outer);
    outer *= n;
  }
  plans_ = std::make_shared<const Plans>(std::move(plans));
}

template <class Real>
void Fft<Real>::forward(View<Complex> x) const {
  require_shape("FFT forward", "array", x.shape, shape_);
  for (const auto& axis : plans_->axes) axis.run(x.data, false);
}

template <class Real>
void Fft<Real>::inverse(View<Complex> x) const {
  require_shape("FFT inverse", "array", x.shape, shape_);
  for (const auto& axis : plans_->axes) axis.run(x.data, true);
}

template class Fft<float>;
template class Fft<double>;

}  // namespace spinloom
