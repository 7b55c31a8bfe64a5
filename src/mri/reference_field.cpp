#include "mri/reference_field.hpp"

#include <algorithm>
#include <cmath>

#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

using Vector = std::vector<cdouble>;

// Blocks of at least 8 voxels hold enough of them to tell signal from noise; 16 per axis follow any coil's
// phase.
constexpr Index least_block = 8, most_blocks = 16;
constexpr int eigenvector_steps = 40;  // only a starting point and a phase are wanted
constexpr int smoothing_steps = 8;

double size_of(const Vector& v) {
  double sum = 0;
  for (const cdouble z : v) sum += std::norm(z);
  return std::sqrt(sum);
}

/// v / |v|; false when v is zero.
bool normalise(Vector& v) {
  const double size = size_of(v);
  if (!(size > 0)) return false;
  for (cdouble& z : v) z /= size;
  return true;
}

Vector multiply(const Vector& matrix, const Vector& v) {
  const std::size_t n = v.size();
  Vector out(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out[i] += matrix[i * n + j] * v[j];
  return out;
}

/// By the power method from the column of the largest diagonal entry, which has a part along it.
Vector dominant_eigenvector(const Vector& matrix, std::size_t n) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (matrix[i * n + i].real() > matrix[largest * n + largest].real()) largest = i;
  Vector v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = matrix[i * n + largest];
  for (int step = 0; step < eigenvector_steps && normalise(v); ++step) v = multiply(matrix, v);
  normalise(v);
  return v;
}

}  // namespace

template <class Real>
ReferenceField::ReferenceField(View<const std::complex<Real>> images, double scale)
    : coils_(images.shape[0]) {
  const Index voxels = count(images.slice(0).shape);
  for (std::size_t a = 0; a < 3; ++a) {
    matrix_[a] = images.shape[a + 1];
    blocks_[a] = std::clamp<Index>(matrix_[a] / least_block, 1, most_blocks);
  }
  const Index total = blocks_[0] * blocks_[1] * blocks_[2];
  const auto n = std::size_t(coils_);
  covariance_.assign(std::size_t(total), {});
  energy_.assign(std::size_t(total), 0);
  parallel_blocks(total, 1, [&](Index b, Index, int) {
    const Index place[3] = {b / (blocks_[1] * blocks_[2]), b / blocks_[2] % blocks_[1], b % blocks_[2]};
    Index from[3], to[3];
    for (std::size_t a = 0; a < 3; ++a) {
      from[a] = place[a] * matrix_[a] / blocks_[a];
      to[a] = (place[a] + 1) * matrix_[a] / blocks_[a];
    }
    Vector sum(n * n), v(n);
    for (Index z = from[0]; z < to[0]; ++z)
      for (Index y = from[1]; y < to[1]; ++y)
        for (Index x = from[2]; x < to[2]; ++x) {
          const Index voxel = (z * matrix_[1] + y) * matrix_[2] + x;
          for (std::size_t c = 0; c < n; ++c) v[c] = scale * cdouble(images[Index(c) * voxels + voxel]);
          for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) sum[i * n + j] += v[i] * std::conj(v[j]);
        }
    double trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += sum[i * n + i].real();
    if (!(trace > 0)) return;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        sum[i * n + j] /= trace;
        sum[j * n + i] = std::conj(sum[i * n + j]);
      }
    energy_[std::size_t(b)] = trace / double((to[0] - from[0]) * (to[1] - from[1]) * (to[2] - from[2]));
    covariance_[std::size_t(b)] = std::move(sum);
  });
  align();
}

