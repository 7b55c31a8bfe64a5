#include "spinloom/recon/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace spinloom {

std::vector<std::string> AssemblyReport::text() const {
  std::string line = fmt::format("{} acquisitions: {} image lines, {} noise", lines, image, noise);
  for (const auto& [rule, number] : excluded) line += fmt::format(", {} {}", number, rule);
  if (empty > 0) line += fmt::format(", {} empty", empty);
  if (other_encodings > 0) line += fmt::format(", {} of other encodings", other_encodings);
  std::vector<std::string> all{line};
  if (averages > 1) all.push_back(fmt::format("{} averages are used together", averages));
  if (reversed > 0) all.push_back(fmt::format("{} image lines are read in reverse", reversed));
  if (discarded_samples > 0)
    all.push_back(fmt::format("{} samples are discarded as the file asks", discarded_samples));
  return all;
}

bool lies_on_grid(const Trajectory& trajectory, double tolerance) {
  const View<const double> k = trajectory.view();
  return std::all_of(k.begin(), k.end(), [&](double v) { return std::abs(v - std::round(v)) <= tolerance; });
}

Index crop_start(Index from, Index to) { return from / 2 - to / 2; }

}  // namespace spinloom
