#include "stencil/domain/exchange.hpp"

#include <algorithm>

namespace spinloom::stencil {
namespace {

/// Calls copy(row of the box, its place in the message) for all rows of all arrays.
template <class T, class F>
void for_each_row(const GridLayout& g, const Box& box, const std::vector<T*>& origins, T* message,
                  const F& copy) {
  const Index length = box.end[2] - box.begin[2], rows = box.end[1] - box.begin[1],
              planes = box.end[0] - box.begin[0];
  parallel_blocks(static_cast<Index>(origins.size()) * planes * rows, 64, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row) {
      const Index y = box.begin[1] + row % rows, z = box.begin[0] + row / rows % planes;
      T* origin = origins[static_cast<std::size_t>(row / rows / planes)];
      copy(origin + z * g.plane_stride + y * g.row_stride + box.begin[2], message + row * length, length);
    }
  });
}

/// Number of a direction: 0 to 26.
int index_of(const std::array<int, 3>& d) { return (d[0] + 1) * 9 + (d[1] + 1) * 3 + d[2] + 1; }

}  // namespace

Index points(const Box& b) {
  Index n = 1;
  for (std::size_t a = 0; a < 3; ++a) n *= std::max<Index>(0, b.end[a] - b.begin[a]);
  return n;
}

std::vector<Passage> passages(const Domain& domain, const GridLayout& stored) {
  const DomainPart part = domain.part();
  const Halo& depth = domain.rim().depth;
  const auto reach_of = [&](std::size_t a, int d) { return domain.parts()[a] > 1 ? d : 0; };
  std::vector<Passage> all;
  std::array<int, 3> d{};
  for (d[0] = -1; d[0] <= 1; ++d[0])
    for (d[1] = -1; d[1] <= 1; ++d[1])
      for (d[2] = -1; d[2] <= 1; ++d[2]) {
        if (d == std::array<int, 3>{}) continue;
        std::array<int, 3> place = part.place, back{};
        Passage p;
        bool is_there = true;
        for (std::size_t a = 0; a < 3; ++a) {
          is_there &= reach_of(a, d[a]) == d[a];
          place[a] += d[a];
          back[a] = -d[a];
          const Index begin = part.begin[a] - part.stored_begin[a], end = part.end[a] - part.stored_begin[a];
          if (d[a] < 0) {
            p.receive.begin[a] = begin - depth.low[a];
            p.receive.end[a] = begin;
            p.send.begin[a] = begin;
            p.send.end[a] = begin + depth.high[a];
          } else if (d[a] > 0) {
            p.receive.begin[a] = end;
            p.receive.end[a] = end + depth.high[a];
            p.send.begin[a] = end - depth.low[a];
            p.send.end[a] = end;
          } else {
            p.receive.begin[a] = p.send.begin[a] = begin - (part.has_low[a] ? 0 : stored.halo.low[a]);
            p.receive.end[a] = p.send.end[a] = end + (part.has_high[a] ? 0 : stored.halo.high[a]);
          }
        }
        p.peer = is_there ? domain.rank_at(place) : -1;
        p.out_tag = index_of(d);
        p.in_tag = index_of(back);
        if (p.peer >= 0 && points(p.send) + points(p.receive) > 0) all.push_back(p);
      }
  return all;
}

template <class T>
Exchange<T>::Exchange(const Domain& domain, const GridLayout& stored, std::size_t arrays, int first_tag)
    : layout_(stored) {
  const Communicator& c = domain.communicator();
  for (const Passage& p : passages(domain, stored)) {
    Way way{p, {}, {}, {}, {}};
    const Index out = points(p.send) * static_cast<Index>(arrays),
                in = points(p.receive) * static_cast<Index>(arrays);
    way.out = Array<T>({out});
    way.in = Array<T>({in});
    if (out > 0)
      way.sending =
          c.sending(way.out.data(), static_cast<std::size_t>(out) * sizeof(T), p.peer, first_tag + p.out_tag);
    if (in > 0)
      way.receiving =
          c.receiving(way.in.data(), static_cast<std::size_t>(in) * sizeof(T), p.peer, first_tag + p.in_tag);
    if (out + in > 0) ways_.push_back(std::move(way));
  }
}

template <class T>
void Exchange<T>::start(const std::vector<T*>& origins) {
  for (Way& w : ways_)
    if (!w.in.empty()) w.receiving.start();
  for (Way& w : ways_) {
    if (w.out.empty()) continue;
    for_each_row(layout_, w.send, origins, w.out.data(),
                 [](const T* row, T* message, Index length) { std::copy_n(row, length, message); });
    w.sending.start();
  }
}

template <class T>
void Exchange<T>::poll() {
  for (Way& w : ways_) {
    if (!w.in.empty()) w.receiving.is_done();
    if (!w.out.empty()) w.sending.is_done();
  }
}

template <class T>
void Exchange<T>::finish(const std::vector<T*>& origins) {
  for (Way& w : ways_) {
    if (w.in.empty()) continue;
    w.receiving.wait();
    for_each_row(layout_, w.receive, origins, w.in.data(),
                 [](T* row, const T* message, Index length) { std::copy_n(message, length, row); });
  }
  for (Way& w : ways_)
    if (!w.out.empty()) w.sending.wait();
}

template <class T>
double Exchange<T>::bytes() const {
  double sum = 0;
  for (const Way& w : ways_) sum += static_cast<double>(w.out.size()) * sizeof(T);
  return sum;
}

template class Exchange<float>;
template class Exchange<double>;
template class Exchange<cfloat>;
template class Exchange<cdouble>;

}  // namespace spinloom::stencil
