#include "spinloom/stencil/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"

namespace spinloom::stencil {
namespace {

struct Linear {
  std::vector<LinearTerm> terms;  ///< in the axes of the engine: 2D has y in the place of z
  int low_z = 0;
};

/// A stretch of a row is summed term by term, in a buffer that stays in the level 1 cache.
template <class T>
void linear_rows(const RowBlock<T>& b, const void* state) {
  const Linear& linear = *static_cast<const Linear*>(state);
  using R = real_of<T>;
  constexpr std::ptrdiff_t parts = sizeof(T) / sizeof(R), length = 256;
  R sum[length * parts];
  for (std::ptrdiff_t y = b.y0; y < b.y1; ++y)
    for (std::ptrdiff_t x = b.x0; x < b.x1; x += length) {
      const std::ptrdiff_t count = std::min(length, b.x1 - x) * parts;
      bool is_first = true;
      for (const LinearTerm& t : linear.terms) {
        const R* from =
            reinterpret_cast<const R*>(b.in[0][t.z + linear.low_z] + (y + t.y) * b.in_stride[0] + x + t.x);
        const R w = static_cast<R>(t.weight);
        if (is_first)
          for (std::ptrdiff_t i = 0; i < count; ++i) sum[i] = w * from[i];
        else
          for (std::ptrdiff_t i = 0; i < count; ++i) sum[i] += w * from[i];
        is_first = false;
      }
      std::copy(sum, sum + count, reinterpret_cast<R*>(b.out[0][0] + y * b.out_stride[0] + x));
    }
}

}  // namespace

template <class T>
Kernel<T> make_linear_kernel(const std::string& name, int rank, const std::vector<LinearTerm>& terms) {
  if (rank != 2 && rank != 3)
    throw ArgumentError(fmt::format("linear stencil {}: {} axes, expected 2 or 3", name, rank));
  if (terms.empty() || terms.size() > 4096)
    throw ArgumentError(fmt::format("linear stencil {}: {} terms, expected 1 to 4096", name, terms.size()));
  auto linear = std::make_shared<Linear>();
  Definition d;
  d.name = name;
  d.rank = rank;
  const auto add = [&](Node n) {
    d.code.push_back(n);
    return static_cast<short>(d.code.size() - 1);
  };
  short sum = -1;
  for (LinearTerm t : terms) {
    if (std::max({std::abs(t.z), std::abs(t.y), std::abs(t.x)}) > max_radius || (rank == 2 && t.z != 0) ||
        !std::isfinite(t.weight))
      throw ArgumentError(
          fmt::format("linear stencil {}: term ({}, {}, {}) of weight {}, expected offsets up to {} along {} "
                      "axes and a finite weight",
                      name, t.z, t.y, t.x, t.weight, max_radius, rank));
    if (rank == 2) std::swap(t.z, t.y);
    linear->terms.push_back(t);
    Node weight, access, product, total;
    weight.value = t.weight;
    access.op = Op::access;
    access.z = static_cast<short>(t.z);
    access.y = static_cast<short>(t.y);
    access.x = static_cast<short>(t.x);
    product.op = Op::mul;
    product.a = add(weight);
    product.b = add(access);
    total.op = Op::add;
    total.a = sum;
    total.b = add(product);
    sum = sum < 0 ? total.b : add(total);
  }
  d.outputs.push_back({0, sum, Target::next});
  linear->low_z = d.view().reach().low[0];
  Kernel<T> kernel;
  kernel.rows.at[0][0] = &linear_rows<T>;
  kernel.rows.target = "terms";
  kernel.definition = std::make_shared<const Definition>(std::move(d));
  kernel.state = std::move(linear);
  return kernel;
}

std::vector<LinearTerm> transpose(std::vector<LinearTerm> terms) {
  for (LinearTerm& t : terms) t = {-t.z, -t.y, -t.x, t.weight};
  return terms;
}

template Kernel<float> make_linear_kernel(const std::string&, int, const std::vector<LinearTerm>&);
template Kernel<double> make_linear_kernel(const std::string&, int, const std::vector<LinearTerm>&);
template Kernel<std::complex<float>> make_linear_kernel(const std::string&, int,
                                                        const std::vector<LinearTerm>&);
template Kernel<std::complex<double>> make_linear_kernel(const std::string&, int,
                                                         const std::vector<LinearTerm>&);

}  // namespace spinloom::stencil
