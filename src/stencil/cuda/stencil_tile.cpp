#include "stencil/cuda/stencil_tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_tile_source;

using namespace stencil;

namespace {

/// Prints tile_points(). Values are named after their read and place; places are counted from max_radius below.
class TilePrinter {
 public:
  TilePrinter(const Definition& d, StencilNumbers numbers, const TileShape& s)
      : d_(d),
        s_(s),
        element_bytes_(stencil_bytes(numbers)),
        printer_(d, numbers, [](int r, int z, int y, int x) { return name(r, z, y, x); }) {
    StencilPrinter scout(d, numbers, [&](int r, int z, int y, int x) {
      rows_[{r, z, y}].insert(x);
      reach_x_ = std::max({reach_x_, -x, x - s.points + 1});
      return name(r, z, y, x);
    });
    each_point([&](const Output& o, int z, int y, int x) { scout.value(o.root, y, x, z); });
  }

  std::string print() {
    const Reach reach = d_.view().reach();
    std::set<int> rows;
    for (const auto& [key, places] : rows_) rows.insert(std::get<2>(key));
    for (int y = 0; y < s_.rows; ++y) rows.insert(y);
    std::string all = printer_.head();
    all +=
        "STENCIL_OP void tile_points(const StencilWork& w, int x0, int y0, Index z0, int lane) {\n"
        "  const Real* const p = (const Real*)w.params;\n  const int here = max(0, (int)w.nx - x0);\n";
    all += fmt::format("  const int last = (int)(w.nx - 1 + {0}) / {1} * {1}, x = min(x0, last);\n",
                       reach.high[2], s_.points);
    // A plane's base is the same for all threads, and what is added for one of them has 32 bits where that will do.
    std::set<std::pair<int, int>> bases;
    for (const auto& [key, places] : rows_) bases.insert({std::get<0>(key), std::get<1>(key)});
    for (const auto& [r, z] : bases)
      all += fmt::format(
          "  const char* const b{0}_{1} = (const char*)((const Storage*)w.in[{0}] + min(z0 + {2}, w.nz - 1 + "
          "{3}) * "
          "w.plane - {4} * w.row) - 128;\n",
          r, z + max_radius, z, reach.high[0], reach.low[1]);
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      for (int z = 0; z < s_.depth; ++z)
        all += fmt::format(
            "  char* const to{0}_{1} = (char*)((Storage*)w.out[{0}] + (z0 + {1}) * w.plane - {2} * w.row) - "
            "128;\n",
            o, z, reach.low[1]);
    for (const int y : rows)
      all += fmt::format(
          "  const Offset row{} = ((Offset)(min(y0 + {}, (int)w.ny - 1 + {}) + {}) * (int)w.row + x) * {} + "
          "128;\n",
          y + max_radius, y, reach.high[1], reach.low[1], element_bytes_);
    for (int m = 1; m <= packs_beside(); ++m) {
      all +=
          fmt::format("  const int left{0} = min(x0 - {1}, last) - x, right{0} = min(x0 + {1}, last) - x;\n",
                      m, m * s_.points);
      if (s_.shuffle)
        all += fmt::format(
            "  const bool is_edge{0} = lane < {0} || lane >= {1};\n  const int edge{0} = lane < {0} ? "
            "left{0} : right{0};\n",
            m, 32 - m);
    }
    if (s_.shuffle && is_narrow() && reach_x_ > 0)
      all += fmt::format("  const int near = lane < 1 ? left1 + {} : right1;\n", s_.points - 1);
    for (const auto& [key, places] : rows_) all += loaded(key, places);
    all += values_;
    std::string stores;
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      for (int z = 0; z < s_.depth; ++z)
        for (int y = 0; y < s_.rows; ++y) {
          std::string points;
          for (int x = 0; x < s_.points; ++x)
            points += fmt::format("{}Convert<Value, Storage>::narrowed({})", x > 0 ? ", " : "",
                                  printer_.stored(d_.outputs[o].root, y, x, z));
          stores += printer_.take_statements();
          stores += fmt::format(
              "  if (z0 + {0} < w.nz && y0 + {1} < (int)w.ny)\n    store_pack<{2}>((Storage*)(to{3}_{0} + "
              "row{4}), "
              "Pack<Storage, {2}>{{{{{5}}}}}, here);\n",
              z, y, s_.points, o, y + max_radius, points);
        }
    return all + stores + "}\n";
  }

