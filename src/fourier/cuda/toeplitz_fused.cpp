#include "fourier/cuda/toeplitz_fused.hpp"

#include <algorithm>

#include "fourier/cuda/toeplitz_spectrum.hpp"

namespace spinloom::cuda {

namespace {

/// What work may take beyond that of one coil.
constexpr Index most_work_bytes = Index{2} << 30;
/// What rows between y and x may take; fewer at a time, to stay in the L2 of a card, are no faster.
constexpr Index most_chunk_bytes = Index{512} << 20;

/// struct Sense of toeplitz_lines.cu, field by field.
struct Sense {
  const cfloat* maps = nullptr;
  const cfloat* image = nullptr;
  double* dots = nullptr;
  float scale = 1, lambda = 0;
  int coils = 0, is_first = 1, is_last = 1;
};

/// One half of a block's lines.
std::size_t line_shared_bytes(const LineShape& shape) {
  return complex_bytes(shape.columns() * shape.length());
}
Grid line_threads(const LineShape& shape) { return {static_cast<unsigned>(shape.columns() * shape.b)}; }
Index line_groups(const LineShape& shape, Index columns) {
  return (columns + shape.columns() - 1) / shape.columns();
}

Index coils_at_once(const ToeplitzPasses& p, Index coils) {
  return std::clamp<Index>(most_work_bytes / (p.coil_work() * Index(sizeof(cfloat))), 1, coils);
}

Index planes_at_once(const ToeplitzPasses& p, Index coils) {
  const Index bytes = coils * p.shape[1].cells() * p.image[2] * static_cast<Index>(sizeof(cfloat));
  return std::clamp<Index>(most_chunk_bytes / bytes, 1, p.z_cells());
}

unsigned blocks(Index count) { return static_cast<unsigned>(count); }

}  // namespace

FusedToeplitz::FusedToeplitz(const ToeplitzPasses& passes, Index coils, const Array<float>& spectrum,
                             Device device)
    : context_(context(device.index)),
      passes_(passes),
      coils_(coils),
      spectrum_({passes.spectrum_size()}, device) {
  for (std::size_t d = 0; d < 3; ++d) tables_[d] = line_table(passes_.shape[d], device);
  pack_spectrum(context_, passes_.shape, spectrum.data(), spectrum_.data());
}

Index FusedToeplitz::dot_count() const { return line_groups(passes_.shape[0], passes_.plane_voxels()); }

std::size_t FusedToeplitz::work_bytes(const ToeplitzPasses& p, Index coils) {
  const Index at_once = coils_at_once(p, coils), work = at_once * p.coil_work();
  const Index second =
      p.y == nullptr ? work : at_once * planes_at_once(p, at_once) * p.shape[1].cells() * p.image[2];
  return complex_bytes(work + second);
}

void FusedToeplitz::convolve_planes(Index coils, cfloat* work) const {
  const Index planes = passes_.z_cells();
  cfloat* const second = work + coils * passes_.coil_work();
  const int coil_count = static_cast<int>(coils);
  if (passes_.y == nullptr)
    return launch(context_, *passes_.plane, "plane", {blocks(planes * coils)}, {passes_.threads},
                  passes_.plane_shared_bytes, work, second, static_cast<const float*>(spectrum_.data()),
                  coil_count, static_cast<int>(planes), static_cast<const cfloat*>(tables_[2].data()),
                  static_cast<const cfloat*>(tables_[1].data()));

  const Index nx = passes_.image[2], groups = line_groups(passes_.shape[1], nx),
              rows = passes_.shape[1].cells();
  const Grid line_block = line_threads(passes_.shape[1]);
  const std::size_t line_shared = line_shared_bytes(passes_.shape[1]);
  const Index rows_per_block = passes_.threads / static_cast<unsigned>(row_threads(passes_.shape[2]));
  for (Index first = 0; first < planes; first += planes_at_once(passes_, coils)) {
    const Index count = std::min(planes_at_once(passes_, coils), planes - first);
    cfloat* const here = work + first * passes_.plane_voxels();
    // Batches are planes of coils, in `work` a coil's planes apart.
    launch(context_, *passes_.y, "line_forward", {blocks(groups * count * coils)}, line_block, line_shared,
           const_cast<const cfloat*>(here), passes_.plane_voxels(), static_cast<int>(count),
           passes_.coil_work(), second, nx, Sense{}, tables_[1].data());
    launch(context_, *passes_.plane, "rows",
           {blocks((count * rows + rows_per_block - 1) / rows_per_block * coils)}, {passes_.threads},
           passes_.plane_shared_bytes, second, spectrum_.data() + first * rows * passes_.row_spectrum(),
           coil_count, static_cast<int>(count * rows), tables_[2].data());
    launch(context_, *passes_.y, "line_inverse", {blocks(groups * count * coils)}, line_block, line_shared,
           const_cast<const cfloat*>(second), here, passes_.plane_voxels(), static_cast<int>(count),
           passes_.coil_work(), nx, Sense{}, tables_[1].data());
  }
}

void FusedToeplitz::apply(const cfloat* x, cfloat* y, std::byte* work_memory) const {
  cfloat* const work = reinterpret_cast<cfloat*>(work_memory);
  const Index columns = passes_.plane_voxels(), voxels = passes_.voxels();
  const Grid block = line_threads(passes_.shape[0]);
  const std::size_t shared = line_shared_bytes(passes_.shape[0]);
  for (Index coil = 0; coil < coils_;) {
    const Index count = std::min(coils_at_once(passes_, coils_), coils_ - coil);
    launch(context_, *passes_.z, "line_forward", {blocks(dot_count() * count)}, block, shared,
           x + coil * voxels, voxels, 1, voxels, work, columns, Sense{}, tables_[0].data());
    convolve_planes(count, work);
    launch(context_, *passes_.z, "line_inverse", {blocks(dot_count() * count)}, block, shared,
           const_cast<const cfloat*>(work), y + coil * voxels, voxels, 1, voxels, columns, Sense{},
           tables_[0].data());
    coil += count;
  }
}

void FusedToeplitz::apply(const ToeplitzSense<float>& s, std::byte* work_memory) const {
  cfloat* const work = reinterpret_cast<cfloat*>(work_memory);
  const Index columns = passes_.plane_voxels(), voxels = passes_.voxels();
  const Grid block = line_threads(passes_.shape[0]);
  const std::size_t shared = line_shared_bytes(passes_.shape[0]);
  for (Index coil = 0; coil < coils_;) {
    const Index count = std::min(coils_at_once(passes_, coils_), coils_ - coil);
    const Sense sense{
        s.maps + coil * voxels, s.image, s.dots, s.scale, s.lambda, static_cast<int>(count), coil == 0,
        coil + count == coils_};
    // Every coil reads the same image.
    launch(context_, *passes_.z_sense, "line_forward", {blocks(dot_count() * count)}, block, shared, s.image,
           Index{0}, 1, Index{0}, work, columns, sense, tables_[0].data());
    convolve_planes(count, work);
    launch(context_, *passes_.z_sense, "line_inverse", {blocks(dot_count())}, block, 2 * shared,
           const_cast<const cfloat*>(work), s.out, Index{0}, 1, Index{0}, columns, sense, tables_[0].data());
    coil += count;
  }
}

}  // namespace spinloom::cuda
