#include "fourier/cuda/off_resonance_product.hpp"

#include <algorithm>

#include "fourier/cuda/off_resonance.hpp"
#include "fourier/cuda/product_operands.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::cuda {

extern const KernelSource dft_snapshots_source;

namespace {

/// Operands of an adjoint chunk, and the sums of its pieces; more pieces at once read and write the image less often and
/// leave fewer multiprocessors idle at the end.
constexpr Index adjoint_chunk_bytes = Index{512} << 20, sums_bytes = Index{512} << 20,
                forward_chunk_bytes = Index{384} << 20, snapshot_bytes = Index{512} << 20;
/// A forward chunk's windows, each with a snapshot of its own: the image is read once for all of them.
constexpr Index most_windows_at_once = 16;
constexpr Index shortest_piece = 2048, longest_piece = 32768;
constexpr Index most_pieces = 64;
/// As in dft_product.cpp, in chunks.
constexpr Index chunks_between_waits = 16;

const KernelInstance& instance() {
  static const KernelInstance one{&dft_snapshots_source, {}, 80};
  return one;
}

}  // namespace

OffResonanceProduct::OffResonanceProduct(Context& context, Shape matrix, Index coils, DftMethod method,
                                         DftProduct product, const Trajectory& k, const OffResonance& b0,
                                         SnapshotChoice choice)
    : context_(context),
      matrix_(std::move(matrix)),
      coils_(coils),
      samples_(k.samples()),
      is_split_(method == DftMethod::split_fp16),
      has_warpgroups_(product == DftProduct::best && context.facts().capability == 90),
      snapshots_(k, matrix_, b0, std::move(choice), {DeviceKind::cuda, context.index()}),
      of_snapshots_(cut_for_adjoint()),
      of_windows_(cut_for_forward()) {}

Pieces OffResonanceProduct::cut_for_adjoint() const {
  const DftLayout g = choose_dft_layout(matrix_, coils_, adjoint_costs);
  const Index bytes = 2 * (coils_ * g.rows + g.columns) * (is_split_ ? 2 : 1) + table_bytes(g);
  PieceTable table(64, std::clamp(adjoint_chunk_bytes / bytes, shortest_piece, longest_piece) / 64 * 64);
  const SnapshotChoice& c = snapshots_.choice;
  const auto start = [&](Index window) {
    return snapshots_.window_start[static_cast<std::size_t>(std::clamp<Index>(window, 0, c.windows))];
  };
  for (Index j = 0; j < c.snapshots(); ++j) table.add(start(j - c.interpolation.taps() + 1), start(j + 1), j);
  return {std::move(table), {DeviceKind::cuda, context_.index()}};
}

Pieces OffResonanceProduct::cut_for_forward() const {
  const Index taps = snapshots_.choice.interpolation.taps();
  const DftLayout g = choose_dft_layout(matrix_, taps * coils_, forward_costs);
  const Index bytes = 2 * Index{g.columns} * (is_split_ ? 2 : 1) + table_bytes(g);
  PieceTable table(128, std::clamp(forward_chunk_bytes / bytes, shortest_piece, longest_piece) / 128 * 128);
  for (Index w = 0; w < snapshots_.choice.windows; ++w)
    table.add(snapshots_.window_start[static_cast<std::size_t>(w)],
              snapshots_.window_start[static_cast<std::size_t>(w) + 1], w);
  return {std::move(table), {DeviceKind::cuda, context_.index()}};
}

template <class Batch>
void OffResonanceProduct::in_batches(const Batch& batch) const {
  // As DftMatrixProduct, with room for the rows of all taps.
  const DftLayout g = choose_dft_layout(matrix_, 1, adjoint_costs);
  const Index per_coil = 8 * Index{g.rows} * g.columns * snapshots_.choice.interpolation.taps();
  const Index at_once =
      std::clamp<Index>(static_cast<Index>(context_.free_memory_bytes()) / 2 / per_coil, 1, coils_);
  for (Index first = 0; first < coils_; first += at_once) batch(first, std::min(at_once, coils_ - first));
}

