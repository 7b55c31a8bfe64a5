#include <cmath>
#include <vector>

#include "nlm/reference/padded.hpp"
#include "nlm/reference/reference.hpp"
#include "nlm/schraudolph.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::reference {
namespace {

/// NumPy's sum of a contiguous array: eight running sums below 128 elements, halves above.
template <class Real>
Real pairwise_sum(const Real* v, Index n) {
  if (n < 8) {
    Real sum = n > 0 ? v[0] : Real(0);
    for (Index i = 1; i < n; ++i) sum += v[i];
    return sum;
  }
  if (n <= 128) {
    Real r[8];
    for (Index i = 0; i < 8; ++i) r[i] = v[i];
    Index i = 8;
    for (; i < n - n % 8; i += 8)
      for (Index j = 0; j < 8; ++j) r[j] += v[i + j];
    Real sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum += v[i];
    return sum;
  }
  const Index half = n / 2 - n / 2 % 8;
  return pairwise_sum(v, half) + pairwise_sum(v + half, n - half);
}

template <class Real>
std::vector<Real> patch_weights(const NlmProblem& problem) {
  const Index s = problem.patch[3];
  const Real a = static_cast<Real>((static_cast<double>(s) - 1) / 4);
  const Real width = Real(2) * a * a;
  Box patch;
  for (std::size_t axis = 0; axis < nlm_axes; ++axis)
    patch.set(axis, -(problem.patch[axis] / 2), problem.patch[axis] / 2 + 1);
  std::vector<Real> w;
  for_each(patch, [&](const Position& r) {
    Real square = 0;
    for (std::size_t axis = nlm_axes - static_cast<std::size_t>(problem.axes); axis < nlm_axes; ++axis)
      square = square + static_cast<Real>(r[axis]) * static_cast<Real>(r[axis]);
    w.push_back(static_cast<Real>(std::exp(static_cast<double>(-square / width))));
  });
  const Real sum = pairwise_sum(w.data(), static_cast<Index>(w.size()));
  const Real h = static_cast<Real>(problem.h);
  const Real scale = Real(1) / (static_cast<Real>(problem.channels) * sum * h * h);
  for (Real& v : w) v *= scale;
  return w;
}

}  // namespace

template <class Real>
void scikit_image_classic(const NlmProblem& problem, View<const Real> image, View<Real> result,
                          const Progress& progress) {
  const Index channels = problem.channels;
  const Padded u = pad(problem, image, problem.patch[3] / 2);
  const std::vector<Real> g = patch_weights<Real>(problem);
  const auto variance = static_cast<Real>(problem.sigma * problem.sigma * 2);
  const auto value = [&](Index cell, Index c) {
    return static_cast<Real>(u.values[static_cast<std::size_t>(cell * channels + c)]);
  };
  const std::size_t first = nlm_axes - static_cast<std::size_t>(problem.axes);
  Box patch, inside;
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    patch.set(a, 0, problem.patch[a]);
    inside.set(a, 0, problem.extent[a]);
  }
  std::vector<Index> samples;
  for_each(patch, [&](const Position& e) { samples.push_back(u.offset(e)); });
  const auto plane = static_cast<std::size_t>(static_cast<Index>(samples.size()) / problem.patch[first]);

  std::vector<Real> sum(static_cast<std::size_t>(channels));
  Real* to = result.data;
  Index done = 0;
  for_each(inside, [&](const Position& p) {
    Box window;
    for (std::size_t a = 0; a < nlm_axes; ++a)
      window.set(a, std::max<Index>(0, p[a] - problem.distance[a]),
                 std::min(problem.extent[a], p[a] + problem.distance[a] + 1));
    Real weight_sum = 0;
    std::fill(sum.begin(), sum.end(), Real(0));
    // The corner of p's patch in the padded image lies at p itself.
    const Index here = u.offset(p);
    Index border = 0;
    for (std::size_t a = 0; a < nlm_axes; ++a) border += u.border[a] * u.stride[a];
    for_each(window, [&](const Position& q) {
      const Index there = u.offset(q);
      Real distance = 0, weight = 0;
      bool is_dropped = false;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        if (i > 0 && i % plane == 0 && distance > Real(nlm_cutoff)) {
          is_dropped = true;
          break;
        }
        for (Index c = 0; c < channels; ++c) {
          const Real difference = value(here + samples[i], c) - value(there + samples[i], c);
          distance += g[i] * (difference * difference - variance);
        }
      }
      // Beyond it the exponent of the result would run out; scikit-image lets it.
      if (distance > Real(farthest_distance) && problem.compat == NlmCompat::none) is_dropped = true;
      if (!is_dropped)
        weight = static_cast<Real>(schraudolph_exp(-static_cast<double>(distance > 0 ? distance : 0)));
      weight_sum += weight;
      for (Index c = 0; c < channels; ++c)
        sum[static_cast<std::size_t>(c)] += weight * value(there + border, c);
    });
    for (const Real v : sum) *to++ = v / weight_sum;
    if (++done % 4096 == 0 || done == problem.voxels()) {
      check_interrupt();
      if (progress)
        progress("non-local means", static_cast<double>(done) / static_cast<double>(problem.voxels()), "");
    }
  });
}

template void scikit_image_classic(const NlmProblem&, View<const float>, View<float>, const Progress&);
template void scikit_image_classic(const NlmProblem&, View<const double>, View<double>, const Progress&);

}  // namespace spinloom::reference
