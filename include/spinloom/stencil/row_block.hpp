#pragma once
#include <complex>
#include <cstddef>

#include "spinloom/stencil/program.hpp"

namespace spinloom::stencil {

inline constexpr int max_planes = 8;

/// A piece of work of a row kernel: the rows [y0, y1), columns [x0, x1) of `planes` consecutive planes (the number
/// is the kernel's own). All that a schedule knows of a stencil goes through this struct, so that schedules are
/// compiled once and row kernels once per stencil.
template <class T>
struct RowBlock {
  using Index = std::ptrdiff_t;
  /// in[r][p]: the point (y = 0, x = 0) of the plane p - reach.low[z] from the first one, of read r.
  const T* in[max_reads][2 * max_radius + max_planes];
  Index in_stride[max_reads];  ///< elements from a row to the next
  T* out[max_outputs][max_planes];
  Index out_stride[max_outputs];
  const T* ahead[max_reads]
                [max_planes];  ///< planes to fetch into the level 2 cache meanwhile, for kernels that do
  const double* params;
  double* reduced[max_reductions];  ///< per row: entry [plane * reduced_stride + y]
  Index reduced_stride;
  Index y0, y1, x0, x1;
  int colour;  ///< red-black: z + colour of the first plane; points with an even z + y + x + colour change
  bool in_pairs = false;  ///< red-black: two rows at once, where a cache and not memory sets the speed
};

template <class T>
using RowFunction = void (*)(const RowBlock<T>&, const void* state);

/// Where 1, 2, 4 or 8 planes at once stand in RowFunctions.
constexpr int entry_of(int planes) { return planes == 8 ? 3 : planes / 2; }

/// The ways in which a stencil's rows are computed: 1, 2, 4 or 8 planes at once; plain, fetching ahead, and fetching
/// ahead with stores past the caches. An empty entry is a way that the stencil was not compiled for; [0][0] is there.
template <class T>
struct RowFunctions {
  RowFunction<T> at[4][3] = {};
  const char* target = "";  ///< instruction set
};

}  // namespace spinloom::stencil
