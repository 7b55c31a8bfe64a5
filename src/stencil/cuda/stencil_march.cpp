#include "stencil/cuda/stencil_march.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_march_source;

using namespace stencil;

namespace {

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
/// d and y counted from max_radius below.
class MarchPrinter {
 public:
  MarchPrinter(const Definition& d, StencilNumbers numbers, const MarchShape& s)
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
    for (const Output& o : d.outputs)
      for (int y = 0; y < s.rows; ++y)
        for (int x = 0; x < s.points; ++x) scout.value(o.root, y, x);
    for (auto& [key, row] : rows_)
      for (const auto& [x, planes] : row.points) {
        for (const int z : {planes.bottom, planes.top}) {
          row.own.add(z);
          if (is_beside(x)) row.beside.add(z);
        }
        reach_x_ = std::max({reach_x_, -x, x - s.points + 1});
      }
  }

  std::string print() {
    for (const auto& [key, row] : rows_) prepare(row);
    for (int y = 0; y < s_.rows; ++y) note_row(y);
    std::string all = printer_.head();
    all +=
        "STENCIL_OP void march_planes(const StencilWork& w, int x0, int y0, Index z0, Index z1, int lane) "
        "{\n";
    all += "  const Real* const p = (const Real*)w.params;\n";
    all += fmt::format("  const int last = (int)(w.nx - 1 + {}) / {} * {}, x = min(x0, last);\n",
                       d_.view().reach().high[2], s_.points, s_.points);
    for (const int y : row_offsets_)
      all += fmt::format("  const int o{} = min(y0 + {}, (int)w.ny - 1 + {}) * (int)w.row + x;\n",
                         y + max_radius, y, d_.view().reach().high[1]);
    for (int m = 1; m <= packs_beside(); ++m)
      all +=
          fmt::format("  const int left{0} = min(x0 - {1}, last) - x, right{0} = min(x0 + {1}, last) - x;\n",
                      m, m * s_.points);
    if (s_.shuffle && packs_beside() > 0)
      for (int m = 1; m <= packs_beside(); ++m)
        all += fmt::format(
            "  const bool is_edge{0} = lane < {0} || lane >= {1};\n  const int edge{0} = lane < {0} ? "
            "left{0} : right{0};\n",
            m, 32 - m);
    all += declared_;
    all += fmt::format("  Index z = z0 - {};\n", lead_);
    for (const auto& [r, top] : planes_)
      all += fmt::format("  const Storage* q{0}_{1} = (const Storage*)w.in[{0}] + (z + {2}) * w.plane;\n", r,
                         top + max_radius, top + s_.ahead);
    for (std::size_t o = 0; o < d_.outputs.size(); ++o)
      all += fmt::format("  Storage* to{0} = (Storage*)w.out[{0}] + z * w.plane;\n", o);
    all += fmt::format("#pragma unroll {}\n  for (; z < z1; ++z) {{\n", s_.unroll);
    all += shifted_;
    for (const auto& [lead, text] : loads_)
      all += fmt::format("  if (z >= z0 - {}{}) {{\n{}  }}\n", lead,
                         s_.ahead > 0 ? fmt::format(" && z + {} < z1", s_.ahead) : "", text);
    all += arrived_;
    all += "  if (z >= z0) {\n" + computed() + "  }\n";
    for (const auto& [r, top] : planes_) all += fmt::format("  q{}_{} += w.plane;\n", r, top + max_radius);
    for (std::size_t o = 0; o < d_.outputs.size(); ++o) all += fmt::format("  to{} += w.plane;\n", o);
    return all + "  }\n}\n";
  }

