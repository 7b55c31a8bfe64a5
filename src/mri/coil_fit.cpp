#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mri/polygon.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/mri/coils.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr double pi = std::numbers::pi;

/// Exponentials of period 1 / spacing fields of view: far larger than the field of view, so that the two ends
/// of an axis may differ; not so large that the terms become alike. Of 0.25 to 0.6 this gave the smallest
/// residuals while the coefficients stay near 1.
constexpr double spacing = 0.4;

/// What lies outside the inscribed ball counts little: no object is there, loops may be.
constexpr double corner_weight = 1e-3;

/// Relative to the diagonal; keeps the coefficients small where exponentials are nearly dependent.
constexpr double damping = 1e-9;

struct Points {
  std::vector<std::array<double, 3>> r;  ///< (z, y, x); z = 0 in 2D
  std::vector<double> weight;
  std::vector<char> is_inside;
};

/// Cell centres of a grid over the field of view, symmetric about 0.
Points fit_points(int dims) {
  const Index per_axis = dims == 2 ? 48 : 20;
  Points points;
  const auto place = [&](Index i) { return (double(i) + 0.5) / double(per_axis) - 0.5; };
  for (Index z = 0; z < (dims == 3 ? per_axis : 1); ++z)
    for (Index y = 0; y < per_axis; ++y)
      for (Index x = 0; x < per_axis; ++x) {
        const std::array<double, 3> r{dims == 3 ? place(z) : 0.0, place(y), place(x)};
        const bool in = std::hypot(r[0], r[1], r[2]) <= 0.5;
        points.r.push_back(r);
        points.is_inside.push_back(in);
        points.weight.push_back(in ? 1.0 : corner_weight);
      }
  return points;
}

double turns(const double* nu, const std::array<double, 3>& r, int dims) {
  double sum = 0;
  for (int d = 0; d < dims; ++d) sum += nu[d] * r[static_cast<std::size_t>(3 - dims + d)];
  return sum;
}

cdouble unit(double t) { return std::polar(1.0, 2 * pi * t); }

Array<double> frequency_grid(int dims, Index per_axis) {
  const Index terms = dims == 2 ? per_axis * per_axis : per_axis * per_axis * per_axis;
  Array<double> nu({terms, dims});
  for (Index p = 0; p < terms; ++p) {
    Index rest = p;
    for (int d = dims - 1; d >= 0; --d) {
      nu[p * dims + d] = spacing * (double(rest % per_axis) - 0.5 * double(per_axis - 1));
      rest /= per_axis;
    }
  }
  return nu;
}

/// Sum over points of w cos(2 pi (nu_q - nu_p).r): the imaginary part vanishes, as the points are symmetric.
std::vector<double> normal_matrix(const Points& points, const Array<double>& nu, int dims) {
  const Index terms = nu.shape()[0];
  std::vector<double> g(static_cast<std::size_t>(terms * terms));
  // The entry depends on the difference of frequencies alone: (2 per_axis - 1)^dims values for terms^2
  // entries.
  const Index per_axis = std::llround(std::pow(double(terms), 1.0 / dims)), wide = 2 * per_axis - 1;
  const auto differences = frequency_grid(dims, wide);
  std::vector<double> values(static_cast<std::size_t>(differences.shape()[0]));
  parallel_blocks(differences.shape()[0], 4, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      double sum = 0;
      for (std::size_t n = 0; n < points.r.size(); ++n)
        sum += points.weight[n] * std::cos(2 * pi * turns(differences.data() + i * dims, points.r[n], dims));
      values[static_cast<std::size_t>(i)] = sum;
    }
  });
  for (Index p = 0; p < terms; ++p)
    for (Index q = 0; q < terms; ++q) {
      Index at = 0, scale = 1, left = p, right = q;
      for (int d = 0; d < dims; ++d) {
        at += scale * (right % per_axis - left % per_axis + per_axis - 1);
        scale *= wide;
        left /= per_axis;
        right /= per_axis;
      }
      g[static_cast<std::size_t>(p * terms + q)] = values[static_cast<std::size_t>(at)];
    }
  return g;
}

/// Cholesky factor of a symmetric matrix, in its lower triangle.
void factorise(std::vector<double>& g, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) g[i * n + i] *= 1 + damping;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t l = 0; l < j; ++l) g[j * n + j] -= g[j * n + l] * g[j * n + l];
    g[j * n + j] = std::sqrt(std::max(g[j * n + j], 1e-300));
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = g[i * n + j];
      for (std::size_t l = 0; l < j; ++l) sum -= g[i * n + l] * g[j * n + l];
      g[i * n + j] = sum / g[j * n + j];
    }
  }
}

void solve(const std::vector<double>& g, std::size_t n, cdouble* x) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t l = 0; l < i; ++l) x[i] -= g[i * n + l] * x[l];
    x[i] /= g[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t l = i + 1; l < n; ++l) x[i] -= g[l * n + i] * x[l];
    x[i] /= g[i * n + i];
  }
}

}  // namespace

