#include "stencil/cuda/stencil_march_printer.hpp"

namespace spinloom::cuda {

using namespace stencil;

/// Reads that neighbouring threads share get a ring; all rings turn together.
void MarchPrinter::plan_rings() {
  const int pack = std::max(1, 16 / element_bytes_);
  int lowest = 1000;
  for (const auto& [key, row] : rows_) {
    bool is_shared = row.y < 0 || row.y >= s_.rows || row.beside.any();
    for (const auto& [other_key, other] : rows_)
      is_shared =
          is_shared || (other.read == row.read && (other.y < 0 || other.y >= s_.rows || other.beside.any()));
    if (!is_shared) continue;
    Ring& ring = rings_[row.read];
    ring.above = std::max(ring.above, -row.y);
    ring.rows = std::max(ring.rows, row.y - s_.rows + 1);  // below, so far
    for (const auto& [x, planes] : row.points) {
      ring.left = std::max(ring.left, -x);
      ring.pitch = std::max(ring.pitch, x - s_.points + 1);  // right, so far
    }
    newest_ = std::max(newest_, row.own.top);
    oldest_ = std::min(oldest_, row.own.bottom);
    lowest = std::min(lowest, row.own.top);
    if (row.beside.any()) lowest = std::min(lowest, row.beside.top);
  }
  if (rings_.empty()) return;
  slots_ = newest_ - lowest + 1 + s_.ahead;
  lead_ = newest_ - oldest_;
  shared_bytes_ = 128;  // barriers
  const auto rounded = [&](int n) { return (n + pack - 1) / pack * pack; };
  for (auto& [read, ring] : rings_) {
    ring.left = std::max(rounded(ring.left), packs_beside() * s_.points);
    ring.pitch =
        s_.block_x * s_.points + ring.left + std::max(rounded(ring.pitch), packs_beside() * s_.points);
    ring.rows += s_.block_y * s_.rows + ring.above;
    ring.plane = ring.pitch * ring.rows;
    ring.offset = shared_bytes_;
    shared_bytes_ += (static_cast<std::size_t>(ring.plane * slots_ * element_bytes_) + 127) / 128 * 128;
  }
}
int MarchPrinter::slot_at_start(int top) const {
  return ((top - lead_ - oldest_) % slots_ + slots_) % slots_;
}

/// Barriers are made, and the first planes asked for.
std::string MarchPrinter::rings_start() const {
  if (rings_.empty()) return "";
  std::string all =
      "  extern __shared__ __align__(128) unsigned char shared[];\n"
      "  unsigned long long* const full = (unsigned long long*)shared;\n"
      "  const int thread = threadIdx.y * BLOCK_X + threadIdx.x;\n"
      "  if (thread < " +
      std::to_string(slots_) + ") init_barrier(full + thread);\n";
  std::string bytes, copies;
  for (const auto& [r, ring] : rings_) {
    all += fmt::format(
        "  Storage* const tile{0} = (Storage*)(shared + {1});\n"
        "  const Storage* const ring{0} = tile{0} + (threadIdx.y * {2} + {3}) * {4} + threadIdx.x * {5} + "
        "{6};\n"
        "  const int rows{0} = min({7}, (int)w.ny + {8} - tile_y0);\n"
        "  const unsigned bytes{0} = min({4}, (int)(w.nx - 1 + {9}) / {10} * {10} + {10} - tile_x0 + {6}) "
        "* {11};\n"
        "  const Storage* const source{0} = (const Storage*)w.in[{0}] - {3} * w.row + tile_y0 * w.row + "
        "tile_x0 - {6};\n",
        r, ring.offset, s_.rows, ring.above, ring.pitch, s_.points, ring.left, ring.rows,
        ring.above + d_.view().reach().high[1], d_.view().reach().high[2],
        std::max(s_.points, 16 / element_bytes_), element_bytes_);
    bytes += fmt::format("{}rows{} * bytes{}", bytes.empty() ? "" : " + ", r, r);
    copies += fmt::format(
        "    for (int row = lane; row < rows{0}; row += 32)\n"
        "      bulk_copy(tile{0} + slot * {1} + row * {2}, source{0} + plane * w.plane + row * w.row, "
        "bytes{0}, full + slot);\n",
        r, ring.plane, ring.pitch);
  }
  // A warp asks for the rows of a plane; planes go to the slots in turn.
  all += fmt::format(
      "  const auto fetch = [&](Index plane, int slot) {{\n"
      "    if (lane == 0) expect_bytes(full + slot, {});\n    __syncwarp();\n{}  }};\n"
      "  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
      "  __syncthreads();\n"
      "  const Index end = z1 + {};\n"
      "  if (thread < 32)\n    for (int d = 0; d < {}; ++d)\n      if (z0 + {} + d < end) fetch(z0 + {} + "
      "d, d);\n"
      "  int newest = 0, freed = {};\n  unsigned parity = 0;\n",
      bytes, copies, newest_, s_.ahead, oldest_, oldest_, s_.ahead % slots_);
  return all;
}
/// A plane has arrived, and one is asked for in the place of the oldest, which everybody has left.
std::string MarchPrinter::rings_turn() const {
  if (rings_.empty()) return "";
  return fmt::format(
      "  {0}{{\n"
      "  wait_for(full + newest, parity);\n"
      "  __syncthreads();\n"
      "  if (thread < 32 && z + {1} < end) fetch(z + {1}, freed);\n"
      "  if (++newest == {2}) newest = 0, parity ^= 1;\n"
      "  if (++freed == {2}) freed = 0;\n  }}\n",
      lead_ > newest_ - oldest_ ? fmt::format("if (z >= z0 - {}) ", newest_ - oldest_) : "",
      newest_ + s_.ahead, slots_);
}

}  // namespace spinloom::cuda