// Turns the blocks' eigenvectors to one another. A vector common to the whole image would not do as a
// reference: far from where it is strong, coils that see only their own end of a long object have no part in
// it but noise. So phases are handed from block to block, the brightest neighbour of what is done coming
// next; then a few steps of g = R (mean of the neighbours' g) take out the seams where two fronts met.
void ReferenceField::align() {
  const auto n = std::size_t(coils_);
  const Index total = Index(energy_.size());
  const auto neighbours = [&](Index b, const auto& body) {
    const Index pz = b / (blocks_[1] * blocks_[2]), py = b / blocks_[2] % blocks_[1], px = b % blocks_[2];
    for (Index z = std::max<Index>(pz - 1, 0); z <= std::min(pz + 1, blocks_[0] - 1); ++z)
      for (Index y = std::max<Index>(py - 1, 0); y <= std::min(py + 1, blocks_[1] - 1); ++y)
        for (Index x = std::max<Index>(px - 1, 0); x <= std::min(px + 1, blocks_[2] - 1); ++x)
          body((z * blocks_[1] + y) * blocks_[2] + x);
  };
  // Empty blocks weigh next to nothing, but not nothing, so that an empty neighbourhood has a mean.
  const double least = 1e-12 * *std::max_element(energy_.begin(), energy_.end()) + 1e-300;
  std::vector<bool> done(std::size_t(total), false), near(std::size_t(total), false);
  const auto mean = [&](Index b) {
    Vector sum(n);
    neighbours(b, [&](Index other) {
      if (!done[std::size_t(other)]) return;
      const double weight = energy_[std::size_t(other)] + least;
      for (std::size_t c = 0; c < n; ++c) sum[c] += weight * g_[std::size_t(other)][c];
    });
    return sum;
  };

  g_.assign(std::size_t(total), Vector(n));
  near[std::size_t(std::max_element(energy_.begin(), energy_.end()) - energy_.begin())] = true;
  for (Index step = 0; step < total; ++step) {
    Index b = -1;
    for (Index other = 0; other < total; ++other)
      if (near[std::size_t(other)] && (b < 0 || energy_[std::size_t(other)] > energy_[std::size_t(b)]))
        b = other;
    Vector around = mean(b);
    Vector& g = g_[std::size_t(b)];
    if (covariance_[std::size_t(b)].empty()) {
      g = std::move(around);
      if (!normalise(g)) g.assign(n, 1 / std::sqrt(double(n)));
    } else {
      g = dominant_eigenvector(covariance_[std::size_t(b)], n);
      cdouble overlap = 0;
      for (std::size_t c = 0; c < n; ++c) overlap += std::conj(g[c]) * around[c];
      if (step == 0)  // nothing to agree with yet: the strongest coil becomes real
        overlap = std::conj(*std::max_element(
            g.begin(), g.end(), [](cdouble p, cdouble q) { return std::norm(p) < std::norm(q); }));
      if (std::abs(overlap) > 0)
        for (cdouble& z : g) z *= overlap / std::abs(overlap);
    }
    done[std::size_t(b)] = true;
    near[std::size_t(b)] = false;
    neighbours(b, [&](Index other) {
      if (!done[std::size_t(other)]) near[std::size_t(other)] = true;
    });
  }

  for (int step = 0; step < smoothing_steps; ++step) {
    auto next = g_;
    for (Index b = 0; b < total; ++b) {
      Vector smooth = mean(b);
      if (!covariance_[std::size_t(b)].empty()) smooth = multiply(covariance_[std::size_t(b)], smooth);
      if (normalise(smooth)) next[std::size_t(b)] = std::move(smooth);
    }
    g_ = std::move(next);
  }
}

void ReferenceField::row(Index z, Index y, Index begin, Index length, std::vector<cdouble>& out) const {
  // Linear between the centres of the blocks, constant beyond the outermost.
  const auto locate = [&](std::size_t a, Index position, Index& low, Index& high, double& share) {
    const double at = (double(position) + 0.5) * double(blocks_[a]) / double(matrix_[a]) - 0.5;
    const double inside = std::clamp(at, 0.0, double(blocks_[a] - 1));
    low = Index(inside);
    high = std::min(low + 1, blocks_[a] - 1);
    share = inside - double(low);
  };
  Index pz[2], py[2], px[2];
  double tz, ty, tx;
  locate(0, z, pz[0], pz[1], tz);
  locate(1, y, py[0], py[1], ty);
  // The row's own nodes first, then along x.
  std::vector<Vector> nodes(static_cast<std::size_t>(blocks_[2]), Vector(static_cast<std::size_t>(coils_)));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const double weight = (i == 1 ? tz : 1 - tz) * (j == 1 ? ty : 1 - ty);
      for (Index b = 0; b < blocks_[2]; ++b) {
        const Vector& g = g_[std::size_t((pz[i] * blocks_[1] + py[j]) * blocks_[2] + b)];
        for (std::size_t c = 0; c < g.size(); ++c) nodes[std::size_t(b)][c] += weight * g[c];
      }
    }
  out.resize(std::size_t(coils_ * length));
  for (Index i = 0; i < length; ++i) {
    locate(2, begin + i, px[0], px[1], tx);
    for (Index c = 0; c < coils_; ++c)
      out[std::size_t(c * length + i)] = (1 - tx) * nodes[std::size_t(px[0])][std::size_t(c)] +
                                         tx * nodes[std::size_t(px[1])][std::size_t(c)];
  }
}

template ReferenceField::ReferenceField(View<const cfloat>, double);
template ReferenceField::ReferenceField(View<const cdouble>, double);

}  // namespace spinloom
