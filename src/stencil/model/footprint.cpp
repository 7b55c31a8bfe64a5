#include "stencil/model/footprint.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace spinloom::stencil {

Footprint footprint(const Definition& definition, int planes) {
  const ProgramView p = definition.view();
  Footprint f;
  const Reach all = p.reach();
  f.x_span = all.low[2] + all.high[2];
  Read list[max_reads];
  const int count = p.list_reads(list);
  for (int r = 0; r < count; ++r) {
    std::map<int, std::set<int>> rows;  // per plane
    int z_low = 0, z_high = 0, y_low = 0, y_high = 0;
    for (const Node& n : definition.code) {
      if (n.op != Op::access || n.field != list[r].field || n.level != list[r].level) continue;
      for (int u = 0; u < planes; ++u) rows[n.z + u].insert(n.y);
      z_low = std::min<int>(z_low, n.z), z_high = std::max<int>(z_high, n.z);
      y_low = std::min<int>(y_low, n.y), y_high = std::max<int>(y_high, n.y);
    }
    ReadFootprint read{list[r].field,  list[r].level, static_cast<int>(rows.size()), 0, 0,
                       z_high - z_low, y_high - y_low};
    for (const auto& [_, in_plane] : rows) {
      read.rows += static_cast<int>(in_plane.size());
      read.row_span += *in_plane.rbegin() - *in_plane.begin() + 1;
    }
    f.reads.push_back(read);
  }
  for (const Output& o : definition.outputs)
    // The second array of a field is the one that prev() reads; in place it is the one that is read anyway.
    f.writes.push_back({o.field, p.red_black || p.reads(o.field, TimeLevel::previous)});
  return f;
}

}  // namespace spinloom::stencil