 private:
  bool is_beside(int x) const { return x < 0 || x >= s_.points; }
  int packs_beside() const { return (reach_x_ + s_.points - 1) / s_.points; }
  static std::string stem(const Row& row) { return fmt::format("{}_{}", row.read, row.y + max_radius); }
  std::string name(int r, int y, int z, int x) const {
    return fmt::format("{}{}_{}_{}_{}", is_beside(x) ? "h" : "c", r, y + max_radius, z + max_radius,
                       x + max_radius);
  }
  void declare(const std::string& type, const std::string& name) {
    declared_ += fmt::format("  {} {}{{}};\n", type, name);
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

  void load(const Row& row, const Planes& planes, const std::string& text) {
    const int lead = planes.top + s_.ahead - planes.bottom;
    lead_ = std::max(lead_, lead);
    planes_.insert({row.read, planes.top});
    note_row(row.y);
    loads_[lead] += text;
  }
  std::string from(const Row& row, int top, const std::string& beside = "") const {
    return fmt::format("q{}_{} + o{}{}", row.read, top + max_radius, row.y + max_radius, beside);
  }
  /// What was fetched `ahead` planes before it arrives is kept in registers as it came.
  void queue(const std::string& type, const std::string& stem) {
    for (int d = 0; d <= s_.ahead; ++d) {
      declare(type, fmt::format("{}_{}", stem, d));
      if (d < s_.ahead) shifted_ += fmt::format("  {0}_{1} = {0}_{2};\n", stem, d, d + 1);
    }
  }

  void prepare(const Row& row) {
    const std::string pack = fmt::format("Pack<Storage, {}>", s_.points), own = fmt::format("s{}", stem(row));
    const int top = row.own.top;
    for (int x = 0; x < s_.points; ++x) {
      const auto found = row.points.find(x);
      Planes planes = found == row.points.end() ? Planes{top, top} : found->second;
      if (s_.shuffle && row.beside.any()) planes.bottom = std::min(planes.bottom, row.beside.top);
      chain(row, x, planes, top);
    }
    queue(pack, own);
    load(row, row.own,
         fmt::format("    {}_{} = load_pack<{}>({});\n", own, s_.ahead, s_.points, from(row, top)));
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
          queue(pack, edge);
          const std::string at = fmt::format(" + {}{}", s_.shuffle ? "edge" : side < 0 ? "left" : "right", m);
          const std::string condition = s_.shuffle ? fmt::format("if (is_edge{}) ", m) : "";
          if (!s_.shuffle && places.size() == 1) {
            const int l = places[0] - side * m * V;
            load(row, row.beside,
                 fmt::format("    {0}_{1}.at[{2}] = ({3})[{2}];\n", edge, s_.ahead, l, from(row, top, at)));
          } else {
            load(row, row.beside,
                 fmt::format("    {}{}_{} = load_pack<{}>({});\n", condition, edge, s_.ahead, V,
                             from(row, top, at)));
          }
        }
        for (const int x : places) {
          const int l = x - side * m * V;
          chain(row, x, row.points.at(x), top);
          const std::string fetched = fmt::format("Convert<Value, Storage>::widened({}_0.at[{}])", edge, l);
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
            "  if (y0 + {} < w.ny) store_pack<{}>(to{} + o{}, Pack<Storage, {}>{{{{{}}}}}, w.nx - x0);\n", y,
            s_.points, o, y + max_radius, s_.points, points);
      }
    return printer_.take_statements() + stores;
  }

  const Definition& d_;
  MarchShape s_;
  StencilPrinter printer_;
  std::map<std::pair<int, int>, Row> rows_;
  int reach_x_ = 0, lead_ = 0;
  std::set<std::pair<int, int>> planes_;  ///< a pointer for each read and topmost plane
  std::set<int> row_offsets_;
  std::string declared_, shifted_, arrived_;
  std::map<int, std::string> loads_;  ///< by how many planes before the first one they begin
};

}  // namespace

std::optional<std::string> why_no_march(const ProgramView& p) {
  if (p.red_black) return "points of one colour do not lie beside one another: use cuda gather";
  if (p.reduction_count > 0) return "a sum that rides along is kept per row: use cuda gather";
  return std::nullopt;
}

const KernelInstance& march_instance(const Definition& definition, StencilNumbers numbers,
                                     const MarchShape& s) {
  return stencil_instance(stencil_march_source, definition, MarchPrinter(definition, numbers, s).print(),
                          {fmt::format("BLOCK_X={}", s.block_x), fmt::format("BLOCK_Y={}", s.block_y),
                           fmt::format("ROWS={}", s.rows), fmt::format("POINTS={}", s.points)});
}

}  // namespace spinloom::cuda
