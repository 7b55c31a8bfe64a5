#include "nlm/cuda/nlm_tile_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nlm/cuda/nlm_pairs.hpp"

namespace spinloom::cuda {

extern const KernelSource nlm_tile_source, nlm_march_source, nlm_decide_source;

namespace {

bool in_parts(const NlmProblem& p) {
  return p.axes == 3 && p.shifts() > 50 * std::min<Index>(7, 2 * p.distance[3] + 1);
}

}  // namespace

template <class Real>
std::size_t shared_bytes(const NlmProblem& p, const TileShape& s) {
  const Roles r(p);
  const Index tile_x = s.columns * s.warps_x, tile_y = s.rows * s.warps_y;
  const Index own_x = tile_x + p.samples(r.x) - 1, own_y = tile_y + p.samples(r.y) - 1;
  const Index size_x = own_x + 2 * p.distance[r.x], size_y = own_y + s.span_y - 1;
  const bool is_whole = s.span_y == 2 * p.distance[r.y] + 1 && s.span_z == 2 * p.distance[r.z] + 1;
  const Index step_x = (32 + s.span_z - 1) | 1;
  Index elements = (size_x * size_y + 1) * step_x + 8;
  if (!is_whole) elements += own_x * own_y * 33 + 8;
  elements = (elements + 1) / 2 * 2;
  if (s.shared_sums) elements += 2 * 32 * s.warps_x * s.warps_y * s.rows * s.columns;
  return static_cast<std::size_t>(std::max(elements, tile_x * tile_y * 33)) * sizeof(Real);
}

namespace {

/// The largest part of a search that fits, first in planes, then in rows; none if not even one row does.
template <class Real>
bool fit_spans(const NlmProblem& p, std::size_t most_bytes, TileShape& s) {
  const Roles r(p);
  s.span_y = 2 * p.distance[r.y] + 1;
  for (s.span_z = 2 * p.distance[r.z] + 1; s.span_z > 1; --s.span_z)
    if (shared_bytes<Real>(p, s) <= most_bytes) return true;
  for (; s.span_y > 0; --s.span_y)
    if (shared_bytes<Real>(p, s) <= most_bytes) return true;
  return false;
}

/// Measured on an H200: code of 16 kB or less keeps the instruction cache, and 16 warps hide most waits.
template <class Real>
TileShape wanted_shape(const NlmProblem& p, bool in_pairs) {
  const Index samples = p.samples(3);
  const bool is_double = std::is_same_v<Real, double>;
  if (in_pairs) {
    if (p.axes == 2) return {2, 1, 8, 1, 1, 1, 0, 0, true, false, true};
    return {2, 4, 4, 2, 1, 1, 0, 0, true, false, true};
  }
  if (p.axes == 2) return {4, 1, 8, 1, 1, 2, 0, 0, false, false};
  if (is_double) return {2, 4, 4, 2, 4, samples > 2 ? 1 : 2, 0, 0, false, false};
  if (p.mode == NlmMode::classic && samples == 3 && p.samples(2) <= 3)
    return {3, 6, 4, 2, 3, 2, 0, 0, true, false};
  if (p.mode == NlmMode::classic) return {2, 4, 4, 2, 4, samples > 3 ? 1 : 2, 0, 0, false, false};
  if (samples == 2) return {3, 6, 2, 2, 6, 4, 0, 0, false, false};
  if (samples == 4) return {2, 4, 4, 2, 4, 2, 0, 0, false, false};
  return {4, 4, 4, 2, 1, 1, 0, 0, true, false};
}

/// Rows as a loop, for patches of four samples: with the whole search in shared memory, or not at all.
template <class Real>
bool choose_march(std::size_t most, const NlmProblem& p, TileShape& s) {
  const Roles r(p);
  constexpr Index most_shifts = 13;  // along x, of which the registers hold the rows
  if (!std::is_same_v<Real, float> || p.mode != NlmMode::fast || p.axes != 3 || p.samples(r.x) != 4 ||
      p.samples(r.y) != 4 || 2 * p.distance[r.x] + 1 > most_shifts)
    return false;
  for (const Index warps_y : {2, 1})
    for (Index rows = 10; rows >= 6; rows -= 2) {
      s = {3, rows, 4, warps_y, 2, 1, 2 * p.distance[r.y] + 1, 2 * p.distance[r.z] + 1, true, true};
      if (shared_bytes<Real>(p, s) <= most) return true;
    }
  return false;
}

}  // namespace

template <class Real>
bool choose_tile(const DeviceFacts& card, const NlmProblem& p, bool in_pairs, TileShape& s) {
  const std::size_t most = card.shared_memory_bytes;
  if (choose_march<Real>(most, p, s)) return true;
  constexpr std::size_t of_a_block = 1024;  // that the driver keeps for itself
  s = wanted_shape<Real>(p, in_pairs);
  for (;;) {
    const std::size_t share = (most + of_a_block) / static_cast<std::size_t>(s.blocks) - of_a_block;
    if (fit_spans<Real>(p, share, s)) return true;
    if (s.blocks > 1)
      s.blocks = 1;
    else if (s.warps_y > 1)
      s.warps_y /= 2;
    else if (s.warps_x > 1)
      s.warps_x /= 2;
    else
      return false;
  }
}

namespace {

template <class Real>
const KernelInstance& instance_of(const KernelSource& source, const NlmProblem& p, const TileShape& s) {
  const Roles r(p);
  const bool is_classic = p.mode == NlmMode::classic;
  std::vector<std::string> defines = {
      real_define<Real>(s.pairs), fmt::format("CLASSIC={:d}", is_classic),
      fmt::format("CHAINED={:d}", !is_classic && std::is_same_v<Real, float>),
      fmt::format("IN_PARTS={:d}", in_parts(p)),
      fmt::format("FIRST_LANE={}", is_classic || s.marches ? -p.first_sample(r.z) : 0)};
  for (const auto& [name, axis] : {std::pair{'X', r.x}, {'Y', r.y}, {'Z', r.z}}) {
    defines.push_back(fmt::format("N{}={}", name, p.samples(axis)));
    defines.push_back(fmt::format("F{}={}", name, p.first_sample(axis)));
    defines.push_back(fmt::format("D{}={}", name, p.distance[axis]));
  }
  const std::pair<const char*, Index> numbers[] = {
      {"COLUMNS", s.columns}, {"ROWS", s.rows},     {"WARPS_X", s.warps_x},
      {"WARPS_Y", s.warps_y}, {"UNROLL", s.unroll}, {"BLOCKS", s.blocks},
      {"SPAN_Y", s.span_y},   {"SPAN_Z", s.span_z}, {"SHARED_SUMS", s.shared_sums}};
  for (const auto& [name, number] : numbers) defines.push_back(fmt::format("{}={}", name, number));
  if (s.pairs) defines.push_back("PAIRS=1");
  return kept_instance(source, std::move(defines));
}

}  // namespace

template <class Real>
const KernelInstance& tile_instance(const NlmProblem& p, const TileShape& s) {
  return instance_of<Real>(s.marches ? nlm_march_source : nlm_tile_source, p, s);
}

const KernelInstance& decide_instance(const NlmProblem& p, const TileShape& s) {
  return instance_of<float>(nlm_decide_source, p, s);
}

#define SPINLOOM_INSTANTIATE(Real)                                                          \
  template std::size_t shared_bytes<Real>(const NlmProblem&, const TileShape&);             \
  template bool choose_tile<Real>(const DeviceFacts&, const NlmProblem&, bool, TileShape&); \
  template const KernelInstance& tile_instance<Real>(const NlmProblem&, const TileShape&);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
