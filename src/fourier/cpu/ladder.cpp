#include "fourier/cpu/ladder.hpp"

#include <atomic>
#include <cmath>

#include "spinloom/runtime/threads.hpp"

// The rungs that are plain C++. Pointers are not marked as apart from each other on purpose where a rung is
// there to show what that costs.
namespace spinloom::cpu {
namespace {

constexpr float two_pi = 6.2831853f;
constexpr Index voxel_block = 256;
constexpr Index chunk = 1024;  // samples; 20 KB, below a level 1 cache

}  // namespace

LadderProblem::LadderProblem(const Trajectory& trajectory, const Shape& matrix, View<const cfloat> kspace)
    : samples(trajectory.samples()), voxels(count(matrix)), line(matrix.back()) {
  for (Array<float>* a : {&kz, &ky, &kx, &re, &im}) *a = Array<float>::zeros({samples + ladder_padding});
  for (Array<float>* a : {&z, &y, &x, &rho_re, &rho_im}) *a = Array<float>::zeros({voxels + ladder_padding});
  Array<float>* const k[] = {&kx, &ky, &kz};
  Array<float>* const r[] = {&x, &y, &z};
  Index inner = 1;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::size_t d = matrix.size() - 1 - i;
    const Index n = matrix[d];
    std::copy_n(trajectory.axis(static_cast<int>(d)).data, samples, k[i]->data());
    for (Index v = 0; v < voxels; ++v) (*r[i])[v] = float(double(v / inner % n - n / 2) / double(n));
    inner *= n;
  }
  for (Index m = 0; m < samples; ++m) {
    re[m] = kspace[m].real();
    im[m] = kspace[m].imag();
  }
}

void ladder_scatter(LadderProblem& p) {
  parallel_blocks(p.samples, 4, [&](Index begin, Index end, int) {
    for (Index m = begin; m < end; ++m)
      for (Index n = 0; n < p.voxels; ++n) {
        const float phase = two_pi * (p.kz[m] * p.z[n] + p.ky[m] * p.y[n] + p.kx[m] * p.x[n]);
        const float c = std::cos(phase), s = std::sin(phase);
        std::atomic_ref<float>(p.rho_re[n]).fetch_add(p.re[m] * c - p.im[m] * s, std::memory_order_relaxed);
        std::atomic_ref<float>(p.rho_im[n]).fetch_add(p.re[m] * s + p.im[m] * c, std::memory_order_relaxed);
      }
  });
}

void ladder_gather(LadderProblem& p) {
  parallel_blocks(p.voxels, voxel_block, [&](Index begin, Index end, int) {
    const float *kz = p.kz.data(), *ky = p.ky.data(), *kx = p.kx.data(), *re = p.re.data(), *im = p.im.data();
    const float *z = p.z.data(), *y = p.y.data(), *x = p.x.data();
    float *rho_re = p.rho_re.data(), *rho_im = p.rho_im.data();
    for (Index n = begin; n < end; ++n)
      for (Index m = 0; m < p.samples; ++m) {
        const float phase = two_pi * (kz[m] * z[n] + ky[m] * y[n] + kx[m] * x[n]);
        const float c = std::cos(phase), s = std::sin(phase);
        rho_re[n] += re[m] * c - im[m] * s;
        rho_im[n] += re[m] * s + im[m] * c;
      }
  });
}

void ladder_fission(LadderProblem& p) {
  for (Index m = 0; m < p.samples; ++m) {
    p.kz[m] *= two_pi;
    p.ky[m] *= two_pi;
    p.kx[m] *= two_pi;
  }
  parallel_blocks(p.voxels, voxel_block, [&](Index begin, Index end, int) {
    const float *kz = p.kz.data(), *ky = p.ky.data(), *kx = p.kx.data(), *re = p.re.data(), *im = p.im.data();
    const float *z = p.z.data(), *y = p.y.data(), *x = p.x.data();
    float *rho_re = p.rho_re.data(), *rho_im = p.rho_im.data();
    Array<float> phases({chunk});
    float* phase = phases.data();
    for (Index n = begin; n < end; ++n)
      for (Index first = 0; first < p.samples; first += chunk) {
        const Index length = std::min(chunk, p.samples - first);
        for (Index j = 0; j < length; ++j)
          phase[j] = kz[first + j] * z[n] + ky[first + j] * y[n] + kx[first + j] * x[n];
        for (Index j = 0; j < length; ++j) {
          const float c = std::cos(phase[j]), s = std::sin(phase[j]);
          rho_re[n] += re[first + j] * c - im[first + j] * s;
          rho_im[n] += re[first + j] * s + im[first + j] * c;
        }
      }
  });
}

namespace {

/// Coordinates and sums of a voxel in registers; samples [first, first + length) from arrays.
void gather_voxel(LadderProblem& p, Index n, Index first, Index length) {
  const float *kz = p.kz.data() + first, *ky = p.ky.data() + first, *kx = p.kx.data() + first;
  const float *re = p.re.data() + first, *im = p.im.data() + first;
  const float z = two_pi * p.z[n], y = two_pi * p.y[n], x = two_pi * p.x[n];
  float sum_re = 0, sum_im = 0;
  for (Index m = 0; m < length; ++m) {
    const float phase = kz[m] * z + ky[m] * y + kx[m] * x;
    const float c = std::cos(phase), s = std::sin(phase);
    sum_re += re[m] * c - im[m] * s;
    sum_im += re[m] * s + im[m] * c;
  }
  p.rho_re[n] += sum_re;
  p.rho_im[n] += sum_im;
}

}  // namespace

void ladder_registers(LadderProblem& p) {
  parallel_blocks(p.voxels, voxel_block, [&](Index begin, Index end, int) {
    for (Index n = begin; n < end; ++n) gather_voxel(p, n, 0, p.samples);
  });
}

void ladder_chunk_arrays(LadderProblem& p) {
  parallel_blocks(p.voxels, voxel_block, [&](Index begin, Index end, int) {
    for (Index first = 0; first < p.samples; first += chunk)
      for (Index n = begin; n < end; ++n) gather_voxel(p, n, first, std::min(chunk, p.samples - first));
  });
}

std::vector<LadderSample> ladder_samples(const LadderProblem& p) {
  std::vector<LadderSample> samples(static_cast<std::size_t>(p.samples));
  for (Index m = 0; m < p.samples; ++m)
    samples[static_cast<std::size_t>(m)] = {p.kz[m], p.ky[m], p.kx[m], p.re[m], p.im[m]};
  return samples;
}

void ladder_chunk_structures(LadderProblem& p) {
  const auto samples = ladder_samples(p);
  parallel_blocks(p.voxels, voxel_block, [&](Index begin, Index end, int) {
    for (Index first = 0; first < p.samples; first += chunk)
      for (Index n = begin; n < end; ++n) {
        const float z = two_pi * p.z[n], y = two_pi * p.y[n], x = two_pi * p.x[n];
        float sum_re = 0, sum_im = 0;
        const LadderSample* stop = samples.data() + std::min(first + chunk, p.samples);
        for (const LadderSample* q = samples.data() + first; q != stop; ++q) {
          const float phase = q->kz * z + q->ky * y + q->kx * x;
          const float c = std::cos(phase), s = std::sin(phase);
          sum_re += q->re * c - q->im * s;
          sum_im += q->re * s + q->im * c;
        }
        p.rho_re[n] += sum_re;
        p.rho_im[n] += sum_im;
      }
  });
}

}  // namespace spinloom::cpu
