#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::cuda {

/// First and last plane, from the one that is computed, in which a value is read.
struct Planes {
  int bottom = 1000, top = -1000;
  bool any() const { return bottom <= top; }
  void add(int dz) {
    bottom = std::min(bottom, dz);
    top = std::max(top, dz);
  }
};

/// A row of one read as a thread sees it: its own points, and those of the threads beside it.
struct Row {
  int read = 0, y = 0;
  std::map<int, Planes> points;  ///< by place along x, the thread's own are 0 .. V - 1
  Planes own, beside;
};

/// Prints march_planes(). The row (r, y) in the plane d planes from the one that is computed has names that end in r_y_d,
/// d and y counted from stencil::max_radius below.
class MarchPrinter {
 public:
  MarchPrinter(const stencil::Definition& d, StencilNumbers numbers, const MarchShape& s)
      : d_(d),
        s_(s),
        printer_(d, numbers, [this](int r, int dz, int dy, int dx) { return name(r, dy, dz, dx); }) {
    StencilPrinter scout(d, numbers, [&](int r, int dz, int dy, int dx) {
      Row& row = rows_[{r, dy}];
      row.read = r;
      row.y = dy;
      row.points[dx].add(dz);
      return fmt::format("{} {} {} {}", r, dz, dy, dx);
    });
    for (const stencil::Output& o : d.outputs)
      for (int y = 0; y < s.rows; ++y)
        for (int x = 0; x < s.points; ++x) scout.value(o.root, y, x);
    element_bytes_ = stencil_bytes(numbers);
    for (auto& [key, row] : rows_)
      for (const auto& [x, planes] : row.points) {
        for (const int z : {planes.bottom, planes.top}) {
          row.own.add(z);
          if (is_beside(x)) row.beside.add(z);
        }
        reach_x_ = std::max({reach_x_, -x, x - s.points + 1});
      }
    for (const auto& [key, row] : rows_) {
      const auto [newest, is_new] = newest_of_.try_emplace(row.read, row.own.top);
      if (!is_new) newest->second = std::max(newest->second, row.own.top);
    }
  }

  std::size_t shared_bytes() const { return shared_bytes_; }

  std::string print() {
    for (const auto& [key, row] : rows_) prepare(row);
    for (int y = 0; y < s_.rows; ++y) note_row(y);
    std::string all = printer_.head();
    const stencil::Reach reach = d_.view().reach();
    all +=
        "STENCIL_OP void march_planes(const StencilWork& w, int x0, int y0, Index z0, Index z1, int lane) "
        "{\n";
    all += "  const Real* const p = (const Real*)w.params;\n  const int here = max(0, (int)w.nx - x0);\n";
    all += fmt::format("  const int last = (int)(w.nx - 1 + {0}) / {1} * {1}, x = min(x0, last);\n",
                       reach.high[2], s_.points);
    for (const int y : row_offsets_)
      all += fmt::format("  const int o{} = min(y0 + {}, (int)w.ny - 1 + {}) * (int)w.row + x;\n",
                         y + stencil::max_radius, y, reach.high[1]);
    for (int m = 1; m <= packs_beside(); ++m) {
      all +=
          fmt::format("  const int left{0} = min(x0 - {1}, last) - x, right{0} = min(x0 + {1}, last) - x;\n",
                      m, m * s_.points);
      if (s_.shuffle)
        all += fmt::format(
            "  const bool is_edge{0} = lane < {0} || lane >= {1};\n  const int edge{0} = lane < {0} ? "
            "left{0} : "
            "right{0};\n",
            m, 32 - m);
    }
    if (s_.shuffle && is_narrow() && reach_x_ > 0)
      all += fmt::format("  const int near = lane < 1 ? left1 + {} : right1;\n", s_.points - 1);
    all += declared_;
    all += fmt::format("  Index z = z0 - {};\n", lead_);
    for (const auto& [r, top] : planes_)
      all += fmt::format("  const Storage* q{0}_{1} = (const Storage*)w.in[{0}] + (z + {2}) * w.plane;\n", r,
                         top + stencil::max_radius, top + ahead_of(r, top));
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      all += fmt::format("  Storage* to{0} = (Storage*)w.out[{0}] + z * w.plane;\n", o);
    all += copies_start();
    // Planes before the first one that is computed are gone through by themselves, so that the loop asks no questions.
    const std::string results = computed();
    all += fmt::format("#pragma unroll 1\n  for (; z < z0; ++z) {{\n{}  }}\n", turn(true, ""));
    return all + fmt::format("#pragma unroll {}\n  for (; z < z1; ++z) {{\n{}  }}\n}}\n", s_.unroll,
                             turn(false, results));
  }