void OffResonanceProduct::adjoint(const cfloat* kspace, cfloat* image) const {
  in_batches([&](Index first, Index coils) {
    adjoint_batch(coils, kspace + first * samples_, image + first * count(matrix_));
  });
}

void OffResonanceProduct::forward(const cfloat* image, cfloat* kspace) const {
  in_batches([&](Index first, Index coils) {
    forward_batch(coils, image + first * count(matrix_), kspace + first * samples_);
  });
}

void OffResonanceProduct::adjoint_batch(Index coils, const cfloat* kspace, cfloat* image) const {
  const DftLayout g = choose_dft_layout(matrix_, coils_, adjoint_costs);
  const ProductKernel& kernel = product_kernel(is_split_, false, has_warpgroups_);
  const PieceTable& table = of_snapshots_.table();
  const SnapshotChoice& choice = snapshots_.choice;
  const Index rows = coils * g.rows, part_size = rows * g.columns;
  const Index longest = std::min(table.width(0, table.count()), table.longest);
  const Index parts_at_once =
      std::clamp<Index>(sums_bytes / (4 * part_size), 1, std::min(most_pieces, table.count()));
  // As many pieces as fill what the longest one may take.
  const Index bytes = 2 * (rows + g.columns) * (is_split_ ? 2 : 1) + table_bytes(g);
  const Index most_width =
      std::min(std::max(longest, adjoint_chunk_bytes / bytes / 64 * 64), table.width(0, table.count()));

  const Operands make(context_, g, is_split_, most_width, coils);
  const OperandMemory a(context_, rows, most_width, is_split_), b(context_, g.columns, most_width, is_split_);
  const Scratch<float> sums(context_, static_cast<std::size_t>(parts_at_once * part_size));
  const Scratch<std::uint64_t> chunk_k(context_, static_cast<std::size_t>(3 * most_width));
  const Scratch<cfloat> chunk_data(context_, static_cast<std::size_t>(coils * most_width));

  make.find_largest(kspace, samples_);
  Index chunks = 0;
  for (Index from = 0, to = 0; from < table.count(); from = to) {
    check_interrupt();
    for (to = from + 1; to < table.count() && to - from < parts_at_once; ++to)
      if (table.width(from, to + 1) > most_width) break;
    const int w = static_cast<int>(table.width(from, to)), first_piece = static_cast<int>(from);
    launch(context_, instance(), "gather_samples", {blocks_of(w, 256), static_cast<unsigned>(3 + coils)},
           {256}, 0, of_snapshots_.on_device(), first_piece, snapshots_.k.data(), snapshots_.order.data(),
           snapshots_.weights.data(), choice.interpolation.taps(), samples_, kspace, w, chunk_k.data(),
           chunk_data.data());
    make.make_tables(chunk_k.data(), w, 0, w, chunk_data.data());
    make.make_adjoint_operands(w, a, b);
    ProductResults results;
    results.sums = sums.data();
    results.part_starts = of_snapshots_.on_device().start + from;
    launch_product(context_, kernel, a.operand(), b.operand(), w / 64, to - from, results);
    launch(context_, instance(), "add_snapshots",
           {static_cast<unsigned>(g.groups), blocks_of(g.half, 256), static_cast<unsigned>(coils)}, {256}, 0,
           g, sums.data(), static_cast<int>(to - from), of_snapshots_.on_device().snapshot + from,
           choice.time(0), choice.time(1) - choice.time(0), snapshots_.field.data(), make.largest.data(),
           from == 0 ? 1 : 0, image);
    if (++chunks % chunks_between_waits == 0) context_.synchronize();
  }
}

