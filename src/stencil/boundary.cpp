#include "spinloom/stencil/boundary.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "spinloom/core/error.hpp"

namespace spinloom::stencil {
namespace {
using Kind = Boundary::Kind;
constexpr std::pair<Kind, const char*> names[] = {{Kind::unset, "unset"},         {Kind::none, "none"},
                                                  {Kind::dirichlet, "dirichlet"}, {Kind::neumann, "neumann"},
                                                  {Kind::periodic, "periodic"},   {Kind::reflect, "reflect"},
                                                  {Kind::clamp, "clamp"}};
bool has_value(Kind kind) { return kind == Kind::dirichlet || kind == Kind::neumann; }
}  // namespace

std::string to_string(const Boundary& boundary) {
  for (const auto& [kind, name] : names)
    if (kind == boundary.kind) return has_value(kind) ? fmt::format("{} {}", name, boundary.value) : name;
  return "unknown";
}

Boundary parse_boundary(const std::string& text) {
  std::istringstream words(text);
  std::string word, number, rest;
  words >> word >> number >> rest;
  for (const auto& [kind, name] : names) {
    if (word != name || kind == Kind::unset) continue;
    Boundary b{kind, 0};
    if (has_value(kind) && !number.empty()) {
      const auto [stop, status] = std::from_chars(number.data(), number.data() + number.size(), b.value);
      if (status != std::errc() || stop != number.data() + number.size() || !std::isfinite(b.value))
        throw ArgumentError(fmt::format("boundary '{}': '{}' is not a finite number", text, number));
      number.clear();
    }
    if (!number.empty() || !rest.empty())
      throw ArgumentError(fmt::format("boundary '{}': nothing may follow '{}'", text, name));
    return b;
  }
  throw ArgumentError(fmt::format(
      "boundary '{}' is not one of none, dirichlet VALUE, neumann SLOPE, periodic, reflect, clamp", text));
}

HaloCell halo_cell(Index at, Index n, const Boundary& low, const Boundary& high) {
  HaloCell cell{HaloCell::Kind::copy, at, at, 0};
  Index& i = cell.source;
  while (i < 0 || i >= n) {
    const Boundary& face = i < 0 ? low : high;
    const Index depth = i < 0 ? -i : i - n + 1;  // 1 is the first cell outside
    switch (face.kind) {
      case Kind::unset:
      case Kind::none:
        if (i == at) cell.kind = HaloCell::Kind::kept;
        return cell;
      case Kind::dirichlet:
        cell.kind = HaloCell::Kind::value;
        cell.add += face.value;
        return cell;
      case Kind::neumann:
        cell.add += face.value * static_cast<double>(2 * depth - 1);
        i = i < 0 ? depth - 1 : n - depth;
        break;
      case Kind::periodic: i = (i % n + n) % n; break;
      case Kind::reflect: i = n == 1 ? 0 : i < 0 ? depth : n - 1 - depth; break;
      case Kind::clamp: i = i < 0 ? 0 : n - 1; break;
    }
  }
  return cell;
}

}  // namespace spinloom::stencil
