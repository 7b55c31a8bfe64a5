#include <cmath>
#include <vector>

#include "nlm/reference/padded.hpp"
#include "nlm/reference/reference.hpp"
#include "nlm/schraudolph.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::reference {
namespace {

/// One axis of classic mode's patch: exp(-r^2 / (2 a^2)), a = (s - 1) / 4.
std::vector<double> gaussian(Index patch) {
  std::vector<double> g;
  const double a = (static_cast<double>(patch) - 1) / 4;
  for (Index r = -(patch / 2); r <= patch / 2; ++r)
    g.push_back(patch == 1 ? 1.0 : std::exp(-static_cast<double>(r * r) / (2 * a * a)));
  return g;
}

struct Sample {
  Index offset;   // in cells of the padded image
  double weight;  // 1 in fast mode
  bool starts_plane;
};

std::vector<Sample> patch_samples(const NlmProblem& problem, const Padded& u) {
  Box patch;
  std::vector<double> g[nlm_axes];
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    patch.set(a, problem.first_sample(a), problem.first_sample(a) + problem.samples(a));
    if (problem.mode == NlmMode::classic) g[a] = gaussian(problem.patch[a]);
  }
  const std::size_t outermost = nlm_axes - static_cast<std::size_t>(problem.axes);
  std::vector<Sample> samples;
  double sum = 0;
  Index plane = patch.low[outermost];
  for_each(patch, [&](const Position& x) {
    double weight = 1;
    if (problem.mode == NlmMode::classic)
      for (std::size_t a = 0; a < nlm_axes; ++a)
        weight *= g[a][static_cast<std::size_t>(x[a] - patch.low[a])];
    samples.push_back({u.offset(x), weight, x[outermost] != plane});
    plane = x[outermost];
    sum += weight;
  });
  if (problem.mode == NlmMode::classic)
    for (Sample& s : samples) s.weight /= sum;
  return samples;
}

}  // namespace

template <class Real>
void nlm_direct(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps,
                View<Real> result, const Progress& progress) {
  const bool is_fast = problem.mode == NlmMode::fast;
  const bool is_rician = problem.noise == NlmNoise::rician;
  const bool all_alike = problem.compares_nothing();
  const bool has_guide = maps.guide.data != nullptr;
  Index border = 1;
  for (std::size_t a = 0; a < nlm_axes; ++a)
    border = std::max(border, problem.patch[a] / 2 + problem.distance[a] + 1);
  const Padded u = pad(problem, image, border);
  const Padded compared = has_guide ? pad(problem, maps.guide, border) : Padded();
  const Padded& g = has_guide ? compared : u;
  const bool has_sigma_map = maps.sigma.data != nullptr;
  Shape with_channel = maps.sigma.shape;
  with_channel.push_back(1);
  const Padded sigma =
      has_sigma_map ? pad(problem, View<const Real>(maps.sigma.data, with_channel), border) : Padded();

  const Index channels = problem.channels, guide_channels = problem.guide_channels;
  const auto samples = patch_samples(problem, u);
  const auto value = [&](Index cell, Index c) {
    return u.values[static_cast<std::size_t>(cell * channels + c)];
  };
  const auto twice_variance = [&](Index a, Index b) {
    if (has_guide || !has_sigma_map) return 2 * problem.compared_sigma * problem.compared_sigma;
    const double one = sigma.values[static_cast<std::size_t>(a)],
                 other = sigma.values[static_cast<std::size_t>(b)];
    return one * one + other * other;
  };
  const auto term = [&](Index a, Index b) {
    double sum = 0;
    for (Index c = 0; c < guide_channels; ++c) {
      const double difference = g.values[static_cast<std::size_t>(a * guide_channels + c)] -
                                g.values[static_cast<std::size_t>(b * guide_channels + c)];
      sum += difference * difference;
    }
    return sum - static_cast<double>(guide_channels) * twice_variance(a, b);
  };
  /// The weight of the pair, 0 where it is dropped or its distance is not a number.
  const auto weight_of = [&](Index p, Index q, double h) {
    const double norm = is_fast ? problem.norm(h) : static_cast<double>(guide_channels) * h * h;
    double sum = 0;
    if (all_alike) {
      if (!std::isfinite(term(p, q))) return 0.0;
    } else {
      for (const Sample& s : samples) {
        if (!is_fast && s.starts_plane && !(sum / norm <= nlm_cutoff)) return 0.0;
        sum += s.weight * term(p + s.offset, q + s.offset);
      }
    }
    if (std::isnan(sum)) return 0.0;
    const double distance = std::max(sum, 0.0) / norm;
    return distance <= (is_fast ? nlm_cutoff : farthest_distance) ? schraudolph_exp(-distance) : 0.0;
  };

  Index done = 0;
  Box inside;
  for (std::size_t a = 0; a < nlm_axes; ++a) inside.set(a, 0, problem.extent[a]);
  std::vector<double> sums(static_cast<std::size_t>(channels)), squares(static_cast<std::size_t>(channels));
  for_each(inside, [&](const Position& voxel) {
    const Index i = done++;
    if (done % 256 == 0 || done == problem.voxels()) {
      check_interrupt();
      if (progress)
        progress("non-local means", static_cast<double>(done) / static_cast<double>(problem.voxels()), "");
    }
    const Real* from = image.data + i * channels;
    Real* to = result.data + i * channels;
    std::copy(from, from + channels, to);
    if (maps.mask.data != nullptr && maps.mask[i] == 0) return;

    Position at = voxel;
    Box window;
    for (std::size_t a = 0; a < nlm_axes; ++a) {
      at[a] += u.border[a];
      const Index d = problem.distance[a];
      window.set(a, is_fast ? -d : std::max(-d, -voxel[a]),
                 is_fast ? d + 1 : std::min(d + 1, problem.extent[a] - voxel[a]));
    }
    const Index p = u.offset(at);
    const double h = maps.h.data != nullptr ? static_cast<double>(maps.h[i]) : problem.h;
    double weights = 0;
    std::fill(sums.begin(), sums.end(), 0.0);
    std::fill(squares.begin(), squares.end(), 0.0);
    for_each(window, [&](const Position& t) {
      const Index q = p + u.offset(t);
      const double weight = weight_of(p, q, h);
      if (weight == 0) return;
      weights += weight;
      for (Index c = 0; c < channels; ++c) {
        sums[static_cast<std::size_t>(c)] += weight * value(q, c);
        squares[static_cast<std::size_t>(c)] += weight * value(q, c) * value(q, c);
      }
    });
    if (weights == 0) return;
    for (Index c = 0; c < channels; ++c) {
      if (is_rician) {
        const double s = has_sigma_map ? static_cast<double>(maps.sigma[i]) : problem.sigma;
        const double square = squares[static_cast<std::size_t>(c)] / weights - 2 * s * s;
        to[c] = static_cast<Real>(std::sqrt(std::max(square, 0.0)));
      } else {
        to[c] = static_cast<Real>(sums[static_cast<std::size_t>(c)] / weights);
      }
    }
  });
}

template void nlm_direct(const NlmProblem&, View<const float>, const NlmMaps<float>&, View<float>,
                         const Progress&);
template void nlm_direct(const NlmProblem&, View<const double>, const NlmMaps<double>&, View<double>,
                         const Progress&);

}  // namespace spinloom::reference
