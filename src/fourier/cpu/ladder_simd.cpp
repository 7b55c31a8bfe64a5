#include "core/simd_targets.hpp"
#include "fourier/cpu/ladder.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fourier/cpu/ladder_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fourier/cpu/unit_circle-inl.hpp"
#include "spinloom/runtime/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr Index chunk = 1024;      // samples as structures: 20 KB, below a level 1 cache
constexpr Index line_vectors = 8;  // sums of a stretch of a line that stay in registers
Index lanes() { return static_cast<Index>(hn::Lanes(D())); }

HWY_INLINE CosSin<V> circle(V turns) {
  const D d;
  return unit_circle(d, hn::Sub(turns, hn::Round(turns)));
}

/// `count` vectors of voxels from n on take all samples, chunk by chunk.
template <int count>
void gather_vectors(LadderProblem& p, const LadderSample* samples, Index n, Index first, Index last) {
  const D d;
  V z[count], y[count], x[count], re[count], im[count];
#pragma GCC unroll 4
  for (int v = 0; v < count; ++v) {
    const Index at = n + v * lanes();
    z[v] = hn::Load(d, p.z.data() + at);
    y[v] = hn::Load(d, p.y.data() + at);
    x[v] = hn::Load(d, p.x.data() + at);
    re[v] = im[v] = hn::Zero(d);
  }
  for (Index m = first; m < last; ++m) {
    const V kz = hn::Set(d, samples[m].kz), ky = hn::Set(d, samples[m].ky), kx = hn::Set(d, samples[m].kx);
    const V dr = hn::Set(d, samples[m].re), di = hn::Set(d, samples[m].im);
#pragma GCC unroll 4
    for (int v = 0; v < count; ++v) {
      const auto [c, s] = circle(hn::MulAdd(kz, z[v], hn::MulAdd(ky, y[v], hn::Mul(kx, x[v]))));
      re[v] = hn::MulAdd(dr, c, hn::NegMulAdd(di, s, re[v]));
      im[v] = hn::MulAdd(dr, s, hn::MulAdd(di, c, im[v]));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < count; ++v) {
    float* rho_re = p.rho_re.data() + n + v * lanes();
    float* rho_im = p.rho_im.data() + n + v * lanes();
    hn::Store(hn::Add(re[v], hn::Load(d, rho_re)), d, rho_re);
    hn::Store(hn::Add(im[v], hn::Load(d, rho_im)), d, rho_im);
  }
}

template <int count>
void gather(LadderProblem& p) {
  const auto samples = ladder_samples(p);
  parallel_blocks(p.voxels, 256, [&](Index begin, Index end, int) {
    for (Index first = 0; first < p.samples; first += chunk)
      for (Index n = begin; n < end; n += count * lanes())
        gather_vectors<count>(p, samples.data(), n, first, std::min(first + chunk, p.samples));
  });
}
void polynomial(LadderProblem& p) { gather<1>(p); }
void unrolled(LadderProblem& p) { gather<4>(p); }

/// Along x the phasor of a sample turns by the same angle from vector to vector: one sine and cosine for the
/// first vector of a stretch of eight, a complex product for each of the others.
void recurrence(LadderProblem& p) {
  const auto samples = ladder_samples(p);
  const D d;
  const Index stretch = line_vectors * lanes(), stretches = (p.line + stretch - 1) / stretch;
  Array<float> turn_re({p.samples + ladder_padding}), turn_im({p.samples + ladder_padding});
  for (Index m = 0; m < p.samples; m += lanes()) {
    const auto [c, s] =
        circle(hn::Mul(hn::Load(d, p.kx.data() + m), hn::Set(d, float(lanes()) / float(p.line))));
    hn::Store(c, d, turn_re.data() + m);
    hn::Store(s, d, turn_im.data() + m);
  }
  // Vectors overhang the end of a line: sums are kept apart per line and cut when they are added.
  parallel_blocks(p.voxels / p.line * stretches, 1, [&](Index begin, Index end, int) {
    HWY_ALIGN float line_re[HWY_MAX_BYTES / 4], line_im[HWY_MAX_BYTES / 4];
    HWY_ALIGN float x[HWY_MAX_BYTES / 4];
    for (Index job = begin; job < end; ++job) {
      const Index start = job / stretches * p.line, from = job % stretches * stretch;
      for (Index i = 0; i < lanes(); ++i) x[i] = float(from + i - p.line / 2) / float(p.line);
      const V xs = hn::Load(d, x);
      for (Index first = 0; first < p.samples; first += chunk) {
        V re[line_vectors], im[line_vectors];
#pragma GCC unroll 8
        for (int v = 0; v < line_vectors; ++v) re[v] = im[v] = hn::Zero(d);
        for (Index m = first; m < std::min(first + chunk, p.samples); ++m) {
          const LadderSample& q = samples[static_cast<std::size_t>(m)];
          const float plane = q.kz * p.z[start] + q.ky * p.y[start];
          const auto [c, s] = circle(hn::MulAdd(hn::Set(d, q.kx), xs, hn::Set(d, plane)));
          const V dr = hn::Set(d, q.re), di = hn::Set(d, q.im);
          const V wr = hn::Set(d, turn_re[m]), wi = hn::Set(d, turn_im[m]);
          V pr = hn::NegMulAdd(di, s, hn::Mul(dr, c)), pi = hn::MulAdd(dr, s, hn::Mul(di, c));
#pragma GCC unroll 8
          for (int v = 0; v < line_vectors; ++v) {
            re[v] = hn::Add(re[v], pr);
            im[v] = hn::Add(im[v], pi);
            const V next = hn::NegMulAdd(pi, wi, hn::Mul(pr, wr));
            pi = hn::MulAdd(pr, wi, hn::Mul(pi, wr));
            pr = next;
          }
        }
        for (Index v = 0; v < line_vectors; ++v) {
          hn::Store(re[v], d, line_re);
          hn::Store(im[v], d, line_im);
          for (Index i = 0; i < lanes() && from + v * lanes() + i < p.line; ++i) {
            p.rho_re[start + from + v * lanes() + i] += line_re[i];
            p.rho_im[start + from + v * lanes() + i] += line_im[i];
          }
        }
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {
HWY_EXPORT(lanes);
HWY_EXPORT(polynomial);
HWY_EXPORT(unrolled);
HWY_EXPORT(recurrence);
Index ladder_lanes() { return HWY_DYNAMIC_DISPATCH(lanes)(); }
void ladder_polynomial(LadderProblem& p) { HWY_DYNAMIC_DISPATCH(polynomial)(p); }
void ladder_unrolled(LadderProblem& p) { HWY_DYNAMIC_DISPATCH(unrolled)(p); }
void ladder_recurrence(LadderProblem& p) { HWY_DYNAMIC_DISPATCH(recurrence)(p); }
}  // namespace spinloom::cpu
#endif
