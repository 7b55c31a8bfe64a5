#include "spinloom/mri/whitening.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index block_size = 1 << 12;
constexpr double dead_variance = 1e-12;  // of the median: far below any receiver's spread of gains
constexpr double singular_pivot = 1e-6;  // of a channel's variance; float data hold 1e-7 of an amplitude
constexpr double added_diagonal = 1e-4;  // amplifies what little is left of a copied channel by 100 at most

void require_channels(const char* what, View<const cfloat> data) {
  if (data.shape.size() != 2)
    throw ShapeError(
        fmt::format("whitening: {} has shape {}, expected [channels, samples]", what, to_string(data.shape)));
  if (all_finite(data)) return;
  for (Index i = 0; i < data.size(); ++i)
    if (!std::isfinite(data[i].real()) || !std::isfinite(data[i].imag()))
      throw ArgumentError(
          fmt::format("whitening: {} has the value {} + {}i in channel {}, sample {}; remove that sample",
                      what, data[i].real(), data[i].imag(), i / data.shape[1], i % data.shape[1]));
}

Array<cdouble> covariance_of(View<const cfloat> noise) {
  const Index channels = noise.shape[0], samples = noise.shape[1], entries = channels * channels;
  const Index blocks = (samples + block_size - 1) / block_size;
  auto partial = Array<cdouble>::zeros({blocks, entries});
  parallel_blocks(samples, block_size, [&](Index begin, Index end, int) {
    cdouble* sum = partial.data() + begin / block_size * entries;
    for (Index i = 0; i < channels; ++i)
      for (Index j = 0; j <= i; ++j) {
        const cfloat *a = noise.data + i * samples, *b = noise.data + j * samples;
        double re = 0, im = 0;
        for (Index m = begin; m < end; ++m) {
          const double ar = a[m].real(), ai = a[m].imag(), br = b[m].real(), bi = b[m].imag();
          re += ar * br + ai * bi;
          im += ai * br - ar * bi;
        }
        sum[i * channels + j] = {re, im};
      }
  });
  auto covariance = Array<cdouble>::zeros({channels, channels});
  for (Index block = 0; block < blocks; ++block)
    for (Index e = 0; e < entries; ++e) covariance[e] += partial[block * entries + e] / double(samples);
  for (Index i = 0; i < channels; ++i)
    for (Index j = 0; j < i; ++j) covariance[j * channels + i] = std::conj(covariance[i * channels + j]);
  return covariance;
}

/// Lower triangular L with L L^H = A, in place of A's lower half. False when a pivot falls below
/// singular_pivot.
bool cholesky(Index n, std::vector<cdouble>& a) {
  const auto at = [&](Index i, Index j) -> cdouble& { return a[std::size_t(i * n + j)]; };
  for (Index j = 0; j < n; ++j) {
    double pivot = at(j, j).real();
    for (Index k = 0; k < j; ++k) pivot -= std::norm(at(j, k));
    if (!(pivot > singular_pivot)) return false;
    at(j, j) = std::sqrt(pivot);
    for (Index i = j + 1; i < n; ++i) {
      cdouble sum = at(i, j);
      for (Index k = 0; k < j; ++k) sum -= at(i, k) * std::conj(at(j, k));
      at(i, j) = sum / at(j, j).real();
    }
  }
  return true;
}

/// L^-1 by forward substitution, column by column.
Array<cdouble> invert_lower(Index n, const std::vector<cdouble>& l) {
  auto inverse = Array<cdouble>::zeros({n, n});
  for (Index c = 0; c < n; ++c)
    for (Index i = c; i < n; ++i) {
      cdouble sum = i == c ? 1 : 0;
      for (Index k = c; k < i; ++k) sum -= l[std::size_t(i * n + k)] * inverse[k * n + c];
      inverse[i * n + c] = sum / l[std::size_t(i * n + i)].real();
    }
  return inverse;
}

double variance(const Array<cdouble>& covariance, Index channel) {
  return covariance[channel * covariance.shape()[0] + channel].real();
}

std::vector<Index> find_living(const Array<cdouble>& covariance, View<const cfloat> kspace, const Log& log) {
  const Index channels = covariance.shape()[0];
  std::vector<double> sorted;
  for (Index c = 0; c < channels; ++c) sorted.push_back(variance(covariance, c));
  // The upper median, so that it is of a living channel while at least half of them are.
  std::nth_element(sorted.begin(), sorted.begin() + channels / 2, sorted.end());
  const double least = dead_variance * sorted[std::size_t(channels / 2)];

  std::vector<Index> living;
  for (Index c = 0; c < channels; ++c) {
    const bool no_noise = variance(covariance, c) <= least;
    const bool no_data = kspace.data != nullptr && kspace.shape[1] > 0 && norm<cfloat>(kspace.slice(c)) == 0;
    if (!no_noise && !no_data)
      living.push_back(c);
    else
      warn(log, fmt::format("channel {} is dropped: its {} is zero", c,
                            no_noise && no_data ? "noise and its data"
                            : no_noise          ? "noise"
                                                : "data"));
  }
  if (living.empty())
    throw ArgumentError(
        fmt::format("whitening: none of {} channels has both noise and data; "
                    "reconstruct without whitening or check the noise scan",
                    channels));
  return living;
}

