#include "recon/assemble/slices.hpp"

#include <fmt/format.h>

#include <cmath>

namespace spinloom::assembly {
namespace {

using Vector = std::array<double, 3>;
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

}  // namespace

void space_slices(std::vector<Measurement>& measurements, const Log& log) {
  std::vector<const Measurement*> stack;
  const FrameLabel first = measurements.front().label;
  for (const Measurement& m : measurements) {
    FrameLabel label = m.label;
    label.slice = first.slice;
    if (label == first) stack.push_back(&m);
  }
  if (stack.size() < 2) return;
  const auto corner = [](const Measurement& m) {
    return Vector{m.geometry.matrix[0][3], m.geometry.matrix[1][3], m.geometry.matrix[2][3]};
  };
  const Vector begin = corner(*stack.front()), end = corner(*stack.back());
  const double gaps = double(stack.back()->label.slice - stack.front()->label.slice);
  Vector step{};
  for (std::size_t i = 0; i < 3; ++i) step[i] = (end[i] - begin[i]) / gaps;
  if (!(dot(step, step) > 0)) return;  // all at one place: the file gives no positions

  double largest = 0;
  for (const Measurement* m : stack) {
    const double n = double(m->label.slice - first.slice);
    const Vector here = corner(*m);
    Vector off{};
    for (std::size_t i = 0; i < 3; ++i) off[i] = here[i] - begin[i] - n * step[i];
    largest = std::max(largest, std::sqrt(dot(off, off)));
  }
  if (largest > 0.01 * std::sqrt(dot(step, step)))
    warn(log, fmt::format(
                  "slices are not evenly spaced: one lies {:.3g} mm off; {:.3g} mm is taken between slices",
                  largest, std::sqrt(dot(step, step))));
  for (Measurement& m : measurements)
    for (std::size_t i = 0; i < 3; ++i) m.geometry.matrix[i][2] = step[i];
}

}  // namespace spinloom::assembly
