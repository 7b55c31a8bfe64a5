#pragma once
#include <algorithm>

#include "fourier/cuda/dft_layout.hpp"
#include "fourier/cuda/product_kernel.hpp"
#include "runtime/cuda/scratch.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom::cuda {

inline Index up(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }
inline unsigned blocks_of(Index n, Index size) { return static_cast<unsigned>((n + size - 1) / size); }

/// dft_operands.cu, for plain and for split operands.
const KernelInstance& operands_instance(bool is_split);

/// Memory of one operand, FP16 values and their rests.
struct OperandMemory {
  OperandMemory(Context& c, Index rows_, Index k, bool is_split_)
      : hi(c, static_cast<std::size_t>(rows_ * k * 2)),
        lo(c, is_split_ ? static_cast<std::size_t>(rows_ * k * 2) : 1),
        rows(rows_),
        is_split(is_split_) {}
  Operand operand() const { return {hi.data(), is_split ? lo.data() : nullptr, rows}; }
  Scratch<std::byte> hi, lo;
  Index rows;
  bool is_split;
};

/// The kernels of dft_operands.cu and the tables that they share, for chunks of up to `longest` samples.
struct Operands {
  Operands(Context& c, const DftLayout& l, bool is_split, Index longest, Index coils_)
      : context(c),
        g(l),
        instance(operands_instance(is_split)),
        coils(coils_),
        largest(c, static_cast<std::size_t>(coils_)),
        z_table(c, static_cast<std::size_t>(l.nz * longest)),
        outer_table(c, static_cast<std::size_t>(coils_ * l.outers * longest)),
        inner_table(c, static_cast<std::size_t>(l.fold * longest)),
        x_table(c, static_cast<std::size_t>(l.nx * longest)) {}

  template <class... Arguments>
  void run(const char* name, Grid grid, unsigned threads, const Arguments&... arguments) const {
    launch(context, instance, name, grid, {threads}, 0, g, arguments...);
  }
  void find_largest(const cfloat* data, Index per_coil) const {
    zero_bytes(reinterpret_cast<std::byte*>(largest.data()), {DeviceKind::cuda, context.index()},
               largest.bytes());
    launch(context, instance, "find_largest",
           {std::min(blocks_of(per_coil, 2048), 512u), static_cast<unsigned>(coils)}, {256}, 0, data,
           per_coil, largest.data());
  }
  /// With data of all coils, outer_table holds it multiplied in, [coil][outer][m].
  void make_tables(const std::uint64_t* k, Index samples, Index first, int width, const cfloat* data) const {
    const Index entries = Index{g.nz} + g.fold + g.nx + g.outers * (data == nullptr ? 1 : coils);
    run("make_tables", {static_cast<unsigned>(entries), blocks_of(width, 128)}, 128, k, samples, first, width,
        z_table.data(), inner_table.data(), x_table.data(), outer_table.data(), data, largest.data());
  }

  /// The adjoint product's operands of w samples (a multiple of 64), from tables with data.
  void make_adjoint_operands(int w, const OperandMemory& a, const OperandMemory& b) const {
    run("make_adjoint_operands",
        {blocks_of(w, 64), static_cast<unsigned>(coils) * blocks_of(g.nz + 1, 32) + blocks_of(g.nx + 1, 32)},
        256, static_cast<int>(coils), z_table.data(), outer_table.data(), inner_table.data(), x_table.data(),
        w, a.hi.data(), a.lo.data(), b.hi.data(), b.lo.data());
  }
  /// The forward product's rows of w samples (a multiple of 128).
  void make_forward_samples(int w, const OperandMemory& a) const {
    run("make_forward_samples", {blocks_of(w, 128), static_cast<unsigned>(g.columns / 64)}, 128,
        inner_table.data(), x_table.data(), w, a.hi.data(), a.lo.data());
  }
  /// The forward product's rows of all coils. With `field`, a voxel's (hz, factor), those of `count` snapshots from `first`
  /// on, at times first_time + step * snapshot, each in slot snapshot % slots.
  void make_image_rows(const cfloat* image, const OperandMemory& b, const cfloat* field = nullptr,
                       double first_time = 0, double step = 0, Index first = 0, Index count = 1,
                       Index slots = 1) const {
    run("make_image_rows",
        {blocks_of(g.columns, 64), blocks_of(g.rows / 2, 32), static_cast<unsigned>(coils)}, 256, image,
        largest.data(), field, first_time, step, static_cast<int>(first), static_cast<int>(count),
        static_cast<int>(slots), b.hi.data(), b.lo.data());
  }

  Context& context;
  DftLayout g;
  const KernelInstance& instance;
  Index coils;
  Scratch<unsigned> largest;
  Scratch<cfloat> z_table, outer_table, inner_table, x_table;
};

/// Bytes per sample of the tables of one coil.
inline Index table_bytes(const DftLayout& g) { return 8 * (Index{g.nz} + g.outers + g.fold + g.nx); }

}  // namespace spinloom::cuda
