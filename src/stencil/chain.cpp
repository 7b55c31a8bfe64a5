#include "stencil/chain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"

namespace spinloom::stencil {

int writer_of(const std::vector<Definition>& chain, int begin, int before, int field) {
  for (int k = before - 1; k >= begin; --k)
    if (chain[static_cast<std::size_t>(k)].view().writes(field)) return k;
  return -1;
}

std::vector<LinkOutput> outputs_of(const std::vector<Definition>& chain, const std::vector<Link>& links,
                                   std::size_t which) {
  const Link link = links[which];
  std::vector<LinkOutput> all;
  const auto reads = [&](int kernel, int field) {
    return chain[static_cast<std::size_t>(kernel)].view().reads(field, TimeLevel::current);
  };
  /// Whether links read the values that a field has before their first stencil writes it.
  const auto starts_from = [&](const Link& l, int field) {
    for (int k = l.begin; k < l.end; ++k)
      if (reads(k, field) && writer_of(chain, l.begin, k, field) < 0) return true;
    return false;
  };
  for (int f = 0; f < max_fields; ++f) {
    LinkOutput o;
    o.field = f;
    o.kernel = writer_of(chain, link.begin, link.end, f);
    if (o.kernel < 0) continue;
    for (const Output& out : chain[static_cast<std::size_t>(o.kernel)].outputs)
      if (out.field == f) o.root = out.root;
    o.turns = starts_from(link, f);
    // Round the step from here on, until somebody reads it or writes it anew.
    bool overwritten = false;
    for (std::size_t l = 1; l <= links.size() && !o.is_read && !overwritten; ++l) {
      const Link& next = links[(which + l) % links.size()];
      o.is_read = starts_from(next, f);
      overwritten = writer_of(chain, next.begin, next.end, f) >= 0;
    }
    bool is_used = false, is_last = true;
    for (int k = o.kernel + 1; k < link.end; ++k) is_used |= reads(k, f);
    for (std::size_t l = which + 1; l < links.size(); ++l)
      is_last &= writer_of(chain, links[l].begin, links[l].end, f) < 0;
    o.is_scratch = !o.is_read && is_used;
    if (o.is_read || is_last) all.push_back(o);  // else a later link of the step writes it anew
  }
  return all;
}

std::optional<std::string> why_not_joined(const std::vector<Definition>& chain) {
  for (const Definition& d : chain) {
    const ProgramView p = d.view();
    if (p.red_black) return fmt::format("fused: {} changes one colour after the other in place", d.name);
    if (p.reduction_count > 0)
      return fmt::format("fused: the sums of {} are taken of all points of one stencil", d.name);
    for (const Node& n : d.code)
      if (n.op == Op::access && n.level == TimeLevel::previous)
        return fmt::format("fused: {} reads prev(u), the array that a pass writes", d.name);
  }
  if (chain.size() < 2)
    return "fused: one stencil is no chain; cuda overlapped takes several steps in one pass";
  return std::nullopt;
}

std::vector<Link> cut(const std::vector<Definition>& chain, const std::vector<int>& sizes) {
  if (const auto why = why_not_joined(chain)) throw ArgumentError(*why);
  std::vector<Link> links;
  const auto fits = [&](const Link& link) {
    return link.size() == 1 || joined(chain, link, outputs_of(chain, {link}, 0)).has_value();
  };
  const int count = static_cast<int>(chain.size());
  const bool is_choice = sizes.size() == 1 && sizes[0] == 0;
  if (is_choice) {
    for (int k = 0; k < count; ++k)
      if (!links.empty() && fits({links.back().begin, k + 1}))
        links.back().end = k + 1;
      else
        links.push_back({k, k + 1});
    if (static_cast<int>(links.size()) == count)
      throw ArgumentError(fmt::format(
          "fused: no two stencils of the chain become one of up to {} operations that reaches up to {} cells",
          max_joined_operations, max_joined_reach));
    return links;
  }
  int begin = 0;
  for (const int size : sizes) {
    links.push_back({begin, begin + size});
    begin += size;
  }
  if (begin != count || std::any_of(sizes.begin(), sizes.end(), [](int s) { return s < 1; }))
    throw ArgumentError(
        fmt::format("fused={}: the numbers of stencils that passes take add up to {}, the chain has {}",
                    fmt::join(sizes, "+"), begin, count));
  for (const Link& link : links)
    if (!fits(link))
      throw ArgumentError(fmt::format(
          "fused: {} to {} of the chain become a stencil of more than {} operations, or one that reaches "
          "further "
          "than {} cells",
          chain[static_cast<std::size_t>(link.begin)].name,
          chain[static_cast<std::size_t>(link.end) - 1].name, max_joined_operations, max_joined_reach));
  return links;
}

}  // namespace spinloom::stencil