 private:
  using Key = std::tuple<int, int, int>;  ///< read, z, y

  template <class F>
  void each_point(const F& f) {
    for (const Output& o : d_.outputs)
      for (int z = 0; z < s_.depth; ++z)
        for (int y = 0; y < s_.rows; ++y)
          for (int x = 0; x < s_.points; ++x) f(o, z, y, x);
  }
  static std::string name(int r, int z, int y, int x) {
    return fmt::format("c{}_{}_{}_{}", r, z + max_radius, y + max_radius, x + max_radius);
  }
  /// Of the threads beside it a thread needs one point each, and no packs.
  bool is_narrow() const { return reach_x_ <= 1; }
  int packs_beside() const { return (reach_x_ + s_.points - 1) / s_.points; }
  void value(const Key& key, int x, const std::string& text) {
    const auto& [r, z, y] = key;
    values_ += fmt::format("  const Value {} = {};\n", name(r, z, y, x), text);
  }
  static std::string widened(const std::string& text) {
    return fmt::format("Convert<Value, Storage>::widened({})", text);
  }

  /// Loads of a row; what they hold is made values of after all loads.
  std::string loaded(const Key& key, const std::set<int>& places) {
    const auto& [r, z, y] = key;
    const int V = s_.points;
    const std::string stem = fmt::format("{}_{}_{}", r, z + max_radius, y + max_radius);
    std::string all = fmt::format("  const Storage* const q{} = (const Storage*)(b{}_{} + row{});\n", stem, r,
                                  z + max_radius, y + max_radius);
    all += fmt::format("  const Pack<Storage, {0}> s{1} = load_pack<{0}>(q{1});\n", V, stem);
    for (int x = 0; x < V; ++x) value(key, x, widened(fmt::format("s{}.at[{}]", stem, x)));
    for (int m = 1; m <= packs_beside(); ++m) {
      bool has_edge = false;
      for (const int side : {-1, 1})
        for (int l = 0; l < V; ++l) {
          const int x = side * m * V + l;
          if (places.count(x) == 0) continue;
          if (!s_.shuffle) {
            const std::string fetched = fmt::format("b{}_{}", stem, x + max_radius);
            all += fmt::format("  const Storage {} = q{}[{}{} + {}];\n", fetched, stem,
                               side < 0 ? "left" : "right", m, l);
            value(key, x, widened(fetched));
            continue;
          }
          if (!has_edge && is_narrow())
            all += fmt::format("  Storage e{0}_1{{}};\n  if (is_edge1) e{0}_1 = q{0}[near];\n", stem);
          else if (!has_edge)
            all += fmt::format(
                "  Pack<Storage, {0}> e{1}_{2}{{}};\n  if (is_edge{2}) e{1}_{2} = load_pack<{0}>(q{1} + "
                "edge{2});\n",
                V, stem, m);
          has_edge = true;
          value(key, x,
                fmt::format("choose({} {}, {}, {}_lane({}, {}))",
                            side < 0 ? "lane <" : "lane >=", side < 0 ? m : 32 - m,
                            widened(is_narrow() ? fmt::format("e{}_1", stem)
                                                : fmt::format("e{}_{}.at[{}]", stem, m, l)),
                            side < 0 ? "below" : "above", name(r, z, y, l), m));
        }
    }
    return all;
  }

  const Definition& d_;
  TileShape s_;
  int element_bytes_;
  StencilPrinter printer_;
  std::map<Key, std::set<int>> rows_;
  int reach_x_ = 0;
  std::string values_;
};

}  // namespace

const KernelInstance& tile_instance(const Definition& definition, StencilNumbers numbers,
                                    const TileShape& s) {
  return stencil_instance(
      stencil_tile_source, definition, TilePrinter(definition, numbers, s).print(),
      {fmt::format("BLOCK_X={}", s.block_x), fmt::format("BLOCK_Y={}", s.block_y),
       fmt::format("ROWS={}", s.rows), fmt::format("POINTS={}", s.points), fmt::format("DEPTH={}", s.depth),
       fmt::format("BLOCKS={}", s.blocks), fmt::format("WIDE={}", s.wide ? 1 : 0)});
}

}  // namespace spinloom::cuda
