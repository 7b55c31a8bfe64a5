#include "recon/assemble/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

struct Rule {
  AcquisitionFlag flag;
  const char* name;
};

constexpr Rule rules[] = {
    {AcquisitionFlag::noise, "noise"},
    {AcquisitionFlag::navigator, "navigator"},
    {AcquisitionFlag::phase_correction, "phase correction"},
    {AcquisitionFlag::hp_feedback, "high-priority feedback"},
    {AcquisitionFlag::dummy, "dummy"},
    {AcquisitionFlag::rt_feedback, "real-time feedback"},
    {AcquisitionFlag::surface_coil_correction, "surface coil correction"},
    {AcquisitionFlag::phase_stabilisation_reference, "phase stabilisation reference"},
    {AcquisitionFlag::phase_stabilisation, "phase stabilisation"},
    {AcquisitionFlag::calibration_only, "calibration only"},
};

constexpr std::uint64_t bit(int flag) { return std::uint64_t{1} << (flag - 1); }
constexpr std::uint64_t bit(AcquisitionFlag flag) { return bit(static_cast<int>(flag)); }

}  // namespace

std::uint64_t default_exclusions() {
  std::uint64_t mask = 0;
  for (const Rule& rule : rules) mask |= bit(rule.flag);
  return mask;
}

namespace assembly {
namespace {

/// Name of the rule that keeps `a` out of the image, or empty.
std::string excluded_by(const Acquisition& a, std::uint64_t mask) {
  // Calibration lines that are also image lines carry flag 21, some beside flag 20.
  if (a.has(AcquisitionFlag::calibration_and_image)) mask &= ~bit(AcquisitionFlag::calibration_only);
  const std::uint64_t hit = a.flags & mask;
  if (!hit) return "";
  for (const Rule& rule : rules)
    if (hit & bit(rule.flag)) return rule.name;
  for (int flag = 1; flag <= 64; ++flag)
    if (hit & bit(flag)) return fmt::format("flag {}", flag);
  return "";
}

Line cut(const Acquisition& a, Index index) {
  if (a.discard_pre + a.discard_post > a.samples)
    throw FormatError(fmt::format("acquisition {}: discards {} + {} samples, but has only {}", index,
                                  a.discard_pre, a.discard_post, a.samples));
  return {&a, index, a.discard_pre, a.samples - a.discard_post};
}

int choose_encoding(const RawScan& scan, const std::vector<Line>& candidates, const AssembleOptions& options,
                    const Log& log) {
  const int encodings = static_cast<int>(scan.encodings.size());
  std::set<int> used;
  for (const Line& line : candidates) {
    if (line.acquisition->encoding < 0 || line.acquisition->encoding >= encodings)
      throw FormatError(
          fmt::format("acquisition {}: refers to encoding {}, but the header has {} (numbered from 0)",
                      line.index, line.acquisition->encoding, encodings));
    used.insert(line.acquisition->encoding);
  }
  if (options.encoding) {
    if (*options.encoding < 0 || *options.encoding >= encodings)
      throw ArgumentError(fmt::format("encoding {} is asked for, but the header has {} (numbered from 0)",
                                      *options.encoding, encodings));
    return *options.encoding;
  }
  const int chosen = used.empty() ? 0 : *used.begin();
  if (used.size() > 1)
    note(log, fmt::format("the scan has image lines of {} encodings ({}); encoding {} is taken", used.size(),
                          fmt::join(used, ", "), chosen));
  return chosen;
}

void count_rule(AssemblyReport& report, const std::string& name) {
  for (auto& [known, lines] : report.excluded)
    if (known == name) {
      ++lines;
      return;
    }
  report.excluded.emplace_back(name, 1);
}

}  // namespace

Selection select_lines(const RawScan& scan, const AssembleOptions& options, AssemblyReport& report,
                       const Log& log) {
  Selection selection;
  std::vector<Line> candidates;
  report.lines = static_cast<Index>(scan.acquisitions.size());
  for (Index i = 0; i < report.lines; ++i) {
    const Acquisition& a = scan.acquisitions[static_cast<std::size_t>(i)];
    if (static_cast<Index>(a.data.size()) != a.samples * a.channels ||
        static_cast<Index>(a.trajectory.size()) != a.samples * a.trajectory_dimensions)
      throw FormatError(fmt::format(
          "acquisition {}: {} values and {} trajectory values do not fit {} samples x {} channels "
          "and {} trajectory dimensions",
          i, a.data.size(), a.trajectory.size(), a.samples, a.channels, a.trajectory_dimensions));
    if (a.samples == 0 || a.channels == 0) {
      ++report.empty;
      continue;
    }
    const std::string rule = excluded_by(a, options.excluded);
    const bool is_noise = rule == "noise";
    if (!rule.empty() && !is_noise) {
      count_rule(report, rule);
      continue;
    }
    const Line line = cut(a, i);
    if (line.size() == 0) {
      ++report.empty;
      note(log, fmt::format("acquisition {}: all {} samples are discarded, skipped", i, a.samples));
      continue;
    }
    (is_noise ? selection.noise : candidates).push_back(line);
  }
  report.noise = static_cast<Index>(selection.noise.size());
  selection.encoding = choose_encoding(scan, candidates, options, log);

  std::set<int> averages;
  for (const Line& line : candidates) {
    if (line.acquisition->encoding != selection.encoding) {
      ++report.other_encodings;
      continue;
    }
    selection.image.push_back(line);
    report.reversed += line.acquisition->has(AcquisitionFlag::reverse);
    report.discarded_samples += line.acquisition->samples - line.size();
    averages.insert(line.acquisition->average);
  }
  report.image = static_cast<Index>(selection.image.size());
  report.averages = std::max<Index>(1, static_cast<Index>(averages.size()));
  if (selection.image.empty())
    throw FormatError(fmt::format("holds no image lines: {}", fmt::join(report.text(), "; ")));
  require_equal_channels(selection.image, "image");
  return selection;
}

void require_equal_channels(const std::vector<Line>& lines, const char* what) {
  for (const Line& line : lines)
    if (line.acquisition->channels != lines.front().acquisition->channels)
      throw FormatError(fmt::format(
          "acquisition {}: {} channels, but the first {} line (acquisition {}) has {}", line.index,
          line.acquisition->channels, what, lines.front().index, lines.front().acquisition->channels));
}

Array<cfloat> gather(const std::vector<Line>& lines) {
  if (lines.empty()) return {};
  std::vector<Index> offsets;
  Index samples = 0;
  for (const Line& line : lines) {
    offsets.push_back(samples);
    samples += line.size();
  }
  const Index channels = lines.front().acquisition->channels;
  Array<cfloat> kspace({channels, samples});
  parallel_blocks(static_cast<Index>(lines.size()), 16, [&](Index begin, Index end, int) {
    for (Index l = begin; l < end; ++l) {
      const Line& line = lines[static_cast<std::size_t>(l)];
      for (Index c = 0; c < channels; ++c) {
        const cfloat* from = line.acquisition->data.data() + c * line.acquisition->samples;
        cfloat* to = kspace.data() + c * samples + offsets[static_cast<std::size_t>(l)];
        for (Index i = line.begin; i < line.end; ++i, ++to) {
          if (!std::isfinite(from[i].real()) || !std::isfinite(from[i].imag()))
            throw FormatError(
                fmt::format("acquisition {}: channel {} sample {} is {}{:+}i, expected a finite number",
                            line.index, c, i, from[i].real(), from[i].imag()));
          *to = from[i];
        }
      }
    }
  });
  return kspace;
}

}  // namespace assembly
}  // namespace spinloom
