#pragma once
#include <vector>

#include "nlm/problem.hpp"
#include "nlm/reflect.hpp"

namespace spinloom::reference {

using Position = std::array<Index, nlm_axes>;

struct Box {
  Position low{}, high{};
  void set(std::size_t axis, Index from, Index to) { low[axis] = from, high[axis] = to; }
};

/// body(position) in C order; nothing for an empty box.
template <class Body>
void for_each(const Box& box, const Body& body) {
  Position p;
  for (p[0] = box.low[0]; p[0] < box.high[0]; ++p[0])
    for (p[1] = box.low[1]; p[1] < box.high[1]; ++p[1])
      for (p[2] = box.low[2]; p[2] < box.high[2]; ++p[2])
        for (p[3] = box.low[3]; p[3] < box.high[3]; ++p[3]) body(p);
}

/// An image in double with a reflected border along its own spatial axes, channels innermost.
struct Padded {
  Position extent, stride, border;
  std::vector<double> values;

  Index cells() const { return extent[0] * stride[0]; }
  Index offset(const Position& p) const {
    return p[0] * stride[0] + p[1] * stride[1] + p[2] * stride[2] + p[3] * stride[3];
  }
  Box inside() const {
    Box box;
    for (std::size_t a = 0; a < nlm_axes; ++a) box.set(a, border[a], extent[a] - border[a]);
    return box;
  }
};

template <class Real>
Padded pad(const NlmProblem& problem, View<const Real> image, Index border) {
  Padded u;
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    u.border[a] = a < nlm_axes - static_cast<std::size_t>(problem.axes) ? 0 : border;
    u.extent[a] = problem.extent[a] + 2 * u.border[a];
  }
  u.stride = {u.extent[1] * u.extent[2] * u.extent[3], u.extent[2] * u.extent[3], u.extent[3], 1};
  const Index channels = image.shape.back();
  u.values.reserve(static_cast<std::size_t>(u.cells() * channels));
  Box all;
  for (std::size_t a = 0; a < nlm_axes; ++a) all.set(a, 0, u.extent[a]);
  for_each(all, [&](const Position& p) {
    Index at = 0;
    for (std::size_t a = 0; a < nlm_axes; ++a)
      at = at * problem.extent[a] + reflect(p[a] - u.border[a], problem.extent[a]);
    for (Index c = 0; c < channels; ++c) u.values.push_back(static_cast<double>(image[at * channels + c]));
  });
  return u;
}

}  // namespace spinloom::reference
