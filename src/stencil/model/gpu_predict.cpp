#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/model/gpu_counts.hpp"

namespace spinloom::stencil {

using Kind = Schedule::Kind;

namespace {

/// How far the time on the chip and that of memory overlap: nearly all, many blocks being at work at once. Overlapped blocks
/// fetch early what goes from step to step alone, and wait for coefficients and sources. Where a thread gathers for its one
/// point, both are spent in the level 2 cache.
double overlap_of(const ProgramView& p, Kind kind) {
  if (kind == Kind::gather) return 2;
  return kind == Kind::layered && p.reads() > p.output_count ? 1.2 : 4;
}

/// The passes of a chain that can run, on which there are facts of each or of none.
GpuPasses require(const GpuModelInput& in) {
  if (in.chain.empty()) throw ArgumentError("stencil model: no stencil was given");
  if (!is_for_gpu(in.schedule) && in.schedule.kind != Kind::naive)
    throw ArgumentError(
        fmt::format("stencil model: '{}' is a schedule for the host's processor, and the model is "
                    "asked for a GPU; use cuda, or one of docs/stencil-gpu.md",
                    to_string(in.schedule)));
  if (const auto why = why_illegal(in.chain, in.layout, in.fields, in.schedule)) throw ArgumentError(*why);
  if (!is_modelled_on_gpu(in.schedule))
    throw ArgumentError(
        fmt::format("stencil model: '{}' is not modelled; cuda, gather, tile, march, ring and overlapped are",
                    to_string(in.schedule)));
  if (in.schedule.kind == Kind::layered)
    if (const auto why = cuda::why_no_room(in.schedule, in.chain[0].view(), in.element_bytes))
      throw ArgumentError(*why);
  GpuPasses passes = gpu_passes(in);
  for (const std::size_t given : {in.kernels.size(), in.on_chip.size()})
    if (given != 0 && given != passes.chain.size())
      throw ArgumentError(fmt::format("stencil model: facts of {} kernels for {} stencils, expected one each",
                                      given, passes.chain.size()));
  return passes;
}

void add(Traffic& to, const Traffic& t, double weight) {
  to.read += t.read * weight;
  to.write += t.write * weight;
}

/// Updates of a point by one application, or by one pass of overlapped blocks: a run's last pass may take fewer steps.
double updates_of(const GpuPasses& in, const GpuCut& cut, const ProgramView& p) {
  const double colours = p.red_black ? 2 : 1, most = cut.levels / colours;
  if (cut.schedule.kind != Kind::layered || in.steps <= 0) return most;
  return double(in.steps) / std::ceil(double(in.steps) / most);
}

GpuStage counted(const GpuPasses& in, std::size_t k) {
  const GpuCut cut = gpu_cut(in, k);
  const ProgramView p = in.chain[k].view();
  const auto& n = in.layout.n;
  const double points = double(std::max<Index>(1, n[0] * n[1] * n[2]));
  GpuStage s;
  s.schedule = cut.schedule;
  s.stencils = in.passes[k].stencils;
  s.share = in.passes[k].share;
  for (std::size_t a = 0; a < 3; ++a) s.block[a] = cut.tile[a];
  s.blocks = cut.tiles[0] * cut.tiles[1] * cut.tiles[2];
  const bool is_layered = cut.schedule.kind == Kind::layered;
  if (is_layered) s.redundancy = gpu_covered(in, k, cut) / points;
  const double updates = updates_of(in, cut, p);
  add(s.level2, gpu_level2_bytes(in, k, cut), 1 / updates);
  add(s.memory, gpu_memory_bytes(in, k, cut), 1 / updates);
  s.operations = gpu_operations(in, k, cut) * s.redundancy;
  if (!in.kernels.empty()) s.kernel = in.kernels[k];
  if (s.kernel.blocks_at_once > 0)
    s.waves = double(s.blocks) / (double(s.kernel.blocks_at_once) * in.machine.multiprocessors);
  return s;
}

double rate_of_memory(const GpuMachine& m, Kind kind) {
  return kind == Kind::layered ? m.copy : kind == Kind::march || kind == Kind::ring ? m.marching : m.in_order;
}

/// The last wave of blocks has memory for itself, and goes no faster than the chip lets it.
double tail_of(double waves, double on_chip_share) {
  if (!(waves > 0)) return 1;
  const double full = std::floor(waves + 1e-9), part = std::max(0.0, waves - full);
  return part < 1e-6 ? 1 : (full + std::max(part, on_chip_share)) / waves;
}

/// Of a fused pass: a kernel for the edges, and one for each distance from each face. Where points lie across rows each lane of
/// a load takes a cycle of its multiprocessor, else some sixteenth of one.
double seconds_of_rim(const GpuPasses& in, std::size_t k) {
  const int(&rim)[3] = in.passes[k].rim;
  const auto& n = in.layout.n;
  const int faces = rim[0] + rim[1] + rim[2];
  if (faces == 0) return 0;
  const double cycles = in.machine.single_operations / 128;  // of all multiprocessors, a second
  const double loads = 0.75 * in.chain[k].view().loads();    // near a face some places are one and the same
  const double apart = loads > 40 ? loads / 4 : loads;       // as in stencil_fused_faces.cpp
  const double lanes =
      double(n[1] * n[2] * rim[0] + n[0] * n[2] * rim[1]) * loads / 16 + double(n[0] * n[1] * rim[2]) * apart;
  return (1 + faces) * in.machine.launch_seconds + lanes / cycles;
}

/// Cells outside that follow those inside: a kernel for each field that is read around, and a sector read and written for each
/// end of a row.
double seconds_of_halo(const GpuPasses& in, std::size_t k) {
  const auto moves = [](const Boundaries& b) {
    bool does = false;
    for (std::size_t a = 0; a < 3; ++a)
      for (const Boundary& face : {b.low[a], b.high[a]})
        does |= face.kind == Boundary::Kind::neumann || face.kind == Boundary::Kind::periodic ||
                face.kind == Boundary::Kind::reflect || face.kind == Boundary::Kind::clamp;
    return does;
  };
  double seconds = 0;
  for (const Output& o : in.chain[k].outputs) {
    bool is_read_around = false;
    for (const Definition& d : in.chain) is_read_around |= d.view().reach(o.field).radius() > 0;
    if (!is_read_around || !moves(in.fields[static_cast<std::size_t>(o.field)])) continue;
    seconds +=
        in.machine.launch_seconds + 2 * 64 * double(in.layout.n[0] * in.layout.n[1]) / in.machine.in_order;
  }
  return seconds;
}

void time(GpuStage& s, const GpuPasses& in, std::size_t k) {
  const GpuMachine& m = in.machine;
  const cuda::StencilNumbers numbers = gpu_numbers(in);
  const bool is_double = numbers == cuda::StencilNumbers::f64 || numbers == cuda::StencilNumbers::c64 ||
                         numbers == cuda::StencilNumbers::f32_in_f64;
  s.memory_seconds = s.memory.total() / rate_of_memory(m, s.schedule.kind);
  s.level2_seconds = s.level2.total() / m.level2;
  s.arithmetic_seconds = s.operations / (is_double ? m.double_operations : m.single_operations);
  const GpuCut cut = gpu_cut(in, k);
  const ProgramView p = in.chain[k].view();
  const double updates = updates_of(in, cut, p), all = cut.levels / (p.red_black ? 2.0 : 1.0);
  s.on_chip = in.on_chip.empty() ? std::max(s.level2_seconds, s.arithmetic_seconds)
                                 : in.on_chip[k] * (cut.schedule.kind == Kind::layered ? all / updates : 1);
  const double overlap = overlap_of(p, s.schedule.kind);
  const double together =
      std::pow(std::pow(s.on_chip, overlap) + std::pow(s.memory_seconds, overlap), 1 / overlap);
  s.tail = tail_of(s.waves, together > 0 ? s.on_chip / together : 0);
  const auto& n = in.layout.n;
  const double points = double(std::max<Index>(1, n[0] * n[1] * n[2]));
  s.seconds =
      together * s.tail + m.launch_seconds / (points * updates) +
      (seconds_of_rim(in, k) + (s.schedule.kind == Kind::layered ? 0 : seconds_of_halo(in, k))) / points;
}

GpuPrediction summed(std::vector<GpuStage> stages, int stencils) {
  GpuPrediction p;
  p.redundancy = 0;
  for (const GpuStage& s : stages) {
    const double weight = s.share / double(stencils);
    add(p.level2, s.level2, weight), add(p.memory, s.memory, weight);
    p.redundancy += s.redundancy * s.stencils * weight;
    p.operations += s.operations * weight;
    p.memory_seconds += s.memory_seconds * weight;
    p.level2_seconds += s.level2_seconds * weight;
    p.arithmetic_seconds += s.arithmetic_seconds * weight;
    p.on_chip += s.on_chip * weight;
  }
  p.bytes_per_update = p.memory.total();
  p.stages = std::move(stages);
  return p;
}

}  // namespace

bool is_modelled_on_gpu(const Schedule& s) {
  switch (s.kind) {
    case Kind::naive:
    case Kind::cuda:
    case Kind::gather:
    case Kind::march:
    case Kind::ring:
    case Kind::tile:
    case Kind::layered: return true;
    default: return false;
  }
}

GpuPrediction predict_gpu_traffic(const GpuModelInput& input) {
  const GpuPasses in = require(input);
  std::vector<GpuStage> stages;
  for (std::size_t k = 0; k < in.chain.size(); ++k) stages.push_back(counted(in, k));
  return summed(std::move(stages), in.stencils);
}

GpuPrediction predict_gpu(const GpuModelInput& input) {
  const GpuMachine& m = input.machine;
  for (const double rate :
       {m.copy, m.in_order, m.marching, m.level2, m.single_operations, m.double_operations})
    if (!(rate > 0))
      throw ArgumentError(fmt::format(
          "stencil model: a rate of {} of the GPU; they are above 0, measure_gpu() gives them", rate));
  const GpuPasses in = require(input);
  std::vector<GpuStage> stages;
  double seconds = 0;
  for (std::size_t k = 0; k < in.chain.size(); ++k) {
    stages.push_back(counted(in, k));
    time(stages.back(), in, k);
    seconds += stages.back().seconds * stages.back().share / double(in.stencils);
  }
  GpuPrediction p = summed(std::move(stages), in.stencils);
  p.glups = 1e-9 / seconds;
  const double floor = std::max(p.bytes_per_update / m.copy, p.arithmetic_seconds);
  p.roofline_glups = floor > 0 ? 1e-9 / floor : 0;
  const double work = std::max(p.memory_seconds, p.on_chip);
  if (seconds > 2 * work)
    p.limit = "launches";
  else if (p.memory_seconds >= p.on_chip)
    p.limit = "memory";
  else if (p.level2_seconds >= 0.7 * p.on_chip && p.level2_seconds >= p.arithmetic_seconds)
    p.limit = "L2";
  else
    p.limit = p.arithmetic_seconds >= 0.7 * p.on_chip ? "arithmetic" : "instructions";
  return p;
}

GpuReport report(const GpuPrediction& predicted, const GpuMachine& machine, double measured_glups) {
  if (!(measured_glups > 0))
    throw ArgumentError(
        fmt::format("stencil report: a measured speed of {} GLUP/s; it is above 0", measured_glups));
  GpuReport r;
  r.predicted = predicted;
  r.glups = measured_glups;
  r.bandwidth = machine.copy;
  r.implied_bytes_per_update = r.bandwidth / (measured_glups * 1e9);
  r.share_of_bandwidth =
      r.bandwidth > 0 ? predicted.bytes_per_update * measured_glups * 1e9 / r.bandwidth : 0;
  r.predicted_over_measured = predicted.glups / measured_glups;
  return r;
}

}  // namespace spinloom::stencil
