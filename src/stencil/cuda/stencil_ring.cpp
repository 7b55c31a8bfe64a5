#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::cuda {

using namespace stencil;

extern const KernelSource stencil_ring_source;

namespace {

/// Prints march_planes() for stencil_ring.cu. In the turn for plane z of the results the plane z + top of each read is the
/// newest one, and the only one that is in reach: what is needed of older ones is carried in registers, as sums as far as
/// they are known by then.
class RingPrinter {
 public:
  RingPrinter(const Definition& d, StencilNumbers numbers, const MarchShape& s)
      : d_(d),
        s_(s),
        element_bytes_(stencil_bytes(numbers)),
        printer_(
            d, numbers, [this](int r, int, int y, int x) { return access(r, y, x); },
            [this](int r, int z) { return tiles_.at(r).top - z; }) {
    StencilPrinter scout(d, numbers, [&](int r, int z, int y, int x) {
      Tile& tile = tiles_[r];
      tile.top = std::max(tile.top, z);
      tile.bottom = std::min(tile.bottom, z);
      tile.above = std::max(tile.above, -y);
      tile.below = std::max(tile.below, y - s.rows + 1);
      tile.left = std::max(tile.left, -x);
      tile.right = std::max(tile.right, x - s.points + 1);
      return fmt::format("{} {} {} {}", r, z, y, x);
    });
    scout.hand_over(s.handed, s.points);
    printer_.hand_over(s.handed, s.points);
    for (const Output& o : d.outputs)
      for (int y = 0; y < s.rows; ++y)
        for (int x = 0; x < s.points; ++x) scout.value(o.root, y, x);
    std::size_t offset = 128;  // of the barriers
    for (auto& [r, tile] : tiles_) {
      reach_x_ = std::max({reach_x_, tile.left, tile.right});
      lead_ = std::max(lead_, tile.top - tile.bottom);
      const int unit = std::max(s.points, 16 / element_bytes_);
      const auto rounded = [&](int n) { return (n + unit - 1) / unit * unit; };
      tile.left = rounded(tile.left);
      tile.pitch = tile.left + s.block_x * s.points + rounded(tile.right);
      tile.rows = tile.above + s.block_y * s.rows + tile.below;
      tile.offset = offset;
      offset += slots() * plane_bytes(tile);
    }
    shared_bytes_ = offset + 128;  // lanes at an edge may look past the last row
    for (const auto& [r, tile] : tiles_)
      if (tile.pitch * element_bytes_ / 4 > longest_box) word_bytes_ = 8;
  }

  std::size_t shared_bytes() const { return shared_bytes_; }
  std::vector<MarchKernel::Box> boxes() const { return boxes_; }
  int word_bytes() const { return word_bytes_; }

  std::string print() {
    const std::string results = computed();
    std::string all = printer_.head();
    all += fmt::format(
        "STENCIL_OP void march_planes(const StencilWork& w, const Boxes& b, int tile_x0, int tile_y0, Index "
        "z0, "
        "Index z1, int lane) {{\n"
        "  const int x0 = tile_x0 + threadIdx.x * {0}, y0 = tile_y0 + threadIdx.y * {1};\n"
        "  const Real* const p = (const Real*)w.params;\n"
        "  const int planes = (int)(z1 - z0), here = {3}max(0, (int)w.nx - x0);\n"
        "  const bool is_whole = here >= {0} && y0 + {1} <= (int)w.ny;\n"
        "  constexpr int slots = {2};\n"
        "  extern __shared__ __align__(128) unsigned char shared[];\n"
        "  Ring<slots>& ring = *(Ring<slots>*)shared;\n",
        s_.points, s_.rows, slots(),
        s_.edge > 0 ? fmt::format("lane < {} || lane >= {} ? 0 : ", s_.edge, 32 - s_.edge) : "");
    if (is_narrow())
      all += fmt::format(
          "  const int near = lane == 31 ? {0} : -1 - lane * {0};  // for all lanes but the last what the "
          "first one needs\n",
          s_.points);
    all += fetching();
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      all += fmt::format(
          "  Storage* to{0} = (Storage*)w.out[{0}] + (z0 - {1}) * w.plane + (Index)y0 * w.row + x0;\n", o,
          lead_);
    all += printer_.carried();
    const std::string turn = "    ring.wait(slot, parity);\n" + places_ + results + printer_.moves();
    // Planes before the first one that is computed are gone through as well; nothing is stored.
    return all + fmt::format(
                     "  int slot = 0;\n  unsigned parity = 0;\n"
                     "#pragma unroll {0}\n"
                     "  for (int z = -{1}; z < planes; ++z) {{\n{2}"
                     "    if (++slot == slots) slot = 0, parity ^= 1;\n  }}\n}}\n",
                     s_.unroll, lead_, turn);
  }

 private:
  /// What a block has of a plane of one read: its own points with what is read around them.
  struct Tile {
    int bottom = 1000, top = -1000;
    int left = 0, right = 0, above = 0, below = 0;
    int rows = 0, pitch = 0;
    std::size_t offset = 0;
  };

  int slots() const { return s_.ahead + 1; }
  std::size_t plane_bytes(const Tile& t) const {
    return static_cast<std::size_t>(t.rows * t.pitch * element_bytes_ + 127) / 128 * 128;
  }
  /// Of the threads beside it a thread needs one point each: those are asked of their lanes.
  bool is_narrow() const { return reach_x_ == 1; }

  static std::string stem(int r, int y) { return fmt::format("{}_{}", r, y + max_radius); }

