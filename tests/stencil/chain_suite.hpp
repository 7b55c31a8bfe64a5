#pragma once
#include <random>

#include "spinloom/stencil/linear.hpp"
#include "spinloom/stencil/parse.hpp"
#include "stencil/harness.hpp"

/// Chains of stencils for the tests of chains that are taken together.
namespace spinloom::stencil::testing {

/// A text's stencil whose fields and parameters have the numbers in their names: u2, p1.
inline Definition numbered(const std::string& text, const std::string& name) {
  ParsedStencil parsed = parse_stencil(text, name);
  const auto number = [](const std::string& called) {
    return static_cast<short>(std::stoi(called.substr(1)));
  };
  for (Node& n : parsed.definition.code)
    if (n.op == Op::access || n.op == Op::param)
      n.field =
          number((n.op == Op::access ? parsed.fields : parsed.params)[static_cast<std::size_t>(n.field)]);
  for (Output& o : parsed.definition.outputs)
    o.field = number(parsed.fields[static_cast<std::size_t>(o.field)]);
  return parsed.definition;
}
/// On a GPU definitions are enough, and complex ones are not interpreted on the host, nor are those that compute in other
/// numbers than grids keep.
template <class T, class Computed = T>
std::vector<Kernel<T>> kernels_of(const std::vector<std::string>& texts) {
  std::vector<Kernel<T>> chain;
  for (const std::string& text : texts) {
    const Definition d = numbered(text, "stencil " + std::to_string(chain.size() + 1));
    if constexpr (std::is_same_v<T, Computed> && std::is_same_v<T, real_of<T>>)
      chain.push_back(make_interpreted_kernel<T>(d));
    else
      chain.push_back({std::make_shared<const Definition>(d),
                       {},
                       nullptr,
                       std::is_same_v<T, float> && !std::is_same_v<T, Computed>});
  }
  return chain;
}

/// Gradient, its shrinkage to length 1 / p1, and a step along the divergence.
inline const std::vector<std::string>& total_variation() {
  static const std::vector<std::string> texts = {
      "next(u1) = u0(1,0,0) - u0(0,0,0); next(u2) = u0(0,1,0) - u0(0,0,0); next(u3) = u0(0,0,1) - u0(0,0,0)",
      "next(u1) = u1(0,0,0) / max(1.0, p1 * sqrt(u1(0,0,0) * u1(0,0,0) + u2(0,0,0) * u2(0,0,0) + u3(0,0,0) * "
      "u3(0,0,0))); next(u2) = u2(0,0,0) / max(1.0, p1 * sqrt(u1(0,0,0) * u1(0,0,0) + u2(0,0,0) * u2(0,0,0) "
      "+ "
      "u3(0,0,0) * u3(0,0,0))); next(u3) = u3(0,0,0) / max(1.0, p1 * sqrt(u1(0,0,0) * u1(0,0,0) + u2(0,0,0) "
      "* "
      "u2(0,0,0) + u3(0,0,0) * u3(0,0,0)))",
      "next(u0) = u0(0,0,0) + p0 * ((u1(0,0,0) - u1(-1,0,0)) + (u2(0,0,0) - u2(0,-1,0)) + (u3(0,0,0) - "
      "u3(0,0,-1)))"};
  return texts;
}
/// Five points along each axis, one after the other.
inline const std::vector<std::string>& blur() {
  static const std::vector<std::string> texts = {
      "next(u0) = p0 * u0(0,0,0) + p1 * (u0(-1,0,0) + u0(1,0,0)) + 0.0625 * (u0(-2,0,0) + u0(2,0,0))",
      "next(u0) = p0 * u0(0,0,0) + p1 * (u0(0,-1,0) + u0(0,1,0)) + 0.0625 * (u0(0,-2,0) + u0(0,2,0))",
      "next(u0) = p0 * u0(0,0,0) + p1 * (u0(0,0,-1) + u0(0,0,1)) + 0.0625 * (u0(0,0,-2) + u0(0,0,2))"};
  return texts;
}

/// Stencils of one to three outputs in four fields, whose values are drawn back to where no NaN can arise.
inline std::vector<std::string> random_chain(std::mt19937& random, int rank, int radius) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto offset = [&] { return std::to_string(pick(2 * radius + 1) - radius); };
  const auto leaf = [&] {
    std::string at = offset() + "," + offset();
    if (rank == 3) at += "," + offset();
    return "u" + std::to_string(pick(4)) + "(" + at + ")";
  };
  const auto term = [&] {
    switch (pick(6)) {
      case 0: return "fma(" + leaf() + ", 0.5, p0)";
      case 1: return "min(" + leaf() + ", " + leaf() + ")";
      case 2: return "(" + leaf() + " / (2.5 + abs(" + leaf() + ")))";
      case 3: return "where(" + leaf() + " < " + leaf() + ", " + leaf() + ", -" + leaf() + ")";
      case 4: return "(" + leaf() + " * " + leaf() + ")";
      default: return leaf();
    }
  };
  std::vector<std::string> texts;
  for (int k = 0, count = 2 + pick(3); k < count; ++k) {
    std::string text;
    const int first = pick(4);
    for (int o = 0, outputs = 1 + pick(3); o < outputs; ++o)
      text += (o > 0 ? "; next(u" : "next(u") + std::to_string((first + o) % 4) + ") = min(max(" + term() +
              " - p1 * " + term() + ", -4.0), 4.0)";
    texts.push_back(text);
  }
  return texts;
}

}  // namespace spinloom::stencil::testing
