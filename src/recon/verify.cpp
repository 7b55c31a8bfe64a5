#include "spinloom/recon/verify.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "fourier/reference/dft.hpp"
#include "fourier/reference/off_resonance.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

constexpr Index pair_budget = 200'000'000;  // exact pairs per direction: about two seconds on one core
constexpr Index most_places = 256;

/// As many of `count` places as the budget allows, at least one, without repeats and in order.
std::vector<Index> choose(Index count, Index cost_each, std::mt19937_64& bits) {
  const Index wanted =
      std::clamp<Index>(pair_budget / std::max<Index>(cost_each, 1), 1, std::min(count, most_places));
  std::vector<Index> places;
  for (Index i = 0; i < wanted; ++i)
    places.push_back(static_cast<Index>(bits() % static_cast<std::uint64_t>(count)));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

/// Relative L2 error over pairs of (got, expected).
class Error {
 public:
  void add(cdouble got, cdouble expected) {
    gap_ += std::norm(got - expected);
    size_ += std::norm(expected);
  }
  double value() const { return size_ > 0 ? std::sqrt(gap_ / size_) : std::sqrt(gap_); }

 private:
  double gap_ = 0, size_ = 0;
};

cdouble forward_at(const Measurement& m, const Reconstruction& r, View<const cdouble> image, Index sample) {
  return r.off_resonance ? reference::dft_forward_at(*m.trajectory, *r.off_resonance, image, sample)
                         : reference::dft_forward_at(*m.trajectory, m.matrix, image, sample);
}
cdouble adjoint_at(const Measurement& m, const Reconstruction& r, View<const cdouble> samples, Index voxel) {
  return r.off_resonance ? reference::dft_adjoint_at(*m.trajectory, *r.off_resonance, samples, voxel)
                         : reference::dft_adjoint_at(*m.trajectory, m.matrix, samples, voxel);
}

}  // namespace

Verification verify(const Measurement& m, const Reconstruction& r, unsigned seed) {
  Verification v;
  const Index coils = m.coils(), samples = m.samples(), voxels = count(m.matrix);
  if (samples == 0) return v;
  const double scale = 1 / std::sqrt(double(voxels));
  std::mt19937_64 bits(seed);
  const auto chosen_samples = choose(samples, coils * voxels, bits);
  const auto chosen_voxels = choose(voxels, coils * samples, bits);
  v.samples = static_cast<Index>(chosen_samples.size());
  v.voxels = static_cast<Index>(chosen_voxels.size());

  Array<cfloat> x(m.matrix), y({coils, samples}), ex({coils, samples}), ehy(m.matrix);
  fill_random(x.view(), seed + 1);
  fill_random(y.view(), seed + 2);
  // Images are where the operator works; k-space may stay on the host.
  const Device there = r.encoding->device();
  const auto x_there = Array<cfloat>::copy_of(x.view(), there);
  Array<cfloat> image_there(m.matrix, there);
  r.encoding->forward(x_there.view(), ex.view());
  r.encoding->adjoint(y.view(), image_there.view());
  transfer<cfloat>(image_there.view(), ehy.view());

  Error forward, adjoint;
  Array<cdouble> coil_image(m.matrix), coil_data({samples});
  std::vector<cdouble> exact_adjoint(chosen_voxels.size(), 0.0), exact(chosen_samples.size());
  for (Index c = 0; c < coils; ++c) {
    const cfloat* s = r.maps->data() + c * voxels;
    for (Index n = 0; n < voxels; ++n) coil_image[n] = cdouble(s[n]) * cdouble(x[n]);
    for (Index i = 0; i < samples; ++i) coil_data[i] = cdouble(y[c * samples + i]);
    parallel_blocks(v.samples, 1, [&](Index begin, Index, int) {
      const auto i = static_cast<std::size_t>(begin);
      exact[i] = scale * forward_at(m, r, coil_image.view(), chosen_samples[i]);
    });
    for (std::size_t i = 0; i < exact.size(); ++i) forward.add(ex[c * samples + chosen_samples[i]], exact[i]);
    parallel_blocks(v.voxels, 1, [&](Index begin, Index, int) {
      const auto i = static_cast<std::size_t>(begin);
      exact_adjoint[i] += scale * std::conj(cdouble(s[chosen_voxels[i]])) *
                          adjoint_at(m, r, coil_data.view(), chosen_voxels[i]);
    });
  }
  for (std::size_t i = 0; i < exact_adjoint.size(); ++i) adjoint.add(ehy[chosen_voxels[i]], exact_adjoint[i]);
  v.relative_error_forward = forward.value();
  v.relative_error_adjoint = adjoint.value();
  v.adjoint_gap = adjoint_mismatch<float>(*r.encoding, seed + 3);

  if (r.normal) {
    Array<cfloat> once(m.matrix, there), both(m.matrix, there);
    r.normal->forward(x_there.view(), once.view());
    r.encoding->adjoint(ex.view(), both.view());
    const double size = norm<cfloat>(both.view());
    v.relative_error_normal = size > 0 ? distance<cfloat>(once.view(), both.view()) / size : 0;
  }
  return v;
}

}  // namespace spinloom
