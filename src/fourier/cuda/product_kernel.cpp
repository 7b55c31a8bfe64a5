#include "fourier/cuda/product_kernel.hpp"

#include <fmt/format.h>

namespace spinloom::cuda {

extern const KernelSource product_mma_source;
extern const KernelSource product_warpgroup_source;

namespace {

ProductKernel make_kernel(bool is_split, bool is_forward, bool has_warpgroups) {
  ProductKernel k{};
  k.is_forward = is_forward;
  int stages = 0;
  std::vector<std::string> own;
  if (has_warpgroups) {
    // 192 KiB of an H100's or H200's 227. Split sums are kept twice in registers, which leaves room for 128
    // columns.
    k.tile_rows = 128;
    k.tile_columns = is_split ? 128 : 256;
    k.threads = 384;
    stages = is_split ? 3 : 4;
    own = {fmt::format("TILE_COLUMNS={}", k.tile_columns)};
  } else {
    // 96 KiB, within the 99 that the smallest cards from sm_80 on give a block.
    k.tile_rows = is_split ? 64 : 128;
    k.tile_columns = 128;
    k.threads = 256;
    stages = is_split ? 2 : 3;
    own = {fmt::format("TILE_ROWS={}", k.tile_rows)};
  }
  k.shared_bytes =
      static_cast<std::size_t>(stages * (k.tile_rows + k.tile_columns) * 128 * (is_split ? 2 : 1));
  std::vector<std::string> defines = {fmt::format("SPLIT={:d}", is_split),
                                      fmt::format("FORWARD={:d}", is_forward),
                                      fmt::format("STAGES={}", stages)};
  defines.insert(defines.end(), own.begin(), own.end());
  k.instance = {has_warpgroups ? &product_warpgroup_source : &product_mma_source, defines,
                has_warpgroups ? 90 : 80, has_warpgroups};
  return k;
}

}  // namespace

const ProductKernel& product_kernel(bool is_split, bool is_forward, bool has_warpgroups) {
  static const std::vector<ProductKernel> all = [] {
    std::vector<ProductKernel> kernels;
    for (int i = 0; i < 8; ++i) kernels.push_back(make_kernel(i & 4, i & 2, i & 1));
    return kernels;
  }();
  return all[static_cast<std::size_t>(4 * is_split + 2 * is_forward + has_warpgroups)];
}

void launch_product(const Context& context, const ProductKernel& kernel, const Operand& a, const Operand& b,
                    Index k_blocks, Index parts, const ProductResults& results, Index b_columns) {
  const Index tile_rows = a.rows / kernel.tile_rows;
  const Index tile_columns = (b_columns == 0 ? b.rows : b_columns) / kernel.tile_columns;
  Grid grid{static_cast<unsigned>(tile_rows), static_cast<unsigned>(tile_columns),
            static_cast<unsigned>(parts)};
  if (kernel.is_forward) {  // about 16 x 8 tiles at a time, so that either operand is read seldom
    const Index groups = (tile_rows + 15) / 16;
    grid.x = static_cast<unsigned>((tile_rows + groups - 1) / groups);
    grid.z = static_cast<unsigned>(groups);
  }
  const int blocks = static_cast<int>(k_blocks),
            blocks_per_part = static_cast<int>((k_blocks + parts - 1) / parts);
  launch(context, kernel.instance, "product", grid, {kernel.threads}, kernel.shared_bytes, a.hi, a.lo,
         static_cast<int>(a.rows), b.hi, b.lo, static_cast<int>(b.rows), blocks, blocks_per_part, results);
}

}  // namespace spinloom::cuda
