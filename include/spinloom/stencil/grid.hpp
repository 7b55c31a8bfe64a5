#pragma once
#include <complex>
#include <memory>

#include "spinloom/core/view.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/boundary.hpp"
#include "spinloom/stencil/program.hpp"

namespace spinloom::stencil {

/// Cells around a grid, on the low and the high side of z, y, x.
struct Halo {
  std::array<Index, 3> low{}, high{};
  Halo() = default;
  explicit Halo(Index all) : low{all, all, all}, high{all, all, all} {}
  /// As wide as a stencil reads: Halo(traits<Heat>.reach()).
  explicit Halo(const Reach& reach);
  friend bool operator==(const Halo&, const Halo&) = default;
};

/// How a grid lies in memory: rows along x start on a cache line, rows and planes are padded so that neighbours do
/// not fall on the same cache sets. A 2D grid has its slower axis in the place of z.
struct GridLayout {
  int rank = 3;
  std::array<Index, 3> n{};  ///< extents z, y, x
  Halo halo;
  Index row_stride = 0, plane_stride = 0;  ///< [elements]
  Index origin = 0;                        ///< elements before the point (0, 0, 0)
  Index elements = 0;                      ///< in all
  Device device;                           ///< rows on a GPU start at 128 bytes
  friend bool operator==(const GridLayout&, const GridLayout&) = default;
};
/// Throws ShapeError for an axis count other than 2 or 3, a negative extent or halo, or a size beyond 63 bits.
GridLayout make_layout(const Shape& shape, const Halo& halo, Index element_bytes, Device device = {});

/// A field on a regular grid with a halo and with a rule for each face. Elements are zero at first; their memory
/// is first touched by the threads that will sweep over it. Elements: float, double and complex of both.
///
/// On a GPU, Grid<float> u(shape, halo, clamp(), device), points are out of the host's reach: the call operators and origin()
/// are for kernels there, and fill(), assign(), copy_to(), to_array() and on() move values.
///
/// Threads  distinct points may be written at once
template <class T>
class Grid {
 public:
  Grid(const Shape& shape, const Halo& halo, const Boundary& all_faces = {}, Device device = {});
  Grid(Grid&&) noexcept = default;
  Grid& operator=(Grid&&) noexcept = default;

  Shape shape() const {
    return layout_.rank == 2 ? Shape{layout_.n[0], layout_.n[2]}
                             : Shape{layout_.n[0], layout_.n[1], layout_.n[2]};
  }
  const GridLayout& layout() const { return layout_; }
  Device device() const { return layout_.device; }
  /// A copy on another device: points, halo and boundaries.
  Grid on(Device device) const;

  /// The point (z, y, x); cells of the halo have indices below 0 and from the extent on.
  T& operator()(Index z, Index y, Index x) {
    return origin()[z * layout_.plane_stride + y * layout_.row_stride + x];
  }
  const T& operator()(Index z, Index y, Index x) const {
    return origin()[z * layout_.plane_stride + y * layout_.row_stride + x];
  }
  /// The point (y, x) of a 2D grid.
  T& operator()(Index y, Index x) { return origin()[y * layout_.plane_stride + x]; }
  const T& operator()(Index y, Index x) const { return origin()[y * layout_.plane_stride + x]; }
  T* origin() { return data_ + layout_.origin; }
  const T* origin() const { return data_ + layout_.origin; }

  /// Sets both faces, or one, of an axis: 0 is the slowest. Throws ArgumentError for an axis that the grid lacks or
  /// a value that is not finite.
  Grid& set_boundary(int axis, const Boundary& both) { return set_boundary(axis, both, both); }
  Grid& set_boundary(int axis, const Boundary& low, const Boundary& high);
  const Boundaries& boundaries() const { return boundaries_; }

  void fill(T value);
  /// Every point from f(z, y, x), in 2D f(y, x).
  template <class F>
  requires(std::is_invocable_v<F, Index, Index, Index> ||
           std::is_invocable_v<F, Index, Index>) void fill(const F& f) {
    if (device().kind == DeviceKind::cuda) {
      Grid here(shape(), Halo());
      here.fill(f);
      return assign(here.to_array().view());
    }
    const auto& n = layout_.n;
    parallel_blocks(n[0] * n[1], n[1] > 1 ? 16 : 1, [&](Index begin, Index end, int) {
      for (Index row = begin; row < end; ++row)
        for (Index x = 0; x < n[2]; ++x)
          if constexpr (std::is_invocable_v<F, Index, Index, Index>)
            (*this)(row / n[1], row % n[1], x) = f(row / n[1], row % n[1], x);
          else
            (*this)(row / n[1], row % n[1], x) = f(row, x);
    });
  }
  /// The points of a dense array of the same shape, on any device, and back. Throws ShapeError.
  void assign(View<const T> values);
  void copy_to(View<T> values) const;
  Array<T> to_array() const;

  /// All cells outside get what the faces say; those of `none` stay. Steppers do it themselves.
  void fill_halo();
  /// NaN in the halo and in all padding: a result that depends on them shows. For tests.
  void poison_outside();
  /// Exchanges the memory of two grids of one layout; boundaries stay.
  void swap_values(Grid& other) noexcept;

 private:
  GridLayout layout_;
  Boundaries boundaries_;
  std::shared_ptr<std::byte> storage_;
  T* data_ = nullptr;
};

}  // namespace spinloom::stencil
