#include "fourier/cuda/product_kernel.hpp"

#include <fmt/format.h>

namespace spinloom::cuda {

extern const KernelSource product_mma_source;
extern const KernelSource product_warpgroup_source;

namespace {

ProductKernel make_kernel(bool is_split, bool is_forward, bool has_warpgroups) {
  ProductKernel k{};
  int stages = 0;
  std::vector<std::string> own;
  if (has_warpgroups) {
    // 192 KiB of an H100's or H200's 227. Split sums are kept twice in registers, which leaves room for 128
    // columns.
    k.tile_rows = 128;
    k.tile_columns = is_split ? 128 : 256;
    k.threads = 384;
    stages = is_split ? 3 : 4;
    k.cluster = getenv("TUNE_CLUSTER") ? atoi(getenv("TUNE_CLUSTER")) : 2;
    own = {fmt::format("TILE_COLUMNS={}", k.tile_columns), fmt::format("CLUSTER={}", k.cluster)};
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

namespace {

/// Rows of 128 bytes, a box of `rows` of them at a time; the operands are swizzled in memory already.
TensorMap map_rows(const Context& context, const std::byte* data, Index all_rows, int rows) {
  TensorMap map{};
  const std::uint64_t extents[2] = {64, static_cast<std::uint64_t>(all_rows)}, stride = 128;
  const unsigned box[2] = {64, static_cast<unsigned>(rows)}, steps[2] = {1, 1};
  constexpr int no_interleave = 0, no_swizzle = 0, promote_to_256_bytes = 3, fill_zeros = 0;
  Current current(context);
  SPINLOOM_CUDA(TensorMapEncodeTiled, &map, tensor_map_float16, 2u, const_cast<std::byte*>(data), extents,
                &stride, box, steps, no_interleave, no_swizzle, promote_to_256_bytes, fill_zeros);
  return map;
}

}  // namespace

void launch_product(const Context& context, const ProductKernel& kernel, const Operand& a, const Operand& b,
                    Index k_blocks, Index parts, const ProductResults& results) {
  const Grid grid{static_cast<unsigned>(a.rows / kernel.tile_rows),
                  static_cast<unsigned>(b.rows / kernel.tile_columns), static_cast<unsigned>(parts)};
  const int blocks = static_cast<int>(k_blocks),
            blocks_per_part = static_cast<int>((k_blocks + parts - 1) / parts);
  const int a_rows = static_cast<int>(a.rows), b_rows = static_cast<int>(b.rows);
  const auto start = [&](const auto&... more) {
    launch(context, kernel.instance, "product", grid, {kernel.threads}, kernel.shared_bytes, a.hi, a.lo,
           a_rows, b.hi, b.lo, b_rows, blocks, blocks_per_part, results, more...);
  };
  if (kernel.cluster == 0) return start();
  const auto map = [&](const Operand& o, const std::byte* data, int rows) {
    return map_rows(context, data, k_blocks * o.rows, rows);
  };
  const int share = kernel.tile_columns / kernel.cluster;
  const bool is_split = a.lo != nullptr;
  start(map(a, a.hi, kernel.tile_rows), map(a, is_split ? a.lo : a.hi, kernel.tile_rows), map(b, b.hi, share),
        map(b, is_split ? b.lo : b.hi, share));
}

}  // namespace spinloom::cuda
