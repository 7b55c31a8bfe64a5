// Included once per SIMD target: the guard toggles, as Highway asks.
#if defined(SPINLOOM_MRI_UNIT_BALL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINLOOM_MRI_UNIT_BALL_INL
#undef SPINLOOM_MRI_UNIT_BALL_INL
#else
#define SPINLOOM_MRI_UNIT_BALL_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spinloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr double two_pi = 6.283185307179586476925;

/// sin and cos of 2 pi t for |t| < 2^49, to 2e-16: whole quarter turns are taken off exactly, the rest,
/// within an eighth of a turn, goes into Taylor sums whose first missing term is below 5e-17.
template <class D, class V>
HWY_INLINE void sincos_turns(D d, V t, V& sine, V& cosine) {
  const hn::RebindToSigned<D> di;
  // Adding 1.5 * 2^52 rounds to an integer and leaves it, in two's complement, in the low bits.
  const V magic = hn::Set(d, 6755399441055744.0);
  const V shifted = hn::MulAdd(t, hn::Set(d, 4.0), magic);
  const V rest = hn::NegMulAdd(hn::Sub(shifted, magic), hn::Set(d, 0.25), t);
  const V a = hn::Mul(rest, hn::Set(d, two_pi)), a2 = hn::Mul(a, a);

  V s = hn::Set(d, -1.0 / 1307674368000.0);  // -1 / 15!
  s = hn::MulAdd(s, a2, hn::Set(d, 1.0 / 6227020800.0));
  s = hn::MulAdd(s, a2, hn::Set(d, -1.0 / 39916800.0));
  s = hn::MulAdd(s, a2, hn::Set(d, 1.0 / 362880.0));
  s = hn::MulAdd(s, a2, hn::Set(d, -1.0 / 5040.0));
  s = hn::MulAdd(s, a2, hn::Set(d, 1.0 / 120.0));
  s = hn::MulAdd(s, a2, hn::Set(d, -1.0 / 6.0));
  s = hn::MulAdd(hn::Mul(s, a2), a, a);

  V c = hn::Set(d, 1.0 / 20922789888000.0);  // 1 / 16!
  c = hn::MulAdd(c, a2, hn::Set(d, -1.0 / 87178291200.0));
  c = hn::MulAdd(c, a2, hn::Set(d, 1.0 / 479001600.0));
  c = hn::MulAdd(c, a2, hn::Set(d, -1.0 / 3628800.0));
  c = hn::MulAdd(c, a2, hn::Set(d, 1.0 / 40320.0));
  c = hn::MulAdd(c, a2, hn::Set(d, -1.0 / 720.0));
  c = hn::MulAdd(c, a2, hn::Set(d, 1.0 / 24.0));
  c = hn::MulAdd(c, a2, hn::Set(d, -0.5));
  c = hn::MulAdd(c, a2, hn::Set(d, 1.0));

  const auto quarter = hn::BitCast(di, shifted);
  const auto sign = hn::Set(di, static_cast<std::int64_t>(std::uint64_t{1} << 63));
  const auto one = hn::Set(di, 1);
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, one));
  const auto sine_sign = hn::And(hn::ShiftLeft<62>(quarter), sign);
  const auto cosine_sign = hn::And(hn::ShiftLeft<62>(hn::Add(quarter, one)), sign);
  sine = hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(d, sine_sign));
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), hn::BitCast(d, cosine_sign));
}

/// sum_k coefficients[k] T_k(u) by Clenshaw's recurrence.
template <class D, class V, std::size_t n>
HWY_INLINE V chebyshev(D d, const double (&coefficients)[n], V u) {
  const V twice = hn::Add(u, u);
  V b1 = hn::Zero(d), b2 = hn::Zero(d);
  for (std::size_t k = n - 1; k > 0; --k) {
    const V b0 = hn::MulAdd(twice, b1, hn::Sub(hn::Set(d, coefficients[k]), b2));
    b2 = b1;
    b1 = b0;
  }
  return hn::MulAdd(u, b1, hn::Sub(hn::Set(d, coefficients[0]), b2));
}

// Chebyshev sums of the Bessel function J1, computed from their definitions with 40 digits and cut at 1e-17:
// J1(x) / x in u = x^2 / 32 - 1 for x <= 8, and for x >= 8 the P and x Q of
// J1(x) = sqrt(2 / (pi x)) (P cos(x - 3 pi / 4) - Q sin(x - 3 pi / 4)), in u = 128 / x^2 - 1.
constexpr double bessel_small[] = {
    0.0810448463256581151,    -0.1489751450676521091,    0.1609992623572097025,    -0.0826804917668179066,
    0.02221363965496603541,   -0.003646940600769275958,  0.0004050337728354821833, -0.00003255554866857258517,
    1.985877404991516741e-6,  -9.521984756750436182e-8,  3.687133759097148239e-9,  -1.17802662269588484e-10,
    3.160154580348003321e-12, -7.221755239651773428e-14, 1.423214400351394232e-15, -2.444197291619046389e-17};
