#include "spinloom/stencil/grid.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "spinloom/stencil/half.hpp"
#include "stencil/cuda/stencil_halo.hpp"
#include "stencil/halo_rules.hpp"

namespace spinloom::stencil {
namespace {

constexpr Index line_bytes = 64;
/// Grids of one size would all start on the same cache set and slow each other down: each starts 37 lines further
/// than the one before it, sixteen before the first place comes again.
constexpr Index set_step = 37 * line_bytes, set_places = 16;
std::atomic<unsigned> next_place{0};

Index round_up(Index value, Index to) { return (value + to - 1) / to * to; }

}  // namespace

Halo::Halo(const Reach& reach) {
  for (std::size_t a = 0; a < 3; ++a) {
    low[a] = reach.low[a];
    high[a] = reach.high[a];
  }
}

GridLayout make_layout(const Shape& shape, const Halo& halo, Index element_bytes, Device device) {
  if (shape.size() != 2 && shape.size() != 3)
    throw ShapeError(fmt::format("grid: shape {} has {} axes, expected [z, y, x] or [y, x]",
                                 spinloom::to_string(shape), shape.size()));
  count(shape);  // refuses negative extents and sizes that overflow
  GridLayout g;
  g.rank = static_cast<int>(shape.size());
  g.halo = halo;
  if (g.rank == 2) {
    g.n = {shape[0], 1, shape[1]};
    g.halo.low[1] = g.halo.high[1] = 0;
  } else {
    g.n = {shape[0], shape[1], shape[2]};
  }
  for (std::size_t a = 0; a < 3; ++a)
    if (g.halo.low[a] < 0 || g.halo.high[a] < 0 || g.halo.low[a] > max_radius || g.halo.high[a] > max_radius)
      throw ShapeError(fmt::format("grid: a halo of {} and {} cells, expected 0 to {}", g.halo.low[a],
                                   g.halo.high[a], max_radius));
  g.device = device;
  const bool on_gpu = device.kind == DeviceKind::cuda;
  const Index line = (on_gpu ? 2 * line_bytes : line_bytes) / element_bytes;
  // Row kernels work on whole vectors: they may read a line beyond either end of a row and throw it away.
  const Index left = std::max(line, round_up(g.halo.low[2], line));
  // On a GPU cells past the end of a row share their line with those before the next one: less is between rows.
  g.row_stride = on_gpu ? round_up(g.n[2] + round_up(g.halo.low[2], std::max<Index>(1, 16 / element_bytes)) +
                                       g.halo.high[2],
                                   line)
                        : left + round_up(g.n[2] + g.halo.high[2], line) + line;
  if (!on_gpu && g.row_stride * element_bytes % 1024 == 0) g.row_stride += line;
  count({g.row_stride, g.n[1] + 2 * max_radius, g.n[0] + 2 * max_radius, element_bytes});
  g.plane_stride = g.row_stride * (g.n[1] + g.halo.low[1] + g.halo.high[1]) + 9 * line;
  if (g.plane_stride * element_bytes % 4096 == 0) g.plane_stride += 9 * line;
  g.origin = left + g.halo.low[1] * g.row_stride + g.halo.low[0] * g.plane_stride;
  g.elements = g.plane_stride * (g.n[0] + g.halo.low[0] + g.halo.high[0]) + 4 * line;
  return g;
}

template <class T>
Grid<T>::Grid(const Shape& shape, const Halo& halo, const Boundary& all_faces, Device device)
    : layout_(make_layout(shape, halo, sizeof(T), device)) {
  for (int axis = 0; axis < layout_.rank; ++axis) set_boundary(axis, all_faces);
  if (device.kind == DeviceKind::cuda) {
    const std::size_t bytes = static_cast<std::size_t>(layout_.elements) * sizeof(T);
    storage_ = allocate(bytes, device);
    data_ = reinterpret_cast<T*>(storage_.get());
    zero_bytes(storage_.get(), device, bytes);
    return;
  }
  const Index place = static_cast<Index>(next_place++ % static_cast<unsigned>(set_places)) * set_step;
  storage_ = allocate(static_cast<std::size_t>(layout_.elements) * sizeof(T) +
                      static_cast<std::size_t>(set_places * set_step));
  data_ = reinterpret_cast<T*>(storage_.get() + place);
  const Index planes = layout_.n[0] + layout_.halo.low[0] + layout_.halo.high[0];
  parallel_blocks(planes, 1, [&](Index begin, Index end, int) {
    std::fill(data_ + begin * layout_.plane_stride, data_ + end * layout_.plane_stride, T(0));
  });
  std::fill(data_ + planes * layout_.plane_stride, data_ + layout_.elements, T(0));
}

template <class T>
Grid<T>& Grid<T>::set_boundary(int axis, const Boundary& low, const Boundary& high) {
  if (axis < 0 || axis >= layout_.rank)
    throw ArgumentError(
        fmt::format("grid boundary: axis {}, the grid has axes 0 to {}", axis, layout_.rank - 1));
  for (const Boundary& b : {low, high})
    if (!std::isfinite(b.value))
      throw ArgumentError(fmt::format("grid boundary: value {} is not finite", b.value));
  using Kind = Boundary::Kind;
  if ((low.kind == Kind::periodic) != (high.kind == Kind::periodic))
    throw ArgumentError(
        fmt::format("grid boundary: axis {} is {} on one side and {} on the other; periodic needs both", axis,
                    to_string(low), to_string(high)));
  const std::size_t slot = layout_.rank == 2 && axis == 1 ? 2 : static_cast<std::size_t>(axis);
  boundaries_.low[slot] = low;
  boundaries_.high[slot] = high;
  return *this;
}

template <class T>
void Grid<T>::fill(T value) {
  if (device().kind == DeviceKind::cuda) return assign(Array<T>::full(shape(), value, device()).view());
  const auto& n = layout_.n;
  parallel_blocks(n[0] * n[1], 16, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row) std::fill_n(&(*this)(row / n[1], row % n[1], 0), n[2], value);
  });
}