 private:
  bool is_beside(int x) const { return x < 0 || x >= s_.points; }
  /// Of the threads beside it a thread needs one point each, and no packs.
  bool is_narrow() const { return reach_x_ <= 1; }
  int packs_beside() const { return (reach_x_ + s_.points - 1) / s_.points; }
  static std::string stem(const Row& row) {
    return fmt::format("{}_{}", row.read, row.y + stencil::max_radius);
  }
  std::string name(int r, int y, int z, int x) const {
    return fmt::format("{}{}_{}_{}_{}", is_beside(x) ? "h" : "c", r, y + stencil::max_radius,
                       z + stencil::max_radius, x + stencil::max_radius);
  }
  void declare(const std::string& type, const std::string& name) {
    declared_ += fmt::format("  {} {}{{}};\n", type, name);
  }
  /// What happens in one turn of the loop over the planes, where the first few are only loaded.
  std::string turn(bool is_first, const std::string& results) const {
    std::string all = shifted_;
    for (const auto& [key, text] : loads_) {
      std::string condition = is_first ? fmt::format("z >= z0 - {}", key.first) : "";
      if (key.second > 0) condition += fmt::format("{}z + {} < z1", is_first ? " && " : "", key.second);
      all += condition.empty() ? text : fmt::format("  if ({}) {{\n{}  }}\n", condition, text);
    }
    all += copies_turn();
    all += arrived_ + results;
    for (const auto& [r, top] : planes_)
      all += fmt::format("  q{}_{} += w.plane;\n", r, top + stencil::max_radius);
    for (std::size_t o = 0; o < d_.outputs.size(); ++o) all += fmt::format("  to{} += w.plane;\n", o);
    return all;
  }
  void note_row(int y) { row_offsets_.insert(y); }

  /// A value moves to the plane below it.
  void chain(const Row& row, int x, const Planes& planes, int top) {
    for (int z = planes.bottom; z <= top; ++z) {
      declare("Value", name(row.read, row.y, z, x));
      if (z < top)
        shifted_ += fmt::format("  {} = {};\n", name(row.read, row.y, z, x), name(row.read, row.y, z + 1, x));
    }
  }

  /// Whether what is new comes by asynchronous copies into places in shared memory that are a thread's own. Registers
  /// hold one plane to come and no more: a value that moves on waits for a load that is under way.
  bool copies() const { return s_.ahead >= 2; }
  /// Planes from the fetch to the use; with copies, what was new some planes ago comes from a cache and needs none.
  int ahead_of(int read, int top) const { return copies() && top < newest_of_.at(read) ? 0 : s_.ahead; }

  void load(const Row& row, const Planes& planes, const std::string& text) {
    const int ahead = ahead_of(row.read, planes.top), lead = planes.top + ahead - planes.bottom;
    lead_ = std::max(lead_, lead);
    planes_.insert({row.read, planes.top});
    note_row(row.y);
    loads_[{lead, ahead}] += text;
  }
  std::string from(const Row& row, int top, const std::string& beside = "") const {
    return fmt::format("q{}_{} + o{}{}", row.read, top + stencil::max_radius, row.y + stencil::max_radius,
                       beside);
  }
  /// What was fetched `ahead` planes before it arrives is kept in registers as it came.
  void queue(const Row& row, int top, const std::string& type, const std::string& stem) {
    const int ahead = ahead_of(row.read, top);
    for (int d = 0; d <= ahead; ++d) {
      declare(type, fmt::format("{}_{}", stem, d));
      if (d < ahead) shifted_ += fmt::format("  {0}_{1} = {0}_{2};\n", stem, d, d + 1);
    }
  }

  /// Asynchronous copies: places in shared memory, and what happens to them in each plane. In stencil_march.cpp.
  std::string copies_start();
  std::string copies_turn() const;
  int pack_bytes() const { return element_bytes_ * s_.points; }

  void prepare(const Row& row) {
    const std::string pack = fmt::format("Pack<Storage, {}>", s_.points), own = fmt::format("s{}", stem(row));
    const int top = row.own.top;
    for (int x = 0; x < s_.points; ++x) {
      const auto found = row.points.find(x);
      Planes planes = found == row.points.end() ? Planes{top, top} : found->second;
      if (s_.shuffle && row.beside.any()) planes.bottom = std::min(planes.bottom, row.beside.top);
      chain(row, x, planes, top);
    }
    if (copies() && top == newest_of_.at(row.read)) {
      declare(pack, own + "_0");
      load(row, row.own,
           fmt::format("    copy_async<{}>(own + (put * COPIED + {}) * STRIDE, {});\n", pack_bytes(), copied_,
                       from(row, top)));
      fetched_ +=
          fmt::format("  {}_0 = *(const {}*)(own + (get * COPIED + {}) * STRIDE);\n", own, pack, copied_);
      ++copied_;
    } else {
      queue(row, top, pack, own);
      load(row, row.own,
           fmt::format("    {}_{} = load_pack<{}>({});\n", own, ahead_of(row.read, top), s_.points,
                       from(row, top)));
    }
    for (int x = 0; x < s_.points; ++x)
      arrived_ += fmt::format("  {} = Convert<Value, Storage>::widened({}_0.at[{}]);\n",
                              name(row.read, row.y, top, x), own, x);
    if (row.beside.any()) prepare_beside(row, pack);
  }

