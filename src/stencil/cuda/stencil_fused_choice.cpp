#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "spinloom/core/error.hpp"
#include "stencil/cuda/stencil_fused.hpp"
#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::cuda {

using namespace stencil;

namespace {

/// Instructions for a point of a link, where threads have 4 x 4 points and what they have in common is done once.
double instructions_per_point(const Joined& j, StencilNumbers numbers) {
  const bool is_double = numbers == StencilNumbers::f64 || numbers == StencilNumbers::c64 ||
                         numbers == StencilNumbers::f32_in_f64;
  // There and back again; those of doubles go at half the speed of their sums.
  const int conversions = is_double ? 4 : 2;
  const bool is_complex = numbers == StencilNumbers::c32 || numbers == StencilNumbers::c64;
  StencilPrinter scout(
      j.definition, numbers, [](int r, int, int y, int x) { return fmt::format("{} {} {}", r, y, x); },
      [](int, int z) { return max_radius - z; });
  scout.hand_over(j.handed, 4);
  for (const Output& o : j.definition.outputs)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x) scout.value(o.root, y, x);
  double count = 0;
  const std::string text = scout.take_statements();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const bool is_slow = line.find("quotient(") != line.npos || line.find("root(") != line.npos;
    const bool is_rounded = line.find("kept(") != line.npos;
    count += (is_slow ? 10 : is_rounded ? conversions : 1) * (is_double ? 2 : 1) * (is_complex ? 3 : 1);
    at = end + 1;
  }
  return 10 + count / 16;
}

/// Whether a chain is faster in fewer passes.
bool pays(const std::vector<Definition>& chain, StencilNumbers numbers) {
  // An H200 moves a byte in the time of four instructions, by what both take in stencils.
  constexpr double instructions_per_byte = 4;
  const auto cost = [&](const std::vector<Link>& links) {
    double bytes = 0;
    for (std::size_t l = 0; l < links.size(); ++l) {
      std::vector<LinkOutput> outputs;
      for (const LinkOutput& o : outputs_of(chain, links, l))
        if (o.is_read || !o.is_scratch) outputs.push_back(o);
      if (const auto j = joined(chain, links[l], outputs, between(numbers)); j && !outputs.empty())
        bytes += std::max(double(j->definition.view().bytes_per_point(stencil_bytes(numbers))),
                          instructions_per_point(*j, numbers) / instructions_per_byte);
    }
    return bytes;
  };
  std::vector<Link> separate;
  for (int k = 0; k < static_cast<int>(chain.size()); ++k) separate.push_back({k, k + 1});
  try {
    return cost(cut(chain, {0})) < 0.8 * cost(separate);
  } catch (const ArgumentError&) {  // nothing can be joined
    return false;
  }
}

}  // namespace

Schedule with_fusing(const std::vector<Definition>& chain, StencilNumbers numbers, const GridLayout& layout,
                     Schedule schedule) {
  if (!(schedule == Schedule{} || schedule == parse_schedule("cuda")) || why_not_joined(chain))
    return schedule;
  // Small grids wait for kernels to start, and faces have kernels of their own.
  const auto& n = layout.n;
  if (n[0] * n[1] * n[2] < (Index{1} << 21) || !pays(chain, numbers)) return schedule;
  schedule.kind = Schedule::Kind::cuda;
  schedule.fused = {0};
  return schedule;
}

}  // namespace spinloom::cuda
