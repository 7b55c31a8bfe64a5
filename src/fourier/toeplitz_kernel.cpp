#include "fourier/toeplitz_kernel.hpp"

#include <cmath>
#include <numbers>

#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

Index wrapped(Index lag, Index cells) { return lag < 0 ? lag + cells : lag; }

/// First cell of the row that holds sign * lag on a circulant grid.
Index row_of(const Shape& cells, const std::vector<Index>& lag, Index sign) {
  Index row = 0;
  for (std::size_t d = 0; d + 1 < cells.size(); ++d) row = row * cells[d] + wrapped(sign * lag[d], cells[d]);
  return row * cells.back();
}

/// w[m] exp(2 pi i k[m].shift / N), the phases in double less whole turns.
template <class Real>
void shifted_weights(const Trajectory& k, const Shape& matrix, View<const double> weights,
                     const std::vector<Index>& shift, View<std::complex<Real>> out) {
  std::vector<const double*> axes;
  for (int d = 0; d < k.dims(); ++d) axes.push_back(k.axis(d).data);
  parallel_blocks(k.samples(), 1 << 14, [&](Index begin, Index end, int) {
    for (Index m = begin; m < end; ++m) {
      double turns = 0;
      for (std::size_t d = 0; d < matrix.size(); ++d) {
        const double part = axes[d][m] * double(shift[d]) / double(matrix[d]);
        turns += part - std::rint(part);
      }
      const double w = weights.data == nullptr ? 1.0 : weights[m];
      out[m] = std::complex<Real>(w * std::polar(1.0, 2 * std::numbers::pi * turns));  // w of either sign
    }
  });
}

/// Calls body(lag, voxel) for every row of the matrix with lag = voxel - floor(N / 2) + shift of its first voxel.
template <class Body>
void for_rows(const Shape& matrix, const std::vector<Index>& shift, const Body& body) {
  const Index rows = count(matrix) / matrix.back();
  parallel_blocks(rows, 64, [&](Index begin, Index end, int) {
    std::vector<Index> lag(matrix.size());
    for (Index row = begin; row < end; ++row) {
      Index rest = row * matrix.back();
      for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d])
        lag[d] = rest % matrix[d] - matrix[d] / 2 + shift[d];
      body(lag, row * matrix.back());
    }
  });
}

}  // namespace

template <class Real>
Array<std::complex<Real>> point_spread(const std::shared_ptr<const Trajectory>& trajectory,
                                       const Shape& matrix, View<const double> weights, const Shape& cells,
                                       double tolerance) {
  using Complex = std::complex<Real>;
  const auto nufft = make_nufft<Real>(trajectory, matrix, 1, {.tolerance = tolerance});
  auto q = Array<Complex>::zeros(cells);
  Array<Complex> data(nufft->range()), part(nufft->domain());

  // The first axis of more than one voxel has lags >= 0 alone; the others take both signs.
  std::size_t half_axis = 0;
  while (half_axis + 1 < matrix.size() && matrix[half_axis] == 1) ++half_axis;
  const auto corners = std::size_t{1} << matrix.size();
  for (std::size_t corner = 0; corner < corners; ++corner) {
    std::vector<Index> shift;
    bool needed = true;
    for (std::size_t d = 0; d < matrix.size(); ++d) {
      const bool negative = corner >> d & 1;
      if (negative && (matrix[d] == 1 || d == half_axis)) needed = false;
      shift.push_back(matrix[d] / 2 - (negative ? matrix[d] : 0));
    }
    if (!needed) continue;
    shifted_weights<Real>(*trajectory, matrix, weights, shift, data.view().slice(0));
    nufft->adjoint(data.view(), part.view());
    for_rows(matrix, shift, [&](const std::vector<Index>& lag, Index voxel) {
      for (std::size_t d = 0; d + 1 < matrix.size(); ++d)
        if (lag[d] == -matrix[d]) return;  // one beyond the lags that occur
      const Index row = row_of(cells, lag, 1), mirrored = row_of(cells, lag, -1), nx = cells.back();
      for (Index x = 0; x < matrix.back(); ++x) {
        const Index lx = lag.back() + x;
        if (lx == -matrix.back()) continue;
        q[row + wrapped(lx, nx)] = part[voxel + x];
        const bool is_half = half_axis + 1 == matrix.size() ? lx > 0 : lag[half_axis] > 0;
        if (is_half) q[mirrored + wrapped(-lx, nx)] = std::conj(part[voxel + x]);
      }
    });
  }
  // Both signs of the other lags were computed where the halved one is 0, each with its own error.
  Index plane = 1, outer = 1;
  for (std::size_t d = 0; d < cells.size(); ++d) {
    if (d < half_axis) outer *= cells[d];
    if (d > half_axis) plane *= cells[d];
  }
  Shape inner(cells.begin() + static_cast<std::ptrdiff_t>(half_axis) + 1, cells.end());
  for (Index i = 0; i < plane; ++i) {
    Index mirrored = 0, rest = i, stride = 1;
    for (std::size_t d = inner.size(); d-- > 0; rest /= inner[d], stride *= inner[d])
      mirrored += (inner[d] - rest % inner[d]) % inner[d] * stride;
    if (mirrored < i) continue;
    const Complex mean = (q[i] + std::conj(q[mirrored])) * Real(0.5);
    q[i] = mean;
    q[mirrored] = std::conj(mean);
  }
  return q;
}

template Array<cfloat> point_spread(const std::shared_ptr<const Trajectory>&, const Shape&,
                                    View<const double>, const Shape&, double);
template Array<cdouble> point_spread(const std::shared_ptr<const Trajectory>&, const Shape&,
                                     View<const double>, const Shape&, double);

}  // namespace spinloom