void OffResonanceProduct::forward_batch(Index coils, const cfloat* image, cfloat* kspace) const {
  const SnapshotChoice& choice = snapshots_.choice;
  const Index taps = choice.interpolation.taps();
  const DftLayout g = choose_dft_layout(matrix_, taps * coils_, forward_costs);
  const ProductKernel& kernel = product_kernel(is_split_, true, has_warpgroups_);
  const PieceTable& table = of_windows_.table();
  const Index tiles = g.rows / kernel.tile_columns, rows = coils * g.rows, parts = is_split_ ? 2 : 1;
  const Index bytes = 2 * Index{g.columns} * parts + table_bytes(g) + 8 * taps * coils * tiles;
  const Index most_width = std::min(std::max(table.longest, forward_chunk_bytes / bytes / 128 * 128),
                                    table.width(0, table.count()));
  // Several windows at once leave fewer multiprocessors idle, and read the image once for all their snapshots.
  const Index slots =
      std::clamp(snapshot_bytes / (2 * rows * g.columns * parts), taps, taps + most_windows_at_once - 1);

  const Operands make(context_, g, is_split_, most_width, coils);
  const OperandMemory a(context_, most_width, g.columns, is_split_),
      b(context_, slots * rows, g.columns, is_split_);
  const Scratch<cfloat> partial(context_, static_cast<std::size_t>(taps * coils * tiles * most_width));
  const Scratch<std::uint64_t> chunk_k(context_, static_cast<std::size_t>(3 * most_width));
  const DevicePieces pieces = of_windows_.on_device();

  make.find_largest(image, count(matrix_));
  const auto window = [&](Index piece) { return Index{table.snapshot[PieceTable::at(piece)]}; };
  Index chunks = 0, made = 0;  // snapshots before `made` are in their slots, as far as they are still needed
  for (Index from = 0, to = 0; from < table.count(); from = to) {
    check_interrupt();
    for (to = from + 1; to < table.count(); ++to)
      if (table.width(from, to + 1) > most_width || window(to) + taps - window(from) > slots) break;
    const int w = static_cast<int>(table.width(from, to)), first_piece = static_cast<int>(from);
    launch(context_, instance(), "gather_samples", {blocks_of(w, 256), 3}, {256}, 0, pieces, first_piece,
           snapshots_.k.data(), snapshots_.order.data(), snapshots_.weights.data(), static_cast<int>(taps),
           samples_, static_cast<const cfloat*>(nullptr), w, chunk_k.data(), static_cast<cfloat*>(nullptr));
    make.make_tables(chunk_k.data(), w, 0, w, nullptr);
    make.make_forward_samples(w, a);
    const Index first = std::max(made, window(from)), last = window(to - 1) + taps;
    if (first < last)
      make.make_image_rows(image, b, snapshots_.field.data(), choice.time(0), choice.time(1) - choice.time(0),
                           first, last - first, slots);
    made = last;
    ProductResults results;
    results.z_table = make.z_table.data();
    results.outer_table = make.outer_table.data();
    results.partial = partial.data();
    results.groups = g.groups;
    results.outers = g.outers;
    results.columns_per_coil = g.rows;
    results.piece_of_unit = pieces.of_unit + table.start[PieceTable::at(from)];
    results.snapshot_of_piece = pieces.snapshot;
    results.slots = static_cast<int>(slots);
    results.coils = static_cast<int>(coils);
    Operand samples = a.operand();
    samples.rows = w;
    launch_product(context_, kernel, samples, b.operand(), g.columns / 64, 1, results, taps * rows);
    launch(context_, instance(), "collect_samples", {blocks_of(w, 256), static_cast<unsigned>(coils)}, {256},
           0, pieces, first_piece, snapshots_.order.data(), snapshots_.weights.data(), static_cast<int>(taps),
           static_cast<int>(tiles), partial.data(), make.largest.data(), samples_, w, kspace);
    if (++chunks % chunks_between_waits == 0) context_.synchronize();
  }
}

std::vector<KernelInstance> snapshot_kernel_instances() { return {instance()}; }

}  // namespace spinloom::cuda
