#include "spinloom/recon/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "io/mrd/placement.hpp"
#include "recon/assemble/lines.hpp"
#include "recon/assemble/positions.hpp"
#include "recon/assemble/slices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

using namespace assembly;

/// Encoded and kept grid of the scan, [z, y, x], after the user's word.
struct Grid {
  Shape matrix, recon;
  std::array<double, 3> fov_mm{};
};

Grid choose_grid(const Encoding& encoding, const AssembleOptions& options, bool k_follows_matrix,
                 const Log& log) {
  Grid grid{encoding.encoded.matrix, encoding.encoded.matrix, encoding.encoded.fov_mm};
  if (!options.matrix.empty()) {
    if (options.matrix.size() < 2 || options.matrix.size() > 3 || count(options.matrix) < 1)
      throw ArgumentError(
          fmt::format("matrix {} is asked for, expected [y, x] or [z, y, x] of at least 1 voxel each",
                      to_string(options.matrix)));
    grid.matrix = options.matrix.size() == 3 ? options.matrix : prepend(1, options.matrix);
    if (k_follows_matrix)
      for (std::size_t d = 0; d < 3; ++d)
        if (d > 0 || options.matrix.size() == 3)
          grid.fov_mm[d] *= double(grid.matrix[d]) / double(encoding.encoded.matrix[d]);
    grid.recon = grid.matrix;
    return grid;
  }
  if (!encoding.encoded.has_matrix)
    throw FormatError("header: encodedSpace has no matrix size along x or y; give one by --matrix");
  for (std::size_t d = 0; d < 3; ++d) {
    const double encoded = encoding.encoded.fov_mm[d], kept = encoding.recon.fov_mm[d];
    const double share = encoded > 0 && kept > 0 ? kept / encoded : 1.0;
    // Without fields of view the matrices alone say what was oversampled.
    const double wanted =
        encoded > 0 && kept > 0 ? share * double(grid.matrix[d]) : double(encoding.recon.matrix[d]);
    grid.recon[d] = std::clamp<Index>(std::llround(wanted), 1, grid.matrix[d]);
  }
  if (grid.recon != encoding.recon.matrix)
    note(log, fmt::format("the image keeps its acquired resolution, {}; the header's recon matrix {} is not "
                          "interpolated to",
                          to_string(grid.recon), to_string(encoding.recon.matrix)));
  return grid;
}

FrameLabel label_of(const Acquisition& a, const AssembleOptions& options) {
  FrameLabel label{a.repetition, a.set, a.phase, a.contrast, a.slice};
  if (options.merge.repetition) label.repetition = 0;
  if (options.merge.set) label.set = 0;
  if (options.merge.phase) label.phase = 0;
  if (options.merge.contrast) label.contrast = 0;
  if (options.merge.slice) label.slice = 0;
  return label;
}

std::vector<float> sample_times(const std::vector<Line>& lines) {
  std::vector<float> times;
  for (const Line& line : lines) {
    const double dwell = 1e-6 * double(line.acquisition->sample_time_us);
    if (!std::isfinite(dwell) || dwell <= 0) return {};
    for (Index i = line.begin; i < line.end; ++i) times.push_back(static_cast<float>(dwell * double(i)));
  }
  return times;
}

/// Keeps one copy of trajectories that are equal to the last bit.
class TrajectoryPool {
 public:
  std::shared_ptr<const Trajectory> share(Array<double> k) {
    const auto key = std::make_pair(k.size(), hash(k));
    const auto [first, last] = known_.equal_range(key);
    for (auto it = first; it != last; ++it) {
      const View<const double> other = it->second->view();
      if (other.shape == k.shape() && std::equal(k.begin(), k.end(), other.begin())) return it->second;
    }
    return known_.emplace(key, std::make_shared<const Trajectory>(std::move(k)))->second;
  }

 private:
  static std::uint64_t hash(const Array<double>& k) {
    std::uint64_t h = 14695981039346656037u;  // FNV-1a over words
    for (const double value : k) {
      std::uint64_t word = 0;
      std::memcpy(&word, &value, sizeof word);
      h = (h ^ word) * 1099511628211u;
    }
    return h;
  }
  std::multimap<std::pair<Index, std::uint64_t>, std::shared_ptr<const Trajectory>> known_;
};

