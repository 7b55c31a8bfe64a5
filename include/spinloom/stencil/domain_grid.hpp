#pragma once
#include "spinloom/stencil/domain.hpp"

namespace spinloom::stencil {

/// A rank's part of a field on a Domain: its own points, a rim of its neighbours', and cells outside of the whole grid's
/// faces. Points are named as in the whole grid. The rim is a DomainStepper's: it exchanges it before it is read.
///
/// Errors   ArgumentError for a boundary that does not agree with Domain about a periodic axis that is split
/// Threads  distinct points may be written at once; scatter() and gather() are called by all ranks together
template <class T>
class DomainGrid {
 public:
  /// On a GPU, DomainGrid<float> u(domain, clamp(), Device{DeviceKind::cuda, 0}), points are out of the host's reach as those of
  /// a Grid there. Each rank names its own; several may share one.
  explicit DomainGrid(const Domain& domain, const Boundary& all_faces = {}, Device device = {});
  Device device() const { return stored_.device(); }
  /// A copy on another device: points, rim, outer cells and boundaries.
  DomainGrid on(Device device) const { return DomainGrid(*this, device); }

  const Domain& domain() const { return domain_; }
  const DomainPart& part() const { return part_; }
  /// Faces of the whole grid; axis 0 of the shape is the slowest.
  DomainGrid& set_boundary(int axis, const Boundary& both) { return set_boundary(axis, both, both); }
  DomainGrid& set_boundary(int axis, const Boundary& low, const Boundary& high);
  const Boundaries& boundaries() const { return boundaries_; }

  /// The point (z, y, x) of the whole grid, in 2D (y, 0, x), where this rank stores it. Cells outside of a face that is
  /// `none` are set by the rank whose own points they lie next to.
  T& operator()(Index z, Index y, Index x) {
    return stored_(z - part_.stored_begin[0], y - part_.stored_begin[1], x - part_.stored_begin[2]);
  }
  const T& operator()(Index z, Index y, Index x) const {
    return stored_(z - part_.stored_begin[0], y - part_.stored_begin[1], x - part_.stored_begin[2]);
  }
  /// Every point of its own from f(z, y, x).
  template <class F>
  void fill(const F& f) {
    const Index rows = part_.end[1] - part_.begin[1], length = part_.end[2] - part_.begin[2];
    const bool on_gpu = device().kind == DeviceKind::cuda;
    Array<T> own(on_gpu ? domain_.own_shape(domain_.communicator().rank()) : Shape{0});
    parallel_blocks((part_.end[0] - part_.begin[0]) * rows, 16, [&](Index begin, Index end, int) {
      for (Index row = begin; row < end; ++row) {
        const Index z = part_.begin[0] + row / rows, y = part_.begin[1] + row % rows;
        T* const to = on_gpu ? own.data() + row * length : &(*this)(z, y, part_.begin[2]);
        for (Index x = 0; x < length; ++x) to[x] = f(z, y, part_.begin[2] + x);
      }
    });
    if (on_gpu) assign(own);
  }
  /// Its own points, a dense array of domain().own_shape(rank) on any device, and back. Throws ShapeError.
  void assign(View<const T> own);
  void copy_to(View<T> own) const;
  /// From rank 0, which has the whole array, to all; what the others pass is not looked at.
  void scatter(View<const T> whole);
  /// The whole array on rank 0, an empty one elsewhere.
  Array<T> gather() const;

  /// What the rank stores: own points and rim.
  Grid<T>& stored() { return stored_; }
  const Grid<T>& stored() const { return stored_; }

 private:
  DomainGrid(const DomainGrid& other, Device device)
      : domain_(other.domain_),
        part_(other.part_),
        stored_(other.stored_.on(device)),
        boundaries_(other.boundaries_) {}

  Domain domain_;
  DomainPart part_;
  Grid<T> stored_;
  Boundaries boundaries_;
};

}  // namespace spinloom::stencil
