#include "fourier/cuda/dft_product.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fourier/cuda/product_operands.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::cuda {

namespace {

/// A chunk's operands are written, then read. The forward product's should stay in the level 2 cache (50 MB on an H200);
/// the adjoint's chunks gain more from being long, for each chunk's sums are read and written. Measured on an H200.
constexpr Index adjoint_chunk_bytes = Index{256} << 20, forward_chunk_bytes = Index{64} << 20;
constexpr Index shortest_chunk = 2048, longest_chunk = 8192;
/// Chunks that are issued before the host waits: a user's interrupt must not find seconds of work under way.
constexpr Index chunks_between_waits = 64;

/// Length of a chunk of samples of the given cost. A multiple of 256, two tiles of the largest kernel.
Index chunk_length(Index samples, Index chunk_bytes, Index bytes_per_sample, Index longest) {
  return std::min(up(samples, 256),
                  std::clamp(chunk_bytes / bytes_per_sample, shortest_chunk, longest) / 256 * 256);
}

/// The same for the forward product, where each 128 samples make `tiles` blocks: of the lengths up to the
/// longest, the one that leaves the fewest multiprocessors idle in the last wave.
Index chunk_of_whole_waves(Index longest, Index tiles, Index multiprocessors) {
  Index best = longest;
  double best_use = 0;
  for (Index width = longest; width >= std::max<Index>(longest / 2, 256); width -= 256) {
    const Index blocks = width / 128 * tiles, waves = (blocks + multiprocessors - 1) / multiprocessors;
    const double use = double(blocks) / double(waves * multiprocessors);
    if (use > best_use + 0.01) {
      best = width;
      best_use = use;
    }
  }
  return best;
}

/// Runs body(first, width) over chunks.
template <class Body>
void for_chunks(const Context& context, Index samples, Index width, const Body& body) {
  Index issued = 0;
  for (Index first = 0; first < samples; first += width) {
    check_interrupt();
    body(first, std::min(width, up(samples - first, 256)));
    if (++issued % chunks_between_waits == 0) context.synchronize();
  }
}

}  // namespace

DftMatrixProduct::DftMatrixProduct(Context& context, Shape matrix, DftMethod method, DftProduct product)
    : context_(context),
      matrix_(std::move(matrix)),
      is_split_(method == DftMethod::split_fp16),
      has_warpgroups_(product == DftProduct::best && context.facts().capability == 90) {}

template <class Batch>
void DftMatrixProduct::in_batches(Index coils, const Batch& batch) const {
  // The sums of one coil, and as much again for its operands, may take half of what is free.
  const DftLayout g = choose_dft_layout(matrix_, 1, adjoint_costs);
  const Index per_coil = 8 * Index{g.rows} * g.columns;
  const Index at_once =
      std::clamp<Index>(static_cast<Index>(context_.free_memory_bytes()) / 2 / per_coil, 1, coils);
  for (Index first = 0; first < coils; first += at_once) batch(first, std::min(at_once, coils - first));
}

void DftMatrixProduct::adjoint(const std::uint64_t* k, Index samples, Index coils, const cfloat* kspace,
                               cfloat* image) const {
  in_batches(coils, [&](Index first, Index count) {
    adjoint_batch(k, samples, count, kspace + first * samples, image + first * spinloom::count(matrix_));
  });
}

void DftMatrixProduct::forward(const std::uint64_t* k, Index samples, Index coils, const cfloat* image,
                               cfloat* kspace) const {
  in_batches(coils, [&](Index first, Index count) {
    forward_batch(k, samples, count, image + first * spinloom::count(matrix_), kspace + first * samples);
  });
}

