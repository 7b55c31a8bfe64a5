#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/model.hpp"
#include "stencil/model/footprint.hpp"

namespace spinloom::stencil {
namespace {

using Kind = Schedule::Kind;

/// Half of a cache is for what must stay, the other half for what passes through it.
constexpr double kept_share = 0.5;
/// Of a set that is gone through again and again, and of which nothing else passes.
constexpr double resident_share = 0.75;

/// Extents of the work, and of the block that goes through all planes.
struct Block {
  double n[3] = {1, 1, 1};
  double rows = 1, columns = 1;
  bool cut_rows = false, cut_columns = false;
};

struct Chain {
  std::vector<Footprint> kernels;
  std::vector<double> levels;  ///< of each kernel per step: the colours of red-black
  double levels_per_step = 0;
  int radius[3] = {0, 0, 0};
  int fields = 0;
  std::vector<int> arrays;    ///< of each field: two where steps are taken in turn
  std::vector<bool> written;  ///< each field
  std::vector<bool> evolves;
};

Chain chain_of(const std::vector<Definition>& definitions, int planes) {
  Chain c;
  for (const Definition& d : definitions) {
    const ProgramView p = d.view();
    c.kernels.push_back(footprint(d, planes));
    c.levels.push_back(p.red_black ? 2 : 1);
    c.levels_per_step += c.levels.back();
    for (int a = 0; a < 3; ++a) c.radius[a] = std::max(c.radius[a], p.reach().radius(a));
    c.fields = std::max(c.fields, p.fields());
    c.arrays.resize(static_cast<std::size_t>(c.fields), 1);
    c.written.resize(static_cast<std::size_t>(c.fields), false);
    c.evolves.resize(static_cast<std::size_t>(c.fields), false);
    for (int f = 0; f < c.fields; ++f) {
      const std::size_t i = static_cast<std::size_t>(f);
      c.written[i] = c.written[i] || p.writes(f);
      c.evolves[i] = c.evolves[i] || p.evolves(f);
      if (p.evolves(f) && !p.red_black) c.arrays[i] = 2;
    }
  }
  return c;
}

/// Bytes of what is read again: the rest passes through the other half of the cache.
double bytes_rows(const Footprint& f, double row_bytes) {
  double rows = 0;
  for (const auto& r : f.reads)
    if (r.y_span > 0) rows += r.row_span;
  return rows * row_bytes;
}
/// Layers of a block of `rows` rows: a + b rows; the two numbers.
std::pair<double, double> bytes_layers(const Footprint& f, double row_bytes, int planes) {
  double fixed = 0, per_row = 0;
  for (const auto& r : f.reads) {
    if (r.z_span == 0) continue;
    per_row += r.z_span + planes;
    fixed += double(r.z_span + planes) * r.y_span;
  }
  return {fixed * row_bytes, per_row * row_bytes};
}

/// What one update of a sweep moves past a cache that holds that much.
Traffic sweep_traffic(const Footprint& f, Reuse holds, const Block& block, double e, int planes, bool stream,
                      bool is_memory) {
  Traffic t;
  if (holds == Reuse::grids && !stream) return t;
  for (const auto& r : f.reads) {
    double loads = 1;
    if (holds == Reuse::none)
      loads = double(r.rows) / planes;
    else if (holds == Reuse::rows)
      loads = double(r.planes) / planes;
    // Rows at the edge of a block are loaded again by the next one.
    if (holds != Reuse::none && block.cut_rows) loads *= 1 + r.y_span / block.rows;
    if (block.cut_columns) loads *= 1 + f.x_span / block.columns;
    t.read += loads * e;
  }
  for (const auto& w : f.writes) {
    if (stream) {
      if (is_memory) t.stream += e;
      continue;
    }
    if (!w.has_its_line) t.read += e;
    t.write += e;
  }
  return t;
}

/// What one level's update moves past a cache that holds a temporal block of `depth` levels.
Traffic block_traffic(const Chain& c, double depth, double e, double read_rim, double level_rim,
                      bool both_arrays, bool stream, bool is_memory) {
  Traffic t;
  for (int f = 0; f < c.fields; ++f) {
    const std::size_t i = static_cast<std::size_t>(f);
    if (!c.written[i]) {
      t.read += e * level_rim / depth;
      continue;
    }
    const double arrays = both_arrays ? c.arrays[i] : 1;
    if (stream) {
      t.read += e * read_rim / depth;
      if (is_memory) t.stream += e / depth;
      continue;
    }
    // Overlapped blocks read the one array and write the other, which is loaded for it.
    const double loads = both_arrays ? arrays : c.arrays[i];
    t.read += e * loads * read_rim / depth;
    t.write += e * arrays / depth;
  }
  return t;
}

struct Temporal {
  double depth = 0;        ///< levels of a block; 0: one at a time
  double rows = 1;         ///< of a level, on the average
  double bytes = 0;        ///< a block while it is worked on
  bool is_shared = false;  ///< by all threads
  double read_rim = 1, level_rim = 1;
  bool both_arrays = true;
};

Temporal temporal_of(const ModelInput& in, const Chain& c, const Block& b, double& redundancy) {
  const Schedule& s = in.schedule;
  // A diamond has all of its rows: blocks of columns only order the work of one level.
  const double columns = s.kind == Kind::diamond ? b.n[2] : b.columns;
  const double e = double(in.element_bytes), row_bytes = e * (columns + 2 * c.radius[2]);
  const double lps = c.levels_per_step;
  double all_arrays = 0;
  for (const int a : c.arrays) all_arrays += a;
  const double at_most = in.steps > 0 ? double(in.steps) * lps : 1e18;
  Temporal t;
  if (s.kind == Kind::diamond) {
    const double slope = std::max(1, c.radius[1]);
    t.depth = std::min(std::max(1.0, std::floor(double(s.width) / (2 * slope))), at_most);
    const double width = std::min(2 * slope * t.depth, std::max(1.0, b.n[1]));
    // The planes between the first level and the last, of which about half are live: a level's rows are a cut through
    // the diamond.
    const double planes = std::min(b.n[0], 2 * t.depth * c.radius[0] + s.planes);
    t.bytes = all_arrays * row_bytes * (width + 2 * slope) * planes / 2;
    t.rows = std::max(1.0, std::min(b.rows, width / 2));
  } else if (s.kind == Kind::wavefront) {
    t.depth = std::min(double(s.steps) * lps, at_most);
    const double lag = c.radius[0] + s.planes, skew = c.radius[1] * t.depth;
    t.rows = b.rows;
    t.is_shared = true;
    t.bytes = all_arrays * row_bytes * std::min(b.n[1], b.rows + skew) * std::min(b.n[0], lag * t.depth);
    if (b.cut_rows) t.read_rim = t.level_rim = 1 + skew / b.rows;
  } else if (s.kind == Kind::overlapped) {
    t.depth = std::min(double(s.steps) * lps, at_most);
    t.both_arrays = false;
    t.rows = b.rows;
    const double rim_y = b.cut_rows ? 2.0 * c.radius[1] : 0, rim_x = b.cut_columns ? 2.0 * c.radius[2] : 0;
    double sum = 0;
    for (double level = 1; level <= t.depth; ++level)
      sum += (1 + rim_y * (t.depth - level) / b.rows) * (1 + rim_x * (t.depth - level) / b.columns);
    redundancy = sum / t.depth;
    t.read_rim = (1 + rim_y * t.depth / b.rows) * (1 + rim_x * t.depth / b.columns);
    t.level_rim = t.read_rim;
    const double plane = (b.rows + rim_y * t.depth) * (b.columns + rim_x * t.depth) * e;
    double rings = 0, others = 0;
    for (int f = 0; f < c.fields; ++f) (c.written[static_cast<std::size_t>(f)] ? rings : others) += 1;
    const double depth = 2 * c.radius[0] + s.planes;
    t.bytes = plane * (rings * depth * t.depth + others * (c.radius[0] * t.depth + depth));
  }
  return t;
}

}  // namespace

std::string to_string(Reuse reuse) {
  constexpr const char* names[] = {"none", "rows", "layers", "steps", "grids"};
  return names[static_cast<int>(reuse)];
}

Prediction predict_traffic(const ModelInput& in) {
  if (in.chain.empty())
    throw ArgumentError("stencil model: the chain is empty, expected at least one stencil");
  if (in.machine.caches.empty() || in.machine.threads < 1)
    throw ArgumentError(
        "stencil model: the machine has no caches or no threads; give it at least one of each");
  const Schedule& s = in.schedule;
  const int planes = s.planes;
  const double e = double(in.element_bytes);
  const Chain c = chain_of(in.chain, planes);
  Block b;
  for (std::size_t a = 0; a < 3; ++a) b.n[a] = std::max<double>(1, double(in.layout.n[a]));
  b.cut_rows = s.rows > 0 && double(s.rows) < b.n[1];
  b.cut_columns = s.columns > 0 && double(s.columns) < b.n[2];
  b.rows = b.cut_rows ? double(s.rows) : b.n[1];
  b.columns = b.cut_columns ? double(s.columns) : b.n[2];

  Prediction p;
  const Temporal t = temporal_of(in, c, b, p.redundancy);
  Block swept = b;  // what one level of a temporal block sweeps over
  if (t.depth > 0) swept.rows = t.rows, swept.cut_rows = false;
  const double kernels = double(in.chain.size());
  double arrays = 0;
  for (const int a : c.arrays) arrays += a;
  const double all_bytes = arrays * b.n[0] * b.n[1] * b.n[2] * e;

  Reuse so_far = Reuse::none;
  for (std::size_t k = 0; k < in.machine.caches.size(); ++k) {
    const CacheFacts& cache = in.machine.caches[k];
    const double sharing = std::min(in.machine.threads, std::max(1, cache.shared_by));
    const bool is_memory = k + 1 == in.machine.caches.size();
    LayerCondition lc;
    lc.level = cache.level;
    lc.share = double(cache.bytes) / sharing;
    double most_rows = b.n[1];
    for (const Footprint& f : c.kernels) {
      const double row_bytes = e * (b.columns + f.x_span);
      const auto [fixed, per_row] = bytes_layers(f, row_bytes, planes);
      lc.bytes_rows = std::max(lc.bytes_rows, bytes_rows(f, row_bytes));
      lc.bytes_layers = std::max(lc.bytes_layers, fixed + per_row * swept.rows);
      if (per_row > 0) most_rows = std::min(most_rows, std::floor((kept_share * lc.share - fixed) / per_row));
    }
    lc.most_rows = static_cast<Index>(std::max(0.0, most_rows));
    lc.bytes_steps = t.bytes;
    Reuse holds = lc.bytes_layers <= kept_share * lc.share ? Reuse::layers
                  : lc.bytes_rows <= kept_share * lc.share ? Reuse::rows
                                                           : Reuse::none;
    const double for_steps =
        t.is_shared ? (sharing >= in.machine.threads ? double(cache.bytes) : 0) : lc.share;
    if (t.depth > 0 && t.bytes <= kept_share * for_steps) holds = Reuse::steps;
    // Which thread meets which part of a grid again is left to chance: only a cache of all threads keeps it.
    if (sharing >= in.machine.threads && all_bytes <= resident_share * double(cache.bytes))
      holds = Reuse::grids;
    lc.holds = so_far = std::max(so_far, holds);
    p.caches.push_back(lc);

    Traffic sum;
    const auto add = [&sum](const Traffic& one, double times) {
      sum.read += one.read * times;
      sum.write += one.write * times;
      sum.stream += one.stream * times;
    };
    const bool stream_out = s.stream && (s.kind == Kind::sweep);
    if (so_far == Reuse::steps || (so_far == Reuse::grids && t.depth > 0 && s.stream))
      add(block_traffic(c, t.depth, e, t.read_rim, t.level_rim, t.both_arrays, s.stream, is_memory),
          c.levels_per_step / kernels);
    else
      for (std::size_t i = 0; i < c.kernels.size(); ++i)
        add(sweep_traffic(c.kernels[i], so_far, swept, e, planes, stream_out, is_memory),
            c.levels[i] / kernels * p.redundancy);
    p.traffic.push_back(sum);
  }
  p.bytes_per_update = p.traffic.back().total();
  return p;
}

}  // namespace spinloom::stencil
