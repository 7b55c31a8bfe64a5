#include "recon/assemble/positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"

namespace spinloom::assembly {
namespace {

// kz of a 2D scan written as 3D: rounding at most [cycles per field of view].
constexpr double flat = 1e-3;

bool lies_on_lines(const std::string& kind) { return kind == "cartesian" || kind == "epi"; }

/// Which counter value is the centre of k-space along an axis of n steps. A header whose centre was never
/// filled in (0, over a full range from 0) would put half of the lines outside.
double center_of(const EncodingLimit& limit, Index n, const char* name, const Log& log) {
  if (!limit.is_known) return std::floor(double(n) / 2);
  if (limit.center == 0 && limit.minimum == 0 && n > 1 && limit.maximum == n - 1) {
    warn(log, fmt::format("header: {} runs from 0 to {} with its centre at 0; the centre is taken as {}",
                          name, limit.maximum, n / 2));
    return std::floor(double(n) / 2);
  }
  return limit.center;
}

}  // namespace

Positions::Positions(const std::vector<std::vector<Line>>& groups, const Encoding& encoding,
                     const AssembleOptions& options, const Shape& matrix, const Log& log)
    : groups_(groups), matrix_(matrix), unit_(options.trajectory ? options.trajectory->unit : options.unit) {
  for (const auto& lines : groups_) sources_.emplace_back(lines.size());
  if (options.trajectory)
    take_given(*options.trajectory);
  else
    take_stored(encoding, log);
  columns_ = std::min(stride_, 3);
  choose_dims(log);
  check_stored(log);
  find_centers(encoding, log);
}

void Positions::take_given(const PlainTrajectory& trajectory) {
  given_ = to_columns(trajectory);
  stride_ = given_.columns;
  Index recorded = 0, kept = 0;
  std::vector<Index> group_recorded, group_kept;
  std::vector<std::pair<const Line*, Source*>> in_order;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    group_recorded.push_back(0);
    group_kept.push_back(0);
    for (std::size_t l = 0; l < groups_[g].size(); ++l) {
      const Line& line = groups_[g][l];
      group_recorded[g] += line.acquisition->samples;
      group_kept[g] += line.size();
      in_order.emplace_back(&line, &sources_[g][l]);
    }
    recorded += group_recorded[g];
    kept += group_kept[g];
  }
  std::sort(in_order.begin(), in_order.end(),
            [](auto& a, auto& b) { return a.first->index < b.first->index; });

  const auto all_equal = [&](const std::vector<Index>& sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [&](Index size) { return size == given_.samples; });
  };
  const bool is_whole = given_.samples == recorded || given_.samples == kept;
  const bool is_cut = is_whole ? given_.samples != recorded : !all_equal(group_recorded);
  if (!is_whole && is_cut && !all_equal(group_kept))
    throw ShapeError(fmt::format(
        "the trajectory given has {} samples, but the scan's {} image lines have {} ({} per image, "
        "{} images)",
        given_.samples, in_order.size(), recorded, group_recorded.front(), groups_.size()));
  const auto place = [&](const Line& line, Source& source, Index& next) {
    source.twice = given_.values.data() + next * stride_;
    source.first = is_cut ? line.begin : 0;
    next += is_cut ? line.size() : line.acquisition->samples;
  };
  Index next = 0;
  if (is_whole) {
    for (auto& [line, source] : in_order) place(*line, *source, next);
    return;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    next = 0;
    for (std::size_t l = 0; l < groups_[g].size(); ++l) place(groups_[g][l], sources_[g][l], next);
  }
}

void Positions::take_stored(const Encoding& encoding, const Log& log) {
  bool has_missing = false;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t l = 0; l < groups_[g].size(); ++l) {
      const Line& line = groups_[g][l];
      const int dims = line.acquisition->trajectory_dimensions;
      if (dims == 0) {
        has_missing = true;
        continue;
      }
      if (stride_ != 0 && dims != stride_)
        throw FormatError(
            fmt::format("acquisition {}: its trajectory has {} columns, but lines before it have {}",
                        line.index, dims, stride_));
      stride_ = dims;
      sources_[g][l].single = line.acquisition->trajectory.data();
    }
  if (stride_ > 3)
    warn(log,
         fmt::format(
             "trajectories have {} columns; the first 3 are taken as kx, ky, kz, the others are not used",
             stride_));
  if (!lies_on_lines(encoding.trajectory)) {
    if (has_missing) borrow(encoding.trajectory, log);
    if (stride_ == 1 && matrix_[1] > 1)
      throw FormatError(fmt::format("the scan is '{}' and stores kx only; give a whole trajectory by --traj",
                                    encoding.trajectory));
  } else if (has_missing && encoding.trajectory == "epi") {
    warn(log,
         "the scan is EPI without stored trajectory: samples are taken as evenly spaced, which ramp sampling "
         "is not");
  }
}

