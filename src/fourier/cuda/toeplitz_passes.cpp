#include "fourier/cuda/toeplitz_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace spinloom::cuda {

extern const KernelSource toeplitz_lines_source, toeplitz_plane_source, toeplitz_rows_source;

namespace {

/// Launches know instances by their address.
const KernelInstance* kept(const KernelSource& source, std::vector<std::string> defines) {
  static std::mutex guard;
  static std::map<std::string, std::unique_ptr<KernelInstance>> all;
  KernelInstance instance{&source, std::move(defines)};
  std::lock_guard lock(guard);
  auto& slot = all[instance.describe()];
  if (!slot) slot = std::make_unique<KernelInstance>(std::move(instance));
  return slot.get();
}

const KernelInstance* line_instance(const LineShape& shape, Index n, bool is_sense) {
  return kept(toeplitz_lines_source,
              {fmt::format("LINE_A={}", shape.a), fmt::format("LINE_B={}", shape.b),
               fmt::format("COLUMNS={}", shape.columns()), fmt::format("LENGTH={}", n),
               fmt::format("HALVES={}", shape.halves), fmt::format("SENSE={:d}", is_sense)});
}

int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

std::vector<std::string> row_defines(const ToeplitzPasses& p) {
  const LineShape& x = p.shape[2];
  return {fmt::format("AX={}", x.a), fmt::format("BX={}", x.b), fmt::format("NX={}", p.image[2]),
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

/// Planes in shared memory, if `shared_bytes` is enough for that.
bool whole_plane(ToeplitzPasses& p, std::size_t shared_bytes) {
  const LineShape &y = p.shape[1], &x = p.shape[2];
  p.plane_shared_bytes = complex_bytes(x.table_size() + y.table_size() + Index(y.length()) * x.pitch());
  if (p.plane_shared_bytes > shared_bytes) return false;
  // A thread of x holds two lots of x.a values: 128 registers are enough for 16.
  const int most = std::max(x.a, y.a) > 16 ? 256 : 512;
  p.threads = static_cast<unsigned>(std::clamp(rounded_up(y.length() * row_threads(x), 32), 32, most));
  p.plane = kept(toeplitz_plane_source, plane_defines(p));
  return true;
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
  p.plane = kept(toeplitz_rows_source, std::move(defines));
}

}  // namespace

int row_threads(const LineShape& shape) {
  int threads = 1;
  while (threads < shape.b) threads *= 2;
  return threads;
}

std::optional<ToeplitzPasses> toeplitz_passes(const Shape& matrix, std::size_t shared_memory_bytes) {
  ToeplitzPasses p;
  for (std::size_t d = 0; d < matrix.size(); ++d) p.image[3 - matrix.size() + d] = matrix[d];
  for (std::size_t d = 0; d < 3; ++d) {
    const auto shape = line_shape(p.image[d]);
    if (!shape) return std::nullopt;
    p.shape[d] = *shape;
  }
  p.z = line_instance(p.shape[0], p.image[0], false);
  p.z_sense = line_instance(p.shape[0], p.image[0], true);
  if (!whole_plane(p, shared_memory_bytes)) separate_rows(p);
  return p;
}

std::vector<KernelInstance> fused_toeplitz_instances() {
  std::vector<KernelInstance> all;
  // The sizes that matter most, in both ways, and other radices with padding.
  for (const Shape& matrix : {Shape{128, 128, 128}, Shape{1, 256, 256}, Shape{5, 95, 55}}) {
    const auto p = toeplitz_passes(matrix, std::size_t{227} << 10);
    for (const KernelInstance* instance : {p->z, p->z_sense, p->y, p->plane})
      if (instance != nullptr) all.push_back(*instance);
  }
  return all;
}

}  // namespace spinloom::cuda
