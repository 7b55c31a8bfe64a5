#include "spinloom/recon/quality.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "recon/ssim.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index block_size = 1 << 15;

double re(double v) { return v; }
double re(cdouble v) { return v.real(); }
double im(double) { return 0; }
double im(cdouble v) { return v.imag(); }
double squared(double v) { return v * v; }
double squared(cdouble v) { return std::norm(v); }

template <class T>
void require_finite(Array<T>& values, const std::vector<std::uint8_t>& mask, const char* name) {
  for (Index i = 0; i < values.size(); ++i) {
    if (std::isfinite(re(values[i])) && std::isfinite(im(values[i]))) continue;
    if (mask.empty() || mask[std::size_t(i)] != 0)
      throw ArgumentError(
          fmt::format("{} holds {} at {}, expected finite numbers; mask or repair it before comparing", name,
                      std::isnan(re(values[i])) || std::isnan(im(values[i])) ? "NaN" : "infinity",
                      position(values.shape(), i)));
    values[i] = 0;
  }
}

/// Sums of one pass, of blocks added in order.
struct Moments {
  Index count = 0;
  cdouble a, b, ab;  // sum a, sum b, sum conj(a) b
  double aa = 0, bb = 0, peak = 0, dd = 0, largest = 0;
};

template <class T, class Body>
Moments over_blocks(const Array<T>& a, const std::vector<std::uint8_t>& mask, const Body& body) {
  std::vector<Moments> parts(static_cast<std::size_t>((a.size() + block_size - 1) / block_size));
  parallel_blocks(a.size(), block_size, [&](Index begin, Index end, int) {
    Moments m;
    for (Index i = begin; i < end; ++i)
      if (mask.empty() || mask[std::size_t(i)] != 0) body(i, m);
    parts[std::size_t(begin / block_size)] = m;
  });
  Moments total;
  for (const Moments& m : parts) {
    total.count += m.count;
    total.a += m.a, total.b += m.b, total.ab += m.ab;
    total.aa += m.aa, total.bb += m.bb, total.dd += m.dd;
    total.peak = std::max(total.peak, m.peak);
    total.largest = std::max(total.largest, m.largest);
  }
  return total;
}

template <class T>
cdouble conj_product(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return a * b;
  else
    return std::conj(a) * b;
}

template <class T>
Array<double> magnitudes(const Array<T>& values) {
  Array<double> result(values.shape());
  for (Index i = 0; i < values.size(); ++i) result[i] = std::abs(values[i]);
  return result;
}

template <class T>
Quality compare(Array<T> a, const Array<T>& b, const std::vector<std::uint8_t>& mask, bool fit_scale) {
  Quality q;
  const Moments sums = over_blocks(a, mask, [&](Index i, Moments& m) {
    ++m.count;
    m.a += a[i], m.b += b[i];
    m.aa += squared(a[i]), m.bb += squared(b[i]);
    m.ab += conj_product(a[i], b[i]);
    m.peak = std::max(m.peak, std::abs(b[i]));
  });
  if (sums.count == 0) throw ArgumentError("there is nothing to compare: the images or the mask are empty");
  q.elements = sums.count;

  // A second pass around the means: subtracting squares of large means would cancel.
  const cdouble mean_a = sums.a / double(sums.count), mean_b = sums.b / double(sums.count);
  const Moments centred = over_blocks(a, mask, [&](Index i, Moments& m) {
    const cdouble da = cdouble(a[i]) - mean_a, db = cdouble(b[i]) - mean_b;
    m.aa += std::norm(da), m.bb += std::norm(db), m.ab += std::conj(da) * db;
  });
  const cdouble covariance = centred.ab / std::sqrt(centred.aa) / std::sqrt(centred.bb);
  q.correlation = std::is_same_v<T, double> ? covariance.real() : std::abs(covariance);

  if (fit_scale) {
    if (sums.aa == 0) throw ArgumentError("the image is zero, so that no scale makes it like the reference");
    q.scale = sums.ab / sums.aa;
    for (T& v : a) {
      if constexpr (std::is_same_v<T, double>)
        v *= q.scale.real();
      else
        v *= q.scale;
    }
  }
  const Moments gap = over_blocks(a, mask, [&](Index i, Moments& m) {
    const T d = a[i] - b[i];
    m.dd += squared(d);
    m.largest = std::max(m.largest, std::abs(d));
  });
  q.max_abs_difference = gap.largest;
  q.nrmse = gap.dd == 0 ? 0 : std::sqrt(gap.dd) / std::sqrt(sums.bb);
  q.psnr_db = gap.dd == 0 ? INFINITY : 20 * std::log10(sums.peak / std::sqrt(gap.dd / double(sums.count)));

  const std::uint8_t* where = mask.empty() ? nullptr : mask.data();
  if constexpr (std::is_same_v<T, double>)
    q.ssim = mean_ssim(a.view(), b.view(), where, sums.peak);
  else
    q.ssim = mean_ssim(magnitudes(a).view(), magnitudes(b).view(), where, sums.peak);
  return q;
}

std::vector<std::uint8_t> mask_of(const QualityOptions& options, const Shape& shape) {
  if (options.mask == nullptr) return {};
  const Tensor& mask = *options.mask;
  const bool fits =
      mask.shape.size() <= shape.size() && std::equal(mask.shape.rbegin(), mask.shape.rend(), shape.rbegin());
  if (!fits || mask.size() == 0)
    throw ShapeError(
        fmt::format("the mask has shape {}, expected that of the images {} or of their last axes",
                    to_string(mask.shape), to_string(shape)));
  const Tensor flags = mask.cast(DType::b1);
  if (mask.dtype == DType::f32 || mask.dtype == DType::f64)
    for (const double v : mask.to<double>())
      if (std::isnan(v))
        throw ArgumentError(
            "the mask holds values that are not numbers; expected 0 where nothing counts, else another");
  std::vector<std::uint8_t> values(static_cast<std::size_t>(count(shape)));
  const auto from = flags.as<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = from[static_cast<Index>(i) % mask.size()];
  return values;
}

}  // namespace

Quality compare_images(const Tensor& image, const Tensor& reference, const QualityOptions& options) {
  if (image.shape != reference.shape)
    throw ShapeError(fmt::format("the image has shape {}, the reference {}; expected the same",
                                 to_string(image.shape), to_string(reference.shape)));
  const auto mask = mask_of(options, image.shape);
  const bool both = is_complex(image.dtype) && is_complex(reference.dtype);
  const bool mixed = is_complex(image.dtype) != is_complex(reference.dtype);
  if (both) {
    auto a = image.to<cdouble>(), b = reference.to<cdouble>();
    require_finite(a, mask, "the image");
    require_finite(b, mask, "the reference");
    Quality q = compare(std::move(a), b, mask, options.fit_scale);
    q.is_complex = true;
    return q;
  }
  auto a = image.to<double>(ComplexPart::magnitude), b = reference.to<double>(ComplexPart::magnitude);
  require_finite(a, mask, "the image");
  require_finite(b, mask, "the reference");
  if (mixed) a = magnitudes(a), b = magnitudes(b);
  Quality q = compare(std::move(a), b, mask, options.fit_scale);
  q.is_magnitude = mixed;
  return q;
}

}  // namespace spinloom