/// Images may share the trajectory that is stored with the first of them only, line by line.
void Positions::borrow(const std::string& kind, const Log& log) {
  const auto refuse = [&](const Line& line) {
    throw FormatError(
        fmt::format("acquisition {}: the scan is '{}' and this line stores no trajectory; give one by --traj",
                    line.index, kind));
  };
  const auto is_stored = [](const Source& source) { return source.is_stored(); };
  std::size_t borrowed = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (std::all_of(sources_[g].begin(), sources_[g].end(), is_stored)) continue;
    const auto lender_of = [&]() -> std::size_t {
      for (std::size_t other = 0; other < groups_.size(); ++other) {
        if (groups_[other].size() != groups_[g].size()) continue;
        bool agrees = true;
        for (std::size_t l = 0; l < groups_[g].size() && agrees; ++l) {
          const Acquisition &a = *groups_[g][l].acquisition, &b = *groups_[other][l].acquisition;
          agrees = b.trajectory_dimensions > 0 && a.samples == b.samples && a.step_1 == b.step_1 &&
                   a.step_2 == b.step_2;
        }
        if (agrees) return other;
      }
      return groups_.size();
    };
    const std::size_t lender = lender_of();
    for (std::size_t l = 0; l < groups_[g].size(); ++l) {
      if (sources_[g][l].is_stored()) continue;
      if (lender == groups_.size()) refuse(groups_[g][l]);
      sources_[g][l].single = groups_[lender][l].acquisition->trajectory.data();
    }
    ++borrowed;
  }
  if (borrowed > 0)
    note(log, fmt::format("{} of {} images store no trajectory and use that of an image with the same lines",
                          borrowed, groups_.size()));
}

void Positions::choose_dims(const Log& log) {
  const int first_step = groups_.front().front().acquisition->step_2;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t l = 0; l < groups_[g].size(); ++l) {
      const Line& line = groups_[g][l];
      steps_2_vary_ = steps_2_vary_ || line.acquisition->step_2 != first_step;
      if (columns_ < 3 || !sources_[g][l].is_stored()) continue;
      for (Index i = line.begin; i < line.end; ++i) {
        const double kz = value(sources_[g][l], i, 2) * cycles_per_fov(unit_, matrix_[0]);
        if (!(std::abs(kz) <= flat)) kz_is_zero_ = false;  // NaN too; check_stored() names it
      }
    }
  if (columns_ == 3 && kz_is_zero_) columns_ = 2;
  is_3d_ = matrix_[0] > 1 && (columns_ == 3 || steps_2_vary_);
  if (columns_ == 3 || is_3d_) return;
  if (matrix_[0] > 1)
    note(log,
         fmt::format(
             "the matrix has z = {}, but neither the trajectory nor step 2 encodes it: images are 2D slices",
             matrix_[0]));
  else if (steps_2_vary_)
    warn(log,
         "step 2 varies although the matrix has z = 1: its lines are taken as one 2D image; is it a 3D scan "
         "(--matrix)?");
}