  /// A pack of a row in the newest plane, `m` packs from the thread's own.
  std::string pack(int r, int y, int m) {
    const std::string name = fmt::format("s{}_{}", stem(r, y), m + max_radius);
    if (packs_.insert(name).second)
      printer_.say(fmt::format("    const Pack<Storage, {0}> {1} = load_pack<{0}>(at{2} + {3});\n", s_.points,
                               name, r, y * tiles_.at(r).pitch + m * s_.points));
    return name;
  }

  std::string access(int r, int y, int x) {
    const int V = s_.points, m = (x + max_radius * V) / V - max_radius, l = x - m * V;
    const auto widened = [](const std::string& text) {
      return fmt::format("Convert<Value, Storage>::widened({})", text);
    };
    if (m == 0 || !is_narrow()) return widened(fmt::format("{}.at[{}]", pack(r, y, m), l));
    const std::string edge = fmt::format("e{}", stem(r, y));
    if (packs_.insert(edge).second)
      printer_.say(fmt::format("    const Storage {} = beside{}[{}];\n", edge, r, y * tiles_.at(r).pitch));
    return fmt::format("choose(lane == {}, {}, {}_lane({}, 1))", m < 0 ? 0 : 31, widened(edge),
                       m < 0 ? "below" : "above", widened(fmt::format("{}.at[{}]", pack(r, y, 0), l)));
  }

  /// How a thread asks for a turn's planes.
  std::string fetching() {
    std::string bytes, copies;
    for (const auto& [r, t] : tiles_) {
      boxes_.push_back({r, t.pitch * element_bytes_ / word_bytes_, t.rows});
      places_ += fmt::format(
          "    const Storage* const at{0} = (const Storage*)(shared + {1} + slot * {2}) + (threadIdx.y * {3} "
          "+ "
          "{4}) * {5} + threadIdx.x * {6} + {7};\n",
          r, t.offset, plane_bytes(t), s_.rows, t.above, t.pitch, s_.points, t.left);
      if (is_narrow()) places_ += fmt::format("    const Storage* const beside{0} = at{0} + near;\n", r);
      const int late = lead_ - (t.top - t.bottom);  // turns without it
      const std::string wanted = late > 0 ? fmt::format("z >= {}", t.bottom - t.top) : "";
      bytes += fmt::format("{}{}{}", bytes.empty() ? "" : " + ",
                           late > 0 ? fmt::format("({}) * ", wanted) : "", t.pitch * element_bytes_ * t.rows);
      copies += fmt::format(
          "    {0}copy_box(shared + {1} + slot * {2}, b.map[{3}], (tile_x0 - {4}) * {5} / {8} + b.x, tile_y0 "
          "- "
          "{6} + "
          "b.y, first + z + {7}, ring.full + slot);\n",
          late > 0 ? fmt::format("if ({}) ", wanted) : "", t.offset, plane_bytes(t), r, t.left,
          element_bytes_, t.above, t.top, word_bytes_);
    }
    return fmt::format(
        "  const int first = (int)z0 + b.z;\n"
        "  const auto fetch = [&](int z, int slot) {{\n"
        "    expect_bytes(ring.full + slot, {0});\n{1}  }};\n"
        "  ring.start();\n"
        "  if (threadIdx.x == 0 && threadIdx.y == 0)\n"
        "    for (int d = 0; d < slots; ++d)\n      if (d - {2} < planes) fetch(d - {2}, d);\n",
        bytes, copies, lead_);
  }

  std::string computed() {
    std::string whole, stores;
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      for (int y = 0; y < s_.rows; ++y) {
        std::string points;
        for (int x = 0; x < s_.points; ++x)
          points += fmt::format("{}Convert<Value, Storage>::narrowed({})", x > 0 ? ", " : "",
                                printer_.stored(d_.outputs[o].root, y, x));
        const std::string pack =
            fmt::format("store_pack<{1}>(to{2} + {0} * (int)w.row, Pack<Storage, {1}>{{{{{3}}}}}", y,
                        s_.points, o, points);
        whole += fmt::format("      {}, {});\n", pack, s_.points);
        stores += fmt::format("      if (y0 + {} < (int)w.ny) {}, here);\n", y, pack);
      }
    stores = fmt::format("    if (z >= 0 && is_whole) {{\n{}    }} else if (z >= 0) {{\n{}    }}\n", whole,
                         stores);
    for (std::size_t o = 0; o < d_.outputs.size(); ++o) stores += fmt::format("    to{} += w.plane;\n", o);
    return printer_.take_statements() +
           "    __syncwarp();\n"
           "    if (lane == 0 && ring.is_last(slot) && z + slots < planes) fetch(z + slots, slot);\n" +
           stores;
  }

  const Definition& d_;
  MarchShape s_;
  static constexpr int longest_box = 256;  ///< words of a row
  int element_bytes_, word_bytes_ = 4;
  std::map<int, Tile> tiles_;  ///< by read
  StencilPrinter printer_;
  int reach_x_ = 0;
  int lead_ = 0;  ///< turns before the first result
  std::size_t shared_bytes_ = 0;
  std::set<std::string> packs_;
  std::string places_;
  std::vector<MarchKernel::Box> boxes_;
};

}  // namespace

MarchKernel ring_kernel(const Definition& definition, StencilNumbers numbers, const MarchShape& s) {
  RingPrinter printer(definition, numbers, s);
  const std::string text = printer.print();
  std::vector<std::string> constants = march_constants(s);
  constants.push_back(fmt::format("EDGE={}", s.edge * s.points));
  return {&stencil_instance(stencil_ring_source, definition, text, constants, 90), printer.shared_bytes(),
          printer.boxes(), printer.word_bytes()};
}

}  // namespace spinloom::cuda
