#include "fourier/cuda/toeplitz_fused.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "fourier/cuda/toeplitz_spectrum.hpp"

namespace spinloom::cuda {

extern const KernelSource toeplitz_passes_source;

namespace {

/// What work may take beyond that of one coil.
constexpr Index most_work_bytes = Index{2} << 30;
/// What rows between y and x may take; fewer at a time, to stay in the L2 of a card, are no faster.
constexpr Index most_chunk_bytes = Index{512} << 20;

/// Launches know instances by their address.
const KernelInstance* kept(std::vector<std::string> defines, int minimum_architecture = 75) {
  static std::mutex guard;
  static std::map<std::string, std::unique_ptr<KernelInstance>> all;
  KernelInstance instance{&toeplitz_passes_source, std::move(defines), minimum_architecture};
  std::lock_guard lock(guard);
  auto& slot = all[instance.describe()];
  if (!slot) slot = std::make_unique<KernelInstance>(std::move(instance));
  return slot.get();
}

const KernelInstance* line_instance(const LineShape& shape, Index n, bool is_sense) {
  return kept({"LINES", fmt::format("LINE_A={}", shape.a), fmt::format("LINE_B={}", shape.b),
               fmt::format("COLUMNS={}", shape.columns()), fmt::format("LENGTH={}", n),
               fmt::format("HALVES={}", shape.halves), fmt::format("SENSE={:d}", is_sense)});
}

int row_threads(const LineShape& shape) {
  int threads = 1;
  while (threads < shape.b) threads *= 2;
  return threads;
}

std::size_t complex_bytes(Index count) { return static_cast<std::size_t>(count) * sizeof(cfloat); }

/// struct Sense of toeplitz_passes.cu, field by field.
struct Sense {
  const cfloat* maps = nullptr;
  const cfloat* image = nullptr;
  double* dots = nullptr;
  float lambda = 0;
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

/// What the system takes of a block's shared memory.
constexpr std::size_t block_reserve = 1024;

int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

std::vector<std::string> row_defines(const ToeplitzPasses& p) {
  const LineShape& x = p.shape[2];
  return {"ROWS", fmt::format("AX={}", x.a), fmt::format("BX={}", x.b), fmt::format("NX={}", p.image[2]),
          fmt::format("HALVES_X={}", x.halves)};
}

std::vector<std::string> plane_defines(const ToeplitzPasses& p) {
  const LineShape& y = p.shape[1];
  std::vector<std::string> defines = row_defines(p);
  for (const auto& define : {fmt::format("PITCH={}", p.shape[2].pitch()), fmt::format("AY={}", y.a),
                             fmt::format("BY={}", y.b), fmt::format("NY={}", p.image[1]),
                             fmt::format("HALVES_Y={}", y.halves), fmt::format("THREADS={}", p.threads)})
    defines.push_back(define);
  return defines;
}

/// Planes each in one block, if `shared_bytes` is enough for that.
bool whole_plane(ToeplitzPasses& p, std::size_t shared_bytes) {
  const LineShape &y = p.shape[1], &x = p.shape[2];
  // A line beyond the last is where idle lanes exchange.
  p.plane_shared_bytes = complex_bytes(x.table_size() + y.table_size() + Index(y.length() + 1) * x.pitch());
  if (p.plane_shared_bytes > shared_bytes) return false;
  // A thread of x holds two lots of x.a values: 128 registers are enough for 16.
  const int most = std::max(x.a, y.a) > 16 ? 256 : 512;
  p.threads = static_cast<unsigned>(std::clamp(rounded_up(y.length() * row_threads(x), 32), 32, most));
  p.plane = kept(plane_defines(p));
  return true;
}

/// Planes each in a cluster of blocks, if `shared_bytes` per block is enough with some number of them.
bool clustered_plane(ToeplitzPasses& p, std::size_t shared_bytes) {
  const LineShape &y = p.shape[1], &x = p.shape[2];
  for (const int blocks : {2, 4, 8}) {
    if (y.length() % (blocks * y.b) != 0) continue;
    const int columns = rounded_up((static_cast<int>(p.image[2]) + blocks - 1) / blocks, 16);
    p.plane_shared_bytes =
        complex_bytes(x.table_size() + y.table_size() +
                      std::max(Index(y.length() / blocks + 1) * x.pitch(), Index(y.length()) * columns));
    // A thread of y holds its values of all rounds between the stages.
    const int rounds = y.a > 16 ? 1 : 2;
    p.threads = static_cast<unsigned>(rounded_up((columns * y.b + rounds - 1) / rounds, 32));
    if (p.plane_shared_bytes > shared_bytes || p.threads > (std::max(x.a, y.a) > 16 ? 192 : 256)) continue;
    p.cluster = static_cast<unsigned>(blocks);
    std::vector<std::string> defines = plane_defines(p);
    defines.push_back(fmt::format("CLUSTER={}", blocks));
    defines.push_back(fmt::format("COLS={}", columns));
    p.plane = kept(std::move(defines), 90);
    return true;
  }
  return false;
}

/// y and x in passes of their own.
void separate_rows(ToeplitzPasses& p) {
  const LineShape& x = p.shape[2];
  p.threads = x.b <= 4 ? 128 : 256;
  p.plane_shared_bytes = complex_bytes(x.table_size() + Index(p.threads) / row_threads(x) * x.pitch());
  p.y = line_instance(p.shape[1], p.image[1], false);
  std::vector<std::string> defines = row_defines(p);
  defines.push_back(fmt::format("ROW_PITCH={}", x.pitch()));
  defines.push_back(fmt::format("THREADS={}", p.threads));
  p.plane = kept(std::move(defines));
}

unsigned blocks(Index count) { return static_cast<unsigned>(count); }

}  // namespace

std::optional<ToeplitzPasses> toeplitz_passes(const Shape& matrix, std::size_t shared_memory_bytes,
                                              bool has_clusters) {
  ToeplitzPasses p;
  for (std::size_t d = 0; d < matrix.size(); ++d) p.image[3 - matrix.size() + d] = matrix[d];
  for (std::size_t d = 0; d < 3; ++d) {
    const auto shape = line_shape(p.image[d]);
    if (!shape) return std::nullopt;
    p.shape[d] = *shape;
  }
  p.z = line_instance(p.shape[0], p.image[0], false);
  p.z_sense = line_instance(p.shape[0], p.image[0], true);
  // Two blocks on a multiprocessor, one of which computes while the other waits for memory, are best.
  const std::size_t half = shared_memory_bytes / 2 - block_reserve;
  if (whole_plane(p, half) || (has_clusters && clustered_plane(p, half)) ||
      whole_plane(p, shared_memory_bytes))
    return p;
  separate_rows(p);
  return p;
}

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
    return launch(context_, *passes_.plane, "plane", {blocks(planes * coils * passes_.cluster)},
                  {passes_.threads}, passes_.plane_shared_bytes, work, second, spectrum_.data(), coil_count,
                  static_cast<int>(planes), tables_[2].data(), tables_[1].data());

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
    const Sense sense{s.maps + coil * voxels, s.image, s.dots, s.lambda, static_cast<int>(count), coil == 0,
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

std::vector<KernelInstance> fused_toeplitz_instances() {
  std::vector<KernelInstance> all;
  // The sizes that matter most, in all three ways, and other radices with padding.
  for (const auto& [matrix, shared_bytes, has_clusters] :
       {std::tuple{Shape{128, 128, 128}, std::size_t{227} << 10, true},
        {Shape{1, 128, 128}, std::size_t{227} << 10, false},
        {Shape{1, 256, 256}, std::size_t{227} << 10, true},
        {Shape{1, 256, 256}, std::size_t{64} << 10, false},
        {Shape{5, 95, 55}, std::size_t{164} << 10, false}}) {
    const auto p = toeplitz_passes(matrix, shared_bytes, has_clusters);
    for (const KernelInstance* instance : {p->z, p->z_sense, p->y, p->plane})
      if (instance != nullptr) all.push_back(*instance);
  }
  return all;
}

}  // namespace spinloom::cuda