double bandwidth_factor(const WhiteningOptions& options) {
  for (const double v : {options.image_dwell_time, options.noise_dwell_time})
    if (!(v >= 0 && std::isfinite(v)))
      throw ArgumentError(
          fmt::format("whitening: dwell time {} s, expected a positive time, or 0 for unknown", v));
  if (!(options.relative_noise_bandwidth > 0 && std::isfinite(options.relative_noise_bandwidth)))
    throw ArgumentError(
        fmt::format("whitening: relative noise bandwidth {}, expected a positive number (1 if unknown)",
                    options.relative_noise_bandwidth));
  if (options.image_dwell_time == 0 || options.noise_dwell_time == 0) {
    note(options.log, "a dwell time is unknown: noise and image scan are taken to be sampled alike");
    return std::sqrt(options.relative_noise_bandwidth);
  }
  return std::sqrt(options.image_dwell_time / options.noise_dwell_time * options.relative_noise_bandwidth);
}

}  // namespace

Whitening make_whitening(View<const cfloat> noise, View<const cfloat> kspace,
                         const WhiteningOptions& options) {
  require_channels("the noise scan", noise);
  if (noise.empty())
    throw ArgumentError(
        fmt::format("whitening: the noise scan has {} channels of {} samples, expected at least 1 of each",
                    noise.shape[0], noise.shape[1]));
  if (kspace.data != nullptr) {
    require_channels("the data", kspace);
    if (kspace.shape[0] != noise.shape[0])
      throw ShapeError(fmt::format(
          "whitening: the noise scan has {} channels, the data {}; both must come from the same coils",
          noise.shape[0], kspace.shape[0]));
  }
  const double factor = bandwidth_factor(options);

  Whitening result;
  result.channels = noise.shape[0];
  result.covariance = covariance_of(noise);
  result.kept = find_living(result.covariance, kspace, options.log);

  // C = D R D with D the standard deviations: R has a unit diagonal, so a pivot's size means something.
  const Index n = Index(result.kept.size());
  std::vector<double> deviation;
  for (const Index c : result.kept) deviation.push_back(std::sqrt(variance(result.covariance, c)));
  const auto correlation = [&](double diagonal) {
    std::vector<cdouble> r(std::size_t(n * n));
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        r[std::size_t(i * n + j)] =
            result.covariance[result.kept[std::size_t(i)] * result.channels + result.kept[std::size_t(j)]] /
                (deviation[std::size_t(i)] * deviation[std::size_t(j)]) +
            (i == j ? diagonal : 0);
    return r;
  };
  auto l = correlation(0);
  if (!cholesky(n, l)) {
    result.regularised = true;
    l = correlation(added_diagonal);
    if (!cholesky(n, l)) throw Error("whitening: the noise covariance has no Cholesky factor");
    warn(options.log,
         fmt::format("the noise of {} channels is nearly dependent ({} noise samples): {:g} of each "
                     "channel's variance was added before whitening",
                     n, noise.shape[1], added_diagonal));
  }
  result.matrix = invert_lower(n, l);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) result.matrix[i * n + j] *= factor / deviation[std::size_t(j)];
  return result;
}

template <class Real>
Array<std::complex<Real>> whiten(const Whitening& whitening, View<const std::complex<Real>> kspace) {
  if (kspace.shape.size() != 2 || kspace.shape[0] != whitening.channels)
    throw ShapeError(
        fmt::format("whitening was made for {} channels, but the data have shape {}, expected [{}, samples]",
                    whitening.channels, to_string(kspace.shape), whitening.channels));
  const Index kept = Index(whitening.kept.size()), samples = kspace.shape[1];
  Array<std::complex<Real>> white({kept, samples});
  parallel_blocks(samples, block_size, [&](Index begin, Index end, int) {
    std::vector<cdouble> sum(std::size_t(end - begin));
    for (Index i = 0; i < kept; ++i) {
      std::fill(sum.begin(), sum.end(), cdouble(0));
      for (Index j = 0; j <= i; ++j) {
        const cdouble m = whitening.matrix[i * kept + j];
        const auto* y = kspace.data + whitening.kept[std::size_t(j)] * samples + begin;
        for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += m * cdouble(y[s]);
      }
      std::transform(sum.begin(), sum.end(), white.data() + i * samples + begin,
                     [](cdouble v) { return std::complex<Real>(v); });
    }
  });
  return white;
}

template Array<cfloat> whiten(const Whitening&, View<const cfloat>);
template Array<cdouble> whiten(const Whitening&, View<const cdouble>);

}  // namespace spinloom
