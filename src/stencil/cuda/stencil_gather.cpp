#include "stencil/cuda/stencil_gather.hpp"

#include <fmt/format.h>

#include "runtime/cuda/kernel.hpp"
#include "stencil/cuda/stencil_blocks.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_gather_source;

namespace {

constexpr Index reduced_rows = 16;  // of a block, as in stencil_gather.cu

}  // namespace

GatherKernel gather_kernel(const stencil::Definition& definition, StencilNumbers numbers,
                           const std::array<Index, 3>& n, int block_x, int block_y) {
  // Planes of one row, as 2D has them, lie side by side in a block.
  const bool is_flat = n[1] == 1 && blocks_of(n[0], block_y) <= most_blocks_across;
  const bool is_long =
      !is_flat && (n[0] > most_blocks_across || blocks_of(n[1], block_y) > most_blocks_across);
  return {&stencil_instance(stencil_gather_source, definition, numbers,
                            {fmt::format("BLOCK_X={}", block_x), fmt::format("BLOCK_Y={}", block_y),
                             fmt::format("ORDER={}", is_flat   ? 1
                                                     : is_long ? 2
                                                               : 0)}),
          block_x, block_y, is_flat, is_long};
}

void launch_gather(const Context& context, const GatherKernel& k, const StencilWork& w, bool half_of_points) {
  const Index tiles_x = blocks_of(half_of_points ? (w.nx + 1) / 2 : w.nx, k.block_x),
              tiles_y = blocks_of(k.is_flat ? w.nz : w.ny, k.block_y), tiles_z = k.is_flat ? 1 : w.nz;
  Grid blocks = one_row_of_blocks(k.is_long ? tiles_x * tiles_y * tiles_z : tiles_x);
  if (!k.is_long) blocks.y = static_cast<unsigned>(tiles_y), blocks.z = static_cast<unsigned>(tiles_z);
  launch(context, *k.instance, "gather", blocks,
         {static_cast<unsigned>(k.block_x), static_cast<unsigned>(k.block_y)}, 0, w,
         static_cast<unsigned>(tiles_x), static_cast<unsigned>(tiles_y));
}

void launch_gather_reduced(const Context& context, const GatherKernel& k, const StencilWork& w) {
  launch(context, *k.instance, "gather_reduced", one_row_of_blocks(blocks_of(w.nz * w.ny, reduced_rows)),
         {256}, 0, w);
}

}  // namespace spinloom::cuda
