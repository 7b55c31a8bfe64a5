#pragma once
#include <vector>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// One of the matrix products, with the numbers that belong to it.
struct ProductKernel {
  KernelInstance instance;
  bool is_forward;
  int tile_rows, tile_columns;
  unsigned threads;
  std::size_t shared_bytes;
};

/// is_split: operands are pairs of FP16. is_forward: what becomes of the sums, see product_results.cuh.
/// has_warpgroups: the kernel for sm_90a rather than that for sm_80.
const ProductKernel& product_kernel(bool is_split, bool is_forward, bool has_warpgroups);

/// struct Results of product_results.cuh, field by field.
struct ProductResults {
  float* sums = nullptr;
  int is_first = 1;
  const cfloat* z_table = nullptr;
  const cfloat* outer_table = nullptr;
  cfloat* partial = nullptr;
  int groups = 0, outers = 0, columns_per_coil = 0;
  const int* part_starts = nullptr;
  const int* piece_of_unit = nullptr;
  const int* snapshot_of_piece = nullptr;
  int slots = 1, coils = 1;
};

/// An operand of a matrix product: FP16 values and, when split, what they lack (else null).
struct Operand {
  const std::byte* hi;
  const std::byte* lo;
  Index rows;
};

/// k is cut into `parts` parts, each of which makes sums of its own (1 of the forward product); k_blocks counts blocks of 64. Of the second operand
/// `b_columns` rows make columns of the product, or all for 0.
void launch_product(const Context& context, const ProductKernel& kernel, const Operand& a, const Operand& b,
                    Index k_blocks, Index parts, const ProductResults& results, Index b_columns = 0);

}  // namespace spinloom::cuda