void DftMatrixProduct::adjoint_batch(const std::uint64_t* k, Index samples, Index coils, const cfloat* kspace,
                                     cfloat* image) const {
  const DftLayout g = choose_dft_layout(matrix_, coils, adjoint_costs);
  const ProductKernel& kernel = product_kernel(is_split_, false, has_warpgroups_);
  const Index rows = coils * g.rows, tiles = rows / kernel.tile_rows * (g.columns / kernel.tile_columns);
  // Few tiles leave the card idle, so samples are cut into parts that are summed apart, each at least 512
  // samples long.
  const Index parts =
      std::clamp<Index>(std::min(context_.facts().multiprocessors / tiles, samples / 512), 1, 64);
  const Index operand_bytes = 2 * (rows + g.columns) * (is_split_ ? 2 : 1);
  const Index width =
      chunk_length(samples, adjoint_chunk_bytes, operand_bytes + table_bytes(g), longest_chunk * parts);

  const Operands make(context_, g, is_split_, width, coils);
  const OperandMemory a(context_, rows, width, is_split_), b(context_, g.columns, width, is_split_);
  const Scratch<float> sums(context_, static_cast<std::size_t>(parts * rows * g.columns));

  make.find_largest(kspace, samples);
  for_chunks(context_, samples, width, [&](Index first, Index chunk) {
    const int w = static_cast<int>(chunk);
    make.make_tables(k, samples, first, w, kspace);
    make.make_adjoint_operands(w, a, b);
    ProductResults results;
    results.sums = sums.data();
    results.is_first = first == 0;
    launch_product(context_, kernel, a.operand(), b.operand(), chunk / 64, parts, results);
  });
  make.run("make_image",
           {static_cast<unsigned>(g.groups), blocks_of(g.half, 256), static_cast<unsigned>(coils)}, 256,
           sums.data(), static_cast<int>(parts), make.largest.data(), image);
}

void DftMatrixProduct::forward_batch(const std::uint64_t* k, Index samples, Index coils, const cfloat* image,
                                     cfloat* kspace) const {
  const DftLayout g = choose_dft_layout(matrix_, coils, forward_costs);
  const ProductKernel& kernel = product_kernel(is_split_, true, has_warpgroups_);
  const Index tiles = g.rows / kernel.tile_columns;
  const Index operand_bytes = 2 * Index{g.columns} * (is_split_ ? 2 : 1);
  const Index width = chunk_of_whole_waves(
      chunk_length(samples, forward_chunk_bytes, operand_bytes + table_bytes(g) + 8 * coils * tiles, 1 << 16),
      coils * tiles * 128 / kernel.tile_rows, context_.facts().multiprocessors);

  const Operands make(context_, g, is_split_, width, coils);
  const OperandMemory a(context_, width, g.columns, is_split_),
      b(context_, coils * g.rows, g.columns, is_split_);
  const Scratch<cfloat> partial(context_, static_cast<std::size_t>(coils * tiles * width));

  make.find_largest(image, spinloom::count(matrix_));
  make.make_image_rows(image, b);
  for_chunks(context_, samples, width, [&](Index first, Index chunk) {
    const int w = static_cast<int>(chunk);
    make.make_tables(k, samples, first, w, nullptr);
    make.make_forward_samples(w, a);
    ProductResults results;
    results.z_table = make.z_table.data();
    results.outer_table = make.outer_table.data();
    results.partial = partial.data();
    results.groups = g.groups;
    results.outers = g.outers;
    results.columns_per_coil = g.rows;
    Operand samples_operand = a.operand();
    samples_operand.rows = chunk;
    launch_product(context_, kernel, samples_operand, b.operand(), g.columns / 64, 1, results);
    launch(context_, make.instance, "add_tiles", {blocks_of(w, 256), static_cast<unsigned>(coils)}, {256}, 0,
           partial.data(), static_cast<int>(tiles), make.largest.data(), samples, first, w, kspace);
  });
}

std::vector<KernelInstance> dft_product_instances() {
  std::vector<KernelInstance> all = {operands_instance(false), operands_instance(true)};
  for (const bool is_split : {false, true})
    for (const bool is_forward : {false, true})
      for (const bool has_warpgroups : {false, true})
        all.push_back(product_kernel(is_split, is_forward, has_warpgroups).instance);
  return all;
}

}  // namespace spinloom::cuda
