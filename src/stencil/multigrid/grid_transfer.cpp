#include "spinloom/stencil/grid_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::stencil {
namespace {

template <class T>
struct RealPart {
  using type = T;
};
template <class R>
struct RealPart<std::complex<R>> {
  using type = R;
};

/// The coarse cells that fine cell i of n lies between: its own, and `other` with weight `toward`.
struct Stencil {
  Index own, other;
  double toward;
};
Stencil stencil_of(Index i, Index n, Transfer transfer) {
  const Index own = i / 2, last = (n + 1) / 2 - 1, other = i % 2 == 0 ? own - 1 : own + 1;
  const bool is_alone = i == n - 1 && i % 2 == 0;
  if (transfer == Transfer::average || is_alone || other < 0 || other > last) return {own, own, 0};
  // Towards a cell that is alone in its coarse cell the way is 1.5 fine cells, else 2.
  return {own, other, other == last && n % 2 != 0 ? 1.0 / 3 : 0.25};
}

/// Axis a of arrays [outer, n, inner] from one grid to the other.
template <class T>
void along_axis(const T* in, T* out, Index outer, Index n, Index inner, Transfer transfer, bool to_coarse) {
  using Real = typename RealPart<T>::type;
  const Index m = (n + 1) / 2;
  const Index written = to_coarse ? m : n, read = to_coarse ? n : m;
  parallel_blocks(outer * written, std::max<Index>(1, (Index{1} << 14) / std::max<Index>(1, inner)),
                  [&](Index begin, Index end, int) {
                    for (Index r = begin; r < end; ++r) {
                      const Index at = r % written;
                      const T* from = in + r / written * read * inner;
                      T* to = out + r * inner;
                      std::fill(to, to + inner, T(0));
                      const auto add = [&](Index source, double weight) {
                        const T* row = from + source * inner;
                        for (Index x = 0; x < inner; ++x) to[x] += Real(weight) * row[x];
                      };
                      if (!to_coarse) {
                        const Stencil s = stencil_of(at, n, transfer);
                        add(s.own, 1 - s.toward);
                        if (s.toward != 0) add(s.other, s.toward);
                        continue;
                      }
                      for (Index i = std::max<Index>(0, 2 * at - 1); i < std::min(n, 2 * at + 3); ++i) {
                        const Stencil s = stencil_of(i, n, transfer);
                        const double weight =
                            (s.own == at ? 1 - s.toward : 0) + (s.other == at ? s.toward : 0);
                        if (weight != 0) add(i, weight / 2);
                      }
                    }
                  });
}

template <class T>
void transfer_between(const char* where, const Shape& fine, const Shape& coarse, View<const T> in,
                      Transfer transfer, View<T> out, bool to_coarse) {
  bool fits = fine.size() == coarse.size();
  for (std::size_t a = 0; fits && a < fine.size(); ++a)
    fits = coarse[a] == fine[a] || coarse[a] == (fine[a] + 1) / 2;
  if (!fits)
    throw ShapeError(
        fmt::format("{}: a fine grid of shape {} and a coarse one of {}, expected {} (or the fine extent "
                    "along axes that are kept)",
                    where, to_string(fine), to_string(coarse), to_string(coarse_shape(fine))));
  if (in.device.kind == DeviceKind::cuda || out.device.kind == DeviceKind::cuda)
    throw ArgumentError(fmt::format("{}: an array lies on a GPU; transfer() brings it to the host", where));
  Shape now = in.shape;
  Array<T> held;
  const T* from = in.data;
  for (std::size_t a = 0; a < fine.size(); ++a) {
    if (fine[a] == coarse[a]) continue;
    now[a] = out.shape[a];
    Array<T> next(now);
    const Index outer = count(Shape(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(a)));
    const Index inner = count(Shape(now.begin() + static_cast<std::ptrdiff_t>(a) + 1, now.end()));
    along_axis(from, next.data(), outer, fine[a], inner, transfer, to_coarse);
    held = std::move(next);
    from = held.data();
  }
  std::copy(from, from + out.size(), out.data);
}

}  // namespace

Shape coarse_shape(const Shape& fine) {
  Shape coarse = fine;
  for (Index& n : coarse) n = (n + 1) / 2;
  return coarse;
}

template <class T>
void prolongate(View<const T> coarse, Transfer transfer, View<T> fine) {
  transfer_between("prolongate", fine.shape, coarse.shape, coarse, transfer, fine, false);
}
template <class T>
void restrict_to(View<const T> fine, Transfer transfer, View<T> coarse) {
  transfer_between("restrict_to", fine.shape, coarse.shape, fine, transfer, coarse, true);
}

#define SPINLOOM_INSTANTIATE(T)                               \
  template void prolongate(View<const T>, Transfer, View<T>); \
  template void restrict_to(View<const T>, Transfer, View<T>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)
SPINLOOM_INSTANTIATE(cfloat)
SPINLOOM_INSTANTIATE(cdouble)

}  // namespace spinloom::stencil
