#include "spinloom/stencil/domain_grid.hpp"

#include <fmt/format.h>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "stencil/cuda/stencil_halo.hpp"

namespace spinloom::stencil {
namespace {

constexpr int scatter_tag = 200, gather_tag = 201;

Shape stored_shape(const Domain& domain) {
  const DomainPart p = domain.part();
  const auto size = [&](std::size_t a) { return p.stored_end[a] - p.stored_begin[a]; };
  return domain.shape().size() == 2 ? Shape{size(0), size(2)} : Shape{size(0), size(1), size(2)};
}

/// Calls f(row of the whole dense array, row of the part's, points) for every row of a part.
template <class F>
void for_each_row(const Domain& domain, int rank, const F& f) {
  const DomainPart p = domain.part(rank);
  const bool flat = domain.shape().size() == 2;
  const Index n1 = flat ? 1 : domain.shape()[1], n2 = domain.shape().back();
  const Index length = p.end[2] - p.begin[2];
  Index own = 0;
  for (Index z = p.begin[0]; z < p.end[0]; ++z)
    for (Index y = p.begin[1]; y < p.end[1]; ++y, own += length)
      f((z * n1 + y) * n2 + p.begin[2], own, length);
}

/// The rank's own points as a grid of its own.
template <class T>
GridLayout own_layout(const Grid<T>& stored, const DomainPart& part) {
  GridLayout g = stored.layout();
  for (std::size_t a = 0; a < 3; ++a) g.n[a] = part.end[a] - part.begin[a];
  return g;
}
template <class T>
Index own_offset(const Grid<T>& stored, const DomainPart& part) {
  const GridLayout& g = stored.layout();
  return (part.begin[0] - part.stored_begin[0]) * g.plane_stride +
         (part.begin[1] - part.stored_begin[1]) * g.row_stride + part.begin[2] - part.stored_begin[2];
}

}  // namespace

template <class T>
DomainGrid<T>::DomainGrid(const Domain& domain, const Boundary& all_faces, Device device)
    : domain_(domain),
      part_(domain.part()),
      stored_(stored_shape(domain), domain.rim().reach, Boundary{}, device) {
  for (int axis = 0; axis < static_cast<int>(domain.shape().size()); ++axis) set_boundary(axis, all_faces);
}

template <class T>
DomainGrid<T>& DomainGrid<T>::set_boundary(int axis, const Boundary& low, const Boundary& high) {
  stored_.set_boundary(axis, low, high);  // refuses what is no boundary
  const std::size_t slot = domain_.shape().size() == 2 && axis == 1 ? 2 : static_cast<std::size_t>(axis);
  const bool is_periodic = low.kind == Boundary::Kind::periodic;
  if (domain_.parts()[slot] > 1 && low.kind != Boundary::Kind::unset &&
      is_periodic != domain_.is_periodic(static_cast<int>(slot)))
    throw ArgumentError(fmt::format(
        "domain grid: axis {} is split, {} in the domain and {} in a field; fields that differ there need "
        "that axis whole",
        axis, is_periodic ? "not periodic" : "periodic", to_string(low)));
  boundaries_.low[slot] = low;
  boundaries_.high[slot] = high;
  stored_.set_boundary(axis, part_.has_low[slot] ? none() : low, part_.has_high[slot] ? none() : high);
  return *this;
}

template <class T>
void DomainGrid<T>::assign(View<const T> own) {
  require_shape("domain grid", "array", own.shape, domain_.own_shape(domain_.communicator().rank()));
  if (device().kind == DeviceKind::cuda) {
    Array<T> storage;
    return cuda::spread(on_device(own, device(), storage).data, stored_.origin() + own_offset(stored_, part_),
                        own_layout(stored_, part_));
  }
  if (own.device.kind == DeviceKind::cuda) return assign(Array<T>::copy_of(own, Device{}).view());
  Index row = 0;
  const Index length = part_.end[2] - part_.begin[2];
  for (Index z = part_.begin[0]; z < part_.end[0]; ++z)
    for (Index y = part_.begin[1]; y < part_.end[1]; ++y, ++row)
      if (length > 0) std::copy_n(own.data + row * length, length, &(*this)(z, y, part_.begin[2]));
}

template <class T>
void DomainGrid<T>::copy_to(View<T> own) const {
  require_shape("domain grid", "array", own.shape, domain_.own_shape(domain_.communicator().rank()));
  if (device().kind == DeviceKind::cuda || own.device.kind == DeviceKind::cuda) {
    Array<T> dense(own.shape, device());
    if (device().kind == DeviceKind::cuda)
      cuda::collect(stored_.origin() + own_offset(stored_, part_), dense.data(), own_layout(stored_, part_));
    else
      copy_to(dense);
    return transfer<T>(std::as_const(dense).view(), own);
  }
  Index row = 0;
  const Index length = part_.end[2] - part_.begin[2];
  for (Index z = part_.begin[0]; z < part_.end[0]; ++z)
    for (Index y = part_.begin[1]; y < part_.end[1]; ++y, ++row)
      if (length > 0) std::copy_n(&(*this)(z, y, part_.begin[2]), length, own.data + row * length);
}

template <class T>
void DomainGrid<T>::scatter(View<const T> whole) {
  const Communicator& c = domain_.communicator();
  Array<T> own(domain_.own_shape(c.rank()));
  const std::size_t bytes = static_cast<std::size_t>(own.size()) * sizeof(T);
  if (c.rank() == 0) require_shape("domain grid", "array", whole.shape, domain_.shape());
  for (int r = 0; c.rank() == 0 && r < c.size(); ++r) {
    Array<T> theirs(domain_.own_shape(r));
    for_each_row(domain_, r, [&](Index from, Index to, Index length) {
      std::copy_n(whole.data + from, length, theirs.data() + to);
    });
    if (r == 0) {
      assign(theirs);
      continue;
    }
    Message message =
        c.sending(theirs.data(), static_cast<std::size_t>(theirs.size()) * sizeof(T), r, scatter_tag);
    message.start();
    message.wait();
  }
  if (c.rank() == 0) return;
  Message message = c.receiving(own.data(), bytes, 0, scatter_tag);
  message.start();
  message.wait();
  assign(own);
}

template <class T>
Array<T> DomainGrid<T>::gather() const {
  const Communicator& c = domain_.communicator();
  Array<T> own(domain_.own_shape(c.rank()));
  copy_to(own);
  if (c.rank() != 0) {
    Message message = c.sending(own.data(), static_cast<std::size_t>(own.size()) * sizeof(T), 0, gather_tag);
    message.start();
    message.wait();
    return {};
  }
  Array<T> whole(domain_.shape());
  for (int r = 0; r < c.size(); ++r) {
    if (r > 0) {
      own = Array<T>(domain_.own_shape(r));
      Message message =
          c.receiving(own.data(), static_cast<std::size_t>(own.size()) * sizeof(T), r, gather_tag);
      message.start();
      message.wait();
    }
    for_each_row(domain_, r, [&](Index to, Index from, Index length) {
      std::copy_n(own.data() + from, length, whole.data() + to);
    });
  }
  return whole;
}

template class DomainGrid<float>;
template class DomainGrid<double>;
template class DomainGrid<cfloat>;
template class DomainGrid<cdouble>;

}  // namespace spinloom::stencil