CoilSums fit_coils(const std::vector<CoilLoop>& loops, const Shape& matrix, Index terms_per_axis) {
  const int dims = static_cast<int>(matrix.size());
  if (dims != 2 && dims != 3)
    throw ArgumentError(fmt::format("coils: matrix {} is neither [y, x] nor [z, y, x]", to_string(matrix)));
  if (loops.empty()) throw ArgumentError("coils: no loop given, expected at least one");
  for (const CoilLoop& loop : loops)
    if (!(loop.radius > 0))
      throw ArgumentError(fmt::format("coils: loop radius is {}, expected more than 0", loop.radius));
  if (terms_per_axis == 0) terms_per_axis = dims == 2 ? 7 : 5;
  if (terms_per_axis < 1 || terms_per_axis > 11)
    throw ArgumentError(fmt::format("coils: {} terms per axis, expected 1 to 11", terms_per_axis));

  const Points points = fit_points(dims);
  const auto n_coils = static_cast<Index>(loops.size()), n_points = static_cast<Index>(points.r.size());
  Array<cdouble> field({n_coils, n_points});
  std::vector<coils::Polygon> polygons(loops.begin(), loops.end());
  parallel_blocks(n_coils * n_points, 256, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      const auto b = polygons[static_cast<std::size_t>(i / n_points)].field(
          points.r[static_cast<std::size_t>(i % n_points)]);
      field[i] = {b[2], -b[1]};
    }
  });

  CoilSums sums{dims, frequency_grid(dims, terms_per_axis), {}, 0};
  const Index terms = sums.frequencies.shape()[0];
  sums.coefficients = Array<cdouble>({n_coils, terms});
  const double* nu = sums.frequencies.data();
  parallel_blocks(n_coils * terms, 8, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      cdouble sum = 0;
      for (Index n = 0; n < n_points; ++n) {
        const auto at = static_cast<std::size_t>(n);
        sum += points.weight[at] * field[i / terms * n_points + n] *
               unit(-turns(nu + i % terms * dims, points.r[at], dims));
      }
      sums.coefficients[i] = sum;
    }
  });
  auto g = normal_matrix(points, sums.frequencies, dims);
  factorise(g, static_cast<std::size_t>(terms));
  for (Index c = 0; c < n_coils; ++c)
    solve(g, static_cast<std::size_t>(terms), sums.coefficients.data() + c * terms);

  std::vector<double> gaps(static_cast<std::size_t>(n_points)), sizes(gaps.size());
  parallel_blocks(n_points, 64, [&](Index begin, Index end, int) {
    for (Index n = begin; n < end; ++n) {
      const auto at = static_cast<std::size_t>(n);
      if (!points.is_inside[at]) continue;
      std::vector<cdouble> wave;
      for (Index p = 0; p < terms; ++p) wave.push_back(unit(turns(nu + p * dims, points.r[at], dims)));
      for (Index c = 0; c < n_coils; ++c) {
        cdouble s = 0;
        for (Index p = 0; p < terms; ++p)
          s += sums.coefficients[c * terms + p] * wave[static_cast<std::size_t>(p)];
        gaps[at] += std::norm(s - field[c * n_points + n]);
        sizes[at] += std::norm(field[c * n_points + n]);
      }
    }
  });
  double gap = 0, size = 0;
  for (std::size_t n = 0; n < gaps.size(); ++n) {
    gap += gaps[n];
    size += sizes[n];
  }
  sums.residual = std::sqrt(gap / size);

  const auto maps = coil_maps(sums, matrix);
  const Index voxels = count(matrix);
  double largest = 0;
  for (Index n = 0; n < voxels; ++n) {
    double square = 0;
    for (Index c = 0; c < n_coils; ++c) square += std::norm(maps[c * voxels + n]);
    largest = std::max(largest, square);
  }
  for (cdouble& a : sums.coefficients) a /= std::sqrt(largest);
  return sums;
}

Array<cdouble> coil_maps(const CoilSums& coils, const Shape& matrix) {
  if (static_cast<int>(matrix.size()) != coils.dims)
    throw ShapeError(
        fmt::format("coil maps: matrix {} does not fit coils of {} axes", to_string(matrix), coils.dims));
  const Index voxels = count(matrix), nx = matrix.back(), terms = coils.terms(), n_coils = coils.coils();
  Array<cdouble> maps(prepend(n_coils, matrix));
  if (voxels == 0) return maps;
  // exp(2 pi i nu_x x) per term and column once; along a line the other axes only turn the coefficients.
  Array<cdouble> columns({terms, nx});
  for (Index p = 0; p < terms; ++p)
    for (Index x = 0; x < nx; ++x)
      columns[p * nx + x] =
          unit(coils.frequencies[p * coils.dims + coils.dims - 1] * double(x - nx / 2) / double(nx));
  parallel_blocks(voxels / nx, 1, [&](Index begin, Index end, int) {
    for (Index line = begin; line < end; ++line) {
      std::vector<cdouble> turned(static_cast<std::size_t>(terms));
      for (Index p = 0; p < terms; ++p) {
        double t = 0;
        Index rest = line;
        for (int d = coils.dims - 2; d >= 0; --d) {
          const Index n = matrix[static_cast<std::size_t>(d)];
          t += coils.frequencies[p * coils.dims + d] * double(rest % n - n / 2) / double(n);
          rest /= n;
        }
        turned[static_cast<std::size_t>(p)] = unit(t);
      }
      for (Index c = 0; c < n_coils; ++c) {
        cdouble* out = maps.data() + c * voxels + line * nx;
        std::fill(out, out + nx, cdouble(0));
        for (Index p = 0; p < terms; ++p) {
          const cdouble a = coils.coefficients[c * terms + p] * turned[static_cast<std::size_t>(p)];
          for (Index x = 0; x < nx; ++x) out[x] += a * columns[p * nx + x];
        }
      }
    }
  });
  return maps;
}

}  // namespace spinloom