template <class T>
Grid<T> Grid<T>::on(Device to) const {
  const auto for_rows = [](Grid& grid, const auto& f) {
    const GridLayout& g = grid.layout_;
    for (Index z = -g.halo.low[0]; z < g.n[0] + g.halo.high[0]; ++z)
      for (Index y = -g.halo.low[1]; y < g.n[1] + g.halo.high[1]; ++y)
        f(z, y, -g.halo.low[2], g.n[2] + g.halo.high[2]);
  };
  const auto empty = [&](Device device) {
    Grid grid(shape(), layout_.halo, {}, device);
    grid.boundaries_ = boundaries_;
    return grid;
  };
  const bool from_gpu = device().kind == DeviceKind::cuda, to_gpu = to.kind == DeviceKind::cuda;
  Grid there = empty(to);
  if (!from_gpu && !to_gpu) {
    for_rows(there, [&](Index z, Index y, Index low, Index high) {
      std::copy(&(*this)(z, y, low), &(*this)(z, y, 0) + high, &there(z, y, low));
    });
    return there;
  }
  if (from_gpu && to_gpu) {
    copy_bytes(reinterpret_cast<std::byte*>(there.data_), to, reinterpret_cast<const std::byte*>(data_),
               device(), static_cast<std::size_t>(layout_.elements) * sizeof(T));
    return there;
  }
  // Rows lie differently on the two sides: a host buffer in the GPU's layout stands between.
  const GridLayout& g = to_gpu ? there.layout_ : layout_;
  std::vector<T> buffer(static_cast<std::size_t>(g.elements),
                        T(std::numeric_limits<real_of<T>>::quiet_NaN()));
  const std::size_t bytes = buffer.size() * sizeof(T);
  std::byte* const raw = reinterpret_cast<std::byte*>(buffer.data());
  const auto row = [&](Index z, Index y) {
    return buffer.data() + g.origin + z * g.plane_stride + y * g.row_stride;
  };
  if (from_gpu) {
    copy_bytes(raw, Device{}, reinterpret_cast<const std::byte*>(data_), device(), bytes);
    for_rows(there, [&](Index z, Index y, Index low, Index high) {
      std::copy(row(z, y) + low, row(z, y) + high, &there(z, y, low));
    });
  } else {
    for_rows(there, [&](Index z, Index y, Index low, Index high) {
      std::copy(&(*this)(z, y, low), &(*this)(z, y, 0) + high, row(z, y) + low);
    });
    copy_bytes(reinterpret_cast<std::byte*>(there.data_), to, raw, Device{}, bytes);
  }
  return there;
}

template <class T>
void Grid<T>::assign(View<const T> values) {
  require_shape("grid", "array", values.shape, shape());
  if (device().kind == DeviceKind::cuda) {
    Array<T> storage;
    cuda::spread(on_device(values, device(), storage).data, origin(), layout_);
    return;
  }
  if (values.device.kind == DeviceKind::cuda) return assign(Array<T>::copy_of(values, Device{}).view());
  const auto& n = layout_.n;
  parallel_blocks(n[0] * n[1], 16, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row)
      std::copy_n(values.data + row * n[2], n[2], &(*this)(row / n[1], row % n[1], 0));
  });
}

template <class T>
void Grid<T>::copy_to(View<T> values) const {
  require_shape("grid", "array", values.shape, shape());
  if (device().kind == DeviceKind::cuda) {
    if (values.device == device()) return cuda::collect(origin(), values.data, layout_);
    Array<T> there(shape(), device());
    cuda::collect(origin(), there.data(), layout_);
    return transfer<T>(std::as_const(there).view(), values);
  }
  if (values.device.kind == DeviceKind::cuda)
    return transfer<T>(std::as_const(*this).to_array().view(), values);
  const auto& n = layout_.n;
  parallel_blocks(n[0] * n[1], 16, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row)
      std::copy_n(&(*this)(row / n[1], row % n[1], 0), n[2], values.data + row * n[2]);
  });
}

template <class T>
Array<T> Grid<T>::to_array() const {
  Array<T> a(shape());
  copy_to(a);
  return a;
}

template <class T>
void Grid<T>::fill_halo() {
  if (device().kind == DeviceKind::cuda)
    return cuda::DeviceHalo<T>(layout_, HaloRules<T>(layout_, boundaries_)).fill(origin());
  HaloRules<T>(layout_, boundaries_).fill(origin());
}

template <class T>
void Grid<T>::poison_outside() {
  if (device().kind == DeviceKind::cuda) {
    Grid here = on(Device{});
    here.poison_outside();
    *this = here.on(device());
    return;
  }
  const Array<T> inside = to_array();
  std::fill(data_, data_ + layout_.elements, T(std::numeric_limits<real_of<T>>::quiet_NaN()));
  assign(inside);
}

template <class T>
void Grid<T>::swap_values(Grid& other) noexcept {
  storage_.swap(other.storage_);
  std::swap(data_, other.data_);
}

template class Grid<float>;
template class Grid<double>;
template class Grid<cfloat>;
template class Grid<cdouble>;
template class Grid<Half>;

}  // namespace spinloom::stencil