  void prepare_beside(const Row& row, const std::string& pack) {
    const int top = row.beside.top, V = s_.points;
    for (int m = 1; m <= packs_beside(); ++m)
      for (const int side : {-1, 1}) {
        std::vector<int> places;
        for (int l = 0; l < V; ++l)
          if (row.points.count(side * m * V + l) != 0) places.push_back(side * m * V + l);
        const bool other_side = s_.shuffle && side == 1 && has(row, -m);
        if (places.empty()) continue;
        const std::string edge = fmt::format("{}{}_{}",
                                             s_.shuffle ? "e"
                                             : side < 0 ? "l"
                                                        : "r",
                                             stem(row), m);
        if (!other_side) {
          // One point of a neighbour needs no pack of it.
          queue(row, top, s_.shuffle && is_narrow() ? "Storage" : pack, edge);
          const std::string at = fmt::format(" + {}{}", s_.shuffle ? "edge" : side < 0 ? "left" : "right", m);
          const std::string condition = s_.shuffle ? fmt::format("if (is_edge{}) ", m) : "";
          if (s_.shuffle && is_narrow()) {
            load(row, row.beside,
                 fmt::format("    if (is_edge1) {}_{} = *({});\n", edge, ahead_of(row.read, top),
                             from(row, top, " + near")));
          } else if (!s_.shuffle && places.size() == 1) {
            const int l = places[0] - side * m * V;
            load(row, row.beside,
                 fmt::format("    {0}_{1}.at[{2}] = ({3})[{2}];\n", edge, ahead_of(row.read, top), l,
                             from(row, top, at)));
          } else {
            load(row, row.beside,
                 fmt::format("    {}{}_{} = load_pack<{}>({});\n", condition, edge, ahead_of(row.read, top),
                             V, from(row, top, at)));
          }
        }
        for (const int x : places) {
          const int l = x - side * m * V;
          chain(row, x, row.points.at(x), top);
          const std::string fetched =
              s_.shuffle && is_narrow()
                  ? fmt::format("Convert<Value, Storage>::widened({}_0)", edge)
                  : fmt::format("Convert<Value, Storage>::widened({}_0.at[{}])", edge, l);
          const std::string to = name(row.read, row.y, top, x);
          if (s_.shuffle)
            arrived_ += fmt::format(
                "  {0} = {1}_lane({2}, {3});\n  if ({4}) {0} = {5};\n", to, side < 0 ? "below" : "above",
                name(row.read, row.y, top, l), m,
                side < 0 ? fmt::format("lane < {}", m) : fmt::format("lane >= {}", 32 - m), fetched);
          else
            arrived_ += fmt::format("  {} = {};\n", to, fetched);
        }
      }
  }
  bool has(const Row& row, int m) const {
    for (int l = 0; l < s_.points; ++l)
      if (row.points.count(m * s_.points + l) != 0) return true;
    return false;
  }

  std::string computed() {
    std::string stores;
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      for (int y = 0; y < s_.rows; ++y) {
        std::string points;
        for (int x = 0; x < s_.points; ++x)
          points += fmt::format("{}Convert<Value, Storage>::narrowed({})", x > 0 ? ", " : "",
                                printer_.stored(d_.outputs[o].root, y, x));
        stores += fmt::format(
            "  if (y0 + {} < (int)w.ny) store_pack<{}>(to{} + o{}, Pack<Storage, {}>{{{{{}}}}}, here);\n", y,
            s_.points, o, y + stencil::max_radius, s_.points, points);
      }
    return printer_.take_statements() + stores;
  }

  const stencil::Definition& d_;
  MarchShape s_;
  StencilPrinter printer_;
  std::map<std::pair<int, int>, Row> rows_;
  int reach_x_ = 0, lead_ = 0;
  int element_bytes_ = 4;
  std::map<int, int> newest_of_;  ///< by read: the last plane that a point reads
  std::size_t shared_bytes_ = 0;
  std::set<std::pair<int, int>> planes_;  ///< a pointer for each read and topmost plane
  std::set<int> row_offsets_;
  int copied_ = 0;  ///< rows that come by asynchronous copies
  std::string fetched_;
  std::string declared_, shifted_, arrived_;
  std::map<std::pair<int, int>, std::string> loads_;  ///< by how many planes before the first one they begin
};

}  // namespace spinloom::cuda
