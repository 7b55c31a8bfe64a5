#include <algorithm>

#include "fourier/cpu/gridding.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {

template <class Real>
KernelTable<Real>::KernelTable(const KernelPolynomial& p)
    : width(p.width),
      degree(p.degree),
      taps({p.degree + 1, p.width}),
      row_taps(Array<Real>::zeros({p.degree + 1, 32})) {
  for (Index power = 0; power <= degree; ++power)
    for (Index j = 0; j < width; ++j) {
      const auto c = static_cast<Real>(p.coefficients[static_cast<std::size_t>(power * width + j)]);
      taps[power * width + j] = row_taps[power * 32 + 2 * j] = row_taps[power * 32 + 2 * j + 1] = c;
    }
}

template <class Real>
void fill_ghosts(const GhostGrid& g, std::complex<Real>* cells) {
  const auto [nz, ny, nx] = g.cells;
  const auto [tz, ty, tx] = g.taps;
  parallel_blocks(nz, 1, [&, nx = nx, ny = ny, tx = tx, ty = ty](Index begin, Index end, int) {
    for (Index z = begin; z < end; ++z) {
      std::complex<Real>* plane = cells + z * g.plane;
      for (Index y = 0; y < ny; ++y) {
        std::complex<Real>* row = plane + y * g.row;
        for (Index i = 0; i < tx - 1; ++i) row[nx + i] = row[i % nx];
        // Read by whole vectors and multiplied by 0, so it has to be finite.
        std::fill(row + nx + tx - 1, row + g.row, std::complex<Real>(0));
      }
      for (Index i = 0; i < ty - 1; ++i) std::copy_n(plane + i % ny * g.row, g.row, plane + (ny + i) * g.row);
    }
  });
  const Index ghost_planes = tz - 1;
  parallel_blocks(ghost_planes, 1, [&, nz = nz, ny = ny, ty = ty](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i)
      std::copy_n(cells + i % nz * g.plane, (ny + ty - 1) * g.row, cells + (nz + i) * g.plane);
  });
}

template <class Real>
void fold_ghosts(const GhostGrid& g, std::complex<Real>* cells) {
  const auto [nz, ny, nx] = g.cells;
  const auto [tz, ty, tx] = g.taps;
  const auto add = [](const std::complex<Real>* from, Index count, std::complex<Real>* to) {
    for (Index i = 0; i < count; ++i) to[i] += from[i];
  };
  parallel_blocks(ny + ty - 1, 4, [&, nz = nz, tz = tz](Index begin, Index end, int) {
    for (Index i = 0; i < tz - 1; ++i)
      add(cells + (nz + i) * g.plane + begin * g.row, (end - begin) * g.row,
          cells + i % nz * g.plane + begin * g.row);
  });
  parallel_blocks(nz, 1, [&, nx = nx, ny = ny, tx = tx, ty = ty](Index begin, Index end, int) {
    for (Index z = begin; z < end; ++z) {
      std::complex<Real>* plane = cells + z * g.plane;
      for (Index i = 0; i < ty - 1; ++i) add(plane + (ny + i) * g.row, g.row, plane + i % ny * g.row);
      for (Index y = 0; y < ny; ++y)
        for (Index i = 0; i < tx - 1; ++i) plane[y * g.row + i % nx] += plane[y * g.row + nx + i];
    }
  });
}

template struct KernelTable<float>;
template struct KernelTable<double>;
template void fill_ghosts(const GhostGrid&, std::complex<float>*);
template void fill_ghosts(const GhostGrid&, std::complex<double>*);
template void fold_ghosts(const GhostGrid&, std::complex<float>*);
template void fold_ghosts(const GhostGrid&, std::complex<double>*);

}  // namespace spinloom::cpu