void Positions::check_stored(const Log& log) {
  if (columns_ == 0) return;
  static constexpr const char* names[] = {"kx", "ky", "kz"};
  ranges_.resize(static_cast<std::size_t>(columns_));
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t l = 0; l < groups_[g].size(); ++l) {
      const Line& line = groups_[g][l];
      if (!sources_[g][l].is_stored()) continue;
      for (Index i = line.begin; i < line.end; ++i)
        for (int c = 0; c < columns_; ++c) {
          const double k = value(sources_[g][l], i, c);
          if (!std::isfinite(k))
            throw FormatError(
                fmt::format("acquisition {}: trajectory sample {} has {} = {}, expected a finite number",
                            line.index, i, names[c], k));
          ranges_[static_cast<std::size_t>(c)].add(k);
        }
    }
  if (columns_ == 3 && !is_3d_)
    throw FormatError(fmt::format(
        "the trajectory has kz from {:.6g} to {:.6g}, but the matrix has z = 1; give the matrix by "
        "--matrix Z,Y,X",
        ranges_[2].low, ranges_[2].high));
  require_within(ranges_, unit_, is_3d_ ? matrix_ : Shape(matrix_.begin() + 1, matrix_.end()), log);
}

void Positions::find_centers(const Encoding& encoding, const Log& log) {
  bool needs_lines = false, needs_samples = false;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t l = 0; l < groups_[g].size(); ++l) {
      const bool is_stored = sources_[g][l].is_stored();
      needs_lines = needs_lines || !is_stored || columns_ < 2;
      if (is_stored) continue;
      needs_samples = true;
      const Acquisition& a = *groups_[g][l].acquisition;
      if (a.center_sample == 0 && a.samples == matrix_[2] && a.samples > 1) center_sample_is_unset_ = true;
    }
  if (needs_lines && matrix_[1] > 1) center_1_ = center_of(encoding.step_1, matrix_[1], "step 1", log);
  if (is_3d_ && (columns_ < 3 || needs_lines))
    center_2_ = center_of(encoding.step_2, matrix_[0], "step 2", log);
  if (!needs_samples) return;
  const Acquisition& first = *groups_.front().front().acquisition;
  if (center_sample_is_unset_)
    warn(log, fmt::format("lines of {} samples have centre sample 0; the centre is taken as sample {}",
                          matrix_[2], matrix_[2] / 2));
  if (first.samples != matrix_[2])
    note(log, fmt::format("lines have {} samples, the encoded matrix has x = {}", first.samples, matrix_[2]));
}

void Positions::fill_axis(const Line& line, const Source& source, int axis, double* k) const {
  static constexpr const char* names[] = {"kx", "ky", "kz"};
  const Acquisition& a = *line.acquisition;
  const Index n = matrix_[static_cast<std::size_t>(2 - axis)];
  if (source.is_stored() && axis < columns_) {
    const double scale = cycles_per_fov(unit_, n);
    for (Index i = line.begin; i < line.end; ++i) *k++ = value(source, i, axis) * scale;
    return;
  }
  double* const begin = k;
  if (axis == 0) {
    const bool is_reversed = a.has(AcquisitionFlag::reverse);
    double center = double(a.center_sample);
    if (center_sample_is_unset_ && a.center_sample == 0 && a.samples == n)
      center = double(is_reversed ? n - 1 - n / 2 : n / 2);
    for (Index i = line.begin; i < line.end; ++i)
      *k++ = is_reversed ? center - double(i) : double(i) - center;
  } else {
    // A single voxel along the axis has no positions to tell apart.
    const double step = axis == 1 ? a.step_1 - center_1_ : a.step_2 - center_2_;
    for (Index i = line.begin; i < line.end; ++i) *k++ = n == 1 ? 0 : step;
  }
  for (const double end : {*begin, *(k - 1)})
    if (std::abs(end) > 0.5 * double(n))
      throw FormatError(fmt::format(
          "acquisition {}: lies at {} = {:g} cycles per field of view, beyond +-{:g} of a matrix of "
          "{}; are centre ({}) and matrix right?",
          line.index, names[axis], end, 0.5 * double(n), n,
          axis == 0   ? double(a.center_sample)
          : axis == 1 ? center_1_
                      : center_2_));
}

Array<double> Positions::of_group(std::size_t group) const {
  Index samples = 0;
  for (const Line& line : groups_[group]) samples += line.size();
  Array<double> k({dims(), samples});
  Index at = 0;
  for (std::size_t l = 0; l < groups_[group].size(); ++l) {
    const Line& line = groups_[group][l];
    for (int d = 0; d < dims(); ++d)
      fill_axis(line, sources_[group][l], dims() - 1 - d, k.data() + d * samples + at);
    at += line.size();
  }
  return k;
}

}  // namespace spinloom::assembly