constexpr double bessel_p[] = {
    1.0009030408600137,        0.0008989898330859408556, -3.987284300488908523e-6,  6.177633960644298535e-8,
    -1.871890749106306609e-9,  8.816898659582338898e-11, -5.704863640395644702e-12, 4.699195515230542375e-13,
    -4.684223783990489222e-14, 5.452674896044717168e-15, -7.221180842274017919e-16, 1.066768911433541246e-16,
    -1.731231321611633497e-17};
constexpr double bessel_xq[] = {
    0.3742222965562826019,    -0.0007702178839325663459, 7.3108922063643633e-6,    -1.676782510726673797e-7,
    6.583354662120443303e-9,  -3.749090950541556184e-10, 2.812175035974886468e-11, -2.611452539462319941e-12,
    2.877421266333223354e-13, -3.649001916061837755e-14, 5.206626366226707163e-15, -8.215318025458594291e-16,
    1.414108439021183328e-16, -2.626761589838529168e-17, 5.219264919671408243e-18};

/// Transform of the unit ball (dims 3) or unit disk (dims 2) at |q|^2 = square, q in cycles:
///   ball  4 pi (sin x - x cos x) / x^3,   disk  2 pi J1(x) / x,   x = 2 pi q
template <int dims, class D, class V>
HWY_INLINE V unit_ball(D d, V square) {
  const V q = hn::Sqrt(square), x = hn::Mul(q, hn::Set(d, two_pi)), x2 = hn::Mul(x, x);
  if constexpr (dims == 3) {
    V sine, cosine;
    sincos_turns(d, q, sine, cosine);
    const V one = hn::Set(d, 1.0);
    const V safe = hn::Max(x, one);
    const V numerator = hn::Mul(hn::Set(d, 2 * two_pi), hn::NegMulAdd(safe, cosine, sine));
    const V far = hn::Div(numerator, hn::Mul(safe, hn::Mul(safe, safe)));
    const auto near = hn::Lt(x2, one);
    if (HWY_LIKELY(hn::AllFalse(d, near))) return far;
    // The difference cancels below x = 1: 4 pi sum_n (-1)^n x^2n / (2^n n! (2n + 3)!!)
    constexpr double a[] = {1.0 / 3,
                            -1.0 / 30,
                            1.0 / 840,
                            -1.0 / 45360,
                            1.0 / 3991680,
                            -1.0 / 518918400,
                            1.0 / 93405312000.0,
                            -1.0 / 22230464256000.0,
                            1.0 / 6758061133824000.0};
    V series = hn::Set(d, a[8]);
    for (int n = 7; n >= 0; --n) series = hn::MulAdd(series, x2, hn::Set(d, a[n]));
    return hn::IfThenElse(near, hn::Mul(series, hn::Set(d, 2 * two_pi)), far);
  } else {
    const V limit = hn::Set(d, 8.0);
    const auto is_small = hn::Lt(x, limit);
    const V u = hn::Min(hn::MulSub(x2, hn::Set(d, 1.0 / 32), hn::Set(d, 1.0)), hn::Set(d, 1.0));
    V small = hn::Zero(d);
    if (!hn::AllFalse(d, is_small)) {
      small = hn::Mul(chebyshev(d, bessel_small, u), hn::Set(d, two_pi));
      if (hn::AllTrue(d, is_small)) return small;
    }
    const V safe = hn::Max(x, limit);
    const V inverse = hn::Div(hn::Set(d, 1.0), safe), inverse2 = hn::Mul(inverse, inverse);
    const V w = hn::MulSub(inverse2, hn::Set(d, 128.0), hn::Set(d, 1.0));
    const V p = chebyshev(d, bessel_p, w), xq = chebyshev(d, bessel_xq, w);
    V sine, cosine;
    sincos_turns(d, hn::Sub(q, hn::Set(d, 0.375)), sine, cosine);
    const V wave = hn::NegMulAdd(hn::Mul(xq, inverse), sine, hn::Mul(p, cosine));
    // 2 pi sqrt(2 / pi) x^(-3/2) wave
    const V large =
        hn::Mul(hn::Mul(hn::Set(d, 5.01325654926200100484), wave), hn::Mul(inverse, hn::Sqrt(inverse)));
    return hn::IfThenElse(is_small, small, large);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom
HWY_AFTER_NAMESPACE();
#endif