void gather_noise(const std::vector<Line>& lines, const std::vector<Line>& image, Assembled& result,
                  const Log& log) {
  if (lines.empty()) return;
  require_equal_channels(lines, "noise");
  const Index channels = image.front().acquisition->channels;
  if (lines.front().acquisition->channels != channels) {
    warn(log, fmt::format("noise lines have {} channels, image lines {}: the noise is not used",
                          lines.front().acquisition->channels, channels));
    return;
  }
  result.noise = gather(lines);
  const float dwell = lines.front().acquisition->sample_time_us;
  if (std::isfinite(dwell) && dwell > 0) result.noise_sample_time_s = 1e-6 * double(dwell);
  if (std::any_of(lines.begin(), lines.end(),
                  [&](const Line& l) { return l.acquisition->sample_time_us != dwell; }))
    warn(log, "noise lines have different sample times; that of the first is taken for all");
}

std::vector<Index> silent_channels(const std::vector<Measurement>& measurements) {
  std::vector<Index> silent;
  for (Index c = 0; c < measurements.front().coils(); ++c) {
    const bool is_silent = std::all_of(measurements.begin(), measurements.end(), [&](const Measurement& m) {
      const View<const cfloat> channel = m.kspace.view().slice(c);
      return std::all_of(channel.begin(), channel.end(), [](cfloat v) { return v == cfloat(0); });
    });
    if (is_silent) silent.push_back(c);
  }
  return silent;
}

void warn_of_silence(const std::vector<Index>& silent, Index channels, const Log& log) {
  if (silent.empty()) return;
  if (static_cast<Index>(silent.size()) == channels)
    warn(log,
         fmt::format("all {} channels are zero in every image line: the scan holds no signal", channels));
  else
    warn(log, fmt::format("of {} channels, these are zero in every image line: {}", channels,
                          fmt::join(silent, ", ")));
}

}  // namespace

Assembled assemble(const RawScan& scan, const AssembleOptions& options, const Log& outer_log) {
  Assembled result;
  const Log log = [&](Severity severity, const std::string& text) {
    if (severity == Severity::warning) result.warnings.push_back(text);
    if (outer_log) outer_log(severity, text);
  };
  if (scan.encodings.empty()) throw FormatError("the scan has no encoding, so no matrix size");
  const Selection selection = select_lines(scan, options, result.report, log);
  const Encoding& encoding = scan.encodings[static_cast<std::size_t>(selection.encoding)];

  std::map<FrameLabel, std::vector<Line>> by_label;
  for (const Line& line : selection.image) by_label[label_of(*line.acquisition, options)].push_back(line);
  std::vector<std::vector<Line>> groups;
  for (const auto& [label, lines] : by_label) groups.push_back(lines);

  const bool has_stored = std::any_of(selection.image.begin(), selection.image.end(),
                                      [](const Line& l) { return l.acquisition->trajectory_dimensions > 0; });
  const TrajectoryUnit unit = options.trajectory ? options.trajectory->unit : options.unit;
  const bool k_follows_matrix = (options.trajectory || has_stored) && unit != TrajectoryUnit::cycles_per_fov;
  Grid grid = choose_grid(encoding, options, k_follows_matrix, log);
  const Positions positions(groups, encoding, options, grid.matrix, log);

  std::array<double, 3> voxel_mm{};
  for (std::size_t d = 0; d < 3; ++d) voxel_mm[d] = grid.fov_mm[d] / double(grid.matrix[d]);
  if (positions.dims() == 2) grid.recon[0] = 1;
  const auto skipped = static_cast<std::ptrdiff_t>(3 - positions.dims());

  TrajectoryPool pool;
  std::size_t g = 0;
  for (const auto& [label, lines] : by_label) {
    check_interrupt();
    Measurement m;
    m.label = label;
    m.trajectory = pool.share(positions.of_group(g++));
    m.kspace = gather(lines);
    m.matrix = Shape(grid.matrix.begin() + skipped, grid.matrix.end());
    m.recon_matrix = Shape(grid.recon.begin() + skipped, grid.recon.end());
    m.fov_mm = std::vector<double>(grid.fov_mm.begin() + skipped, grid.fov_mm.end());
    const Acquisition& first = *lines.front().acquisition;
    m.geometry = mrd::to_geometry({first.position, first.read_dir, first.phase_dir, first.slice_dir},
                                  grid.recon, voxel_mm);
    m.sample_times_s = sample_times(lines);
    result.measurements.push_back(std::move(m));
  }
  if (positions.dims() == 2) space_slices(result.measurements, log);

  gather_noise(selection.noise, selection.image, result, log);
  const float dwell = selection.image.front().acquisition->sample_time_us;
  if (std::isfinite(dwell) && dwell > 0) result.image_sample_time_s = 1e-6 * double(dwell);
  result.relative_noise_bandwidth = scan.relative_noise_bandwidth;
  result.report.silent_channels = silent_channels(result.measurements);
  warn_of_silence(result.report.silent_channels, result.measurements.front().coils(), log);
  for (const std::string& line : result.report.text()) note(log, line);
  return result;
}

}  // namespace spinloom
