#include <algorithm>
#include <string_view>

#include "runtime/cuda/kernel.hpp"
#include "stencil/cuda/stencil_blocks.hpp"
#include "stencil/cuda/stencil_gather.hpp"
#include "stencil/cuda/stencil_stage.hpp"

namespace spinloom::cuda {

using stencil::GridLayout;

namespace {

Grid block_of(const StencilStage& stage) {
  return {static_cast<unsigned>(stage.march.block_x), static_cast<unsigned>(stage.march.block_y)};
}

/// Arrays as the bulk copies of a ring see them: words of 4 or 8 bytes.
Boxes boxes(const Context& context, const StencilStage& stage, const GridLayout& g, const StencilWork& w) {
  const Index bytes = stage.word_bytes, element = stage.element_bytes;
  const auto words = [&](Index elements) { return elements * element / bytes; };
  Boxes b;
  const Index unit = 16 / element, left = (g.halo.low[2] + unit - 1) / unit * unit;
  b.x = static_cast<int>(words(left));
  b.y = static_cast<int>(g.halo.low[1]);
  b.z = static_cast<int>(g.halo.low[0]);
  const unsigned long long sizes[] = {
      static_cast<unsigned long long>(words(g.row_stride)),
      static_cast<unsigned long long>(g.n[1] + g.halo.low[1] + g.halo.high[1]),
      static_cast<unsigned long long>(g.n[0] + g.halo.low[0] + g.halo.high[0])};
  const unsigned long long strides[] = {static_cast<unsigned long long>(bytes * words(g.row_stride)),
                                        static_cast<unsigned long long>(bytes * words(g.plane_stride))};
  const unsigned steps[] = {1, 1, 1};
  const Current current(context);
  for (const MarchKernel::Box& box : stage.boxes) {
    const unsigned extent[] = {static_cast<unsigned>(box.words), static_cast<unsigned>(box.rows), 1};
    const Index before = left + g.halo.low[1] * g.row_stride + g.halo.low[0] * g.plane_stride;
    void* const first =
        const_cast<std::byte*>(static_cast<const std::byte*>(w.in[box.read]) - before * element);
    SPINLOOM_CUDA(TensorMapEncodeTiled, &b.map[box.read],
                  bytes == 8 ? tensor_words_of_64_bits : tensor_words_of_32_bits, 3, first, sizes, strides,
                  extent, steps, 0, 0, tensor_promotion_to_128_bytes, 0);
  }
  return b;
}

void march(const Context& context, const StencilStage& stage, const GridLayout& g, const StencilWork& w) {
  const MarchShape& s = stage.march;
  const Index tiles_x = blocks_of(w.nx, (s.block_x - 2 * s.edge) * s.points),
              tiles_y = blocks_of(w.ny, s.block_y * s.rows), tiles_z = blocks_of(w.nz, stage.depth);
  if (s.ring) {
    const Index band = std::min(stage.band, tiles_y);
    launch(context, *stage.instance, stage.kernel,
           one_row_of_blocks(tiles_x * blocks_of(tiles_y, band) * band * tiles_z), block_of(stage),
           stage.shared_bytes, w, boxes(context, stage, g, w), stage.depth, static_cast<int>(band));
  } else {
    launch(context, *stage.instance, stage.kernel, one_row_of_blocks(tiles_x * tiles_y * tiles_z),
           block_of(stage), stage.shared_bytes, w, stage.depth);
  }
}

void tile(const Context& context, const StencilStage& stage, const StencilWork& w) {
  const MarchShape& s = stage.march;
  const Index tiles_y = blocks_of(w.ny, s.block_y * s.rows), band = std::min(stage.band, tiles_y);
  const Index tiles_x = blocks_of(w.nx, s.block_x * s.points),
              layers = blocks_of(tiles_y, band) * blocks_of(w.nz, stage.depth);
  const bool is_long = band > most_blocks_across || layers > most_blocks_across;
  const Grid tiles = is_long ? one_row_of_blocks(tiles_x * band * layers)
                             : Grid{static_cast<unsigned>(tiles_x), static_cast<unsigned>(band),
                                    static_cast<unsigned>(layers)};
  launch(context, *stage.instance, stage.kernel, tiles, block_of(stage), 0, w, static_cast<unsigned>(band),
         static_cast<unsigned>(is_long));
}

}  // namespace

void launch_stage(const Context& context, const StencilStage& stage, const GridLayout& g,
                  const StencilWork& w, bool half_of_points) {
  const std::string_view kernel = stage.kernel;
  const GatherKernel gathering{stage.instance, stage.march.block_x, stage.march.block_y, stage.is_flat,
                               stage.is_long};
  if (kernel == "tile")
    tile(context, stage, w);
  else if (stage.depth > 0)
    march(context, stage, g, w);
  else if (kernel == "gather_reduced")
    launch_gather_reduced(context, gathering, w);
  else
    launch_gather(context, gathering, w, half_of_points);
}

}  // namespace spinloom::cuda
