#include <algorithm>
#include <map>
#include <tuple>

#include "stencil/chain.hpp"

namespace spinloom::stencil {
namespace {

struct Place {
  Index z = 0, y = 0, x = 0;
  Index& operator[](std::size_t axis) { return axis == 0 ? z : axis == 1 ? y : x; }
  Index operator[](std::size_t axis) const { return axis == 0 ? z : axis == 1 ? y : x; }
};

/// Writes one stencil out of several.
class Joiner {
 public:
  Joiner(const std::vector<Definition>& chain, const Link& link, Between between, const GridLayout* layout,
         const std::vector<Boundaries>* faces, const NearFace& near)
      : chain_(chain), link_(link), between_(between), layout_(layout), faces_(faces), near_(near) {}

  short emit(int kernel, int at, const Place& p) {
    const auto key = std::tuple(kernel, at, p.z, p.y, p.x);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const Node& from = chain_[static_cast<std::size_t>(kernel)].code[static_cast<std::size_t>(at)];
    Node n = from;
    if (n.op == Op::shifted) return known_[key] = emit(kernel, n.a, {p.z, p.y, p.x + n.x});
    if (n.op == Op::access) return known_[key] = read(kernel, n.field, {p.z + n.z, p.y + n.y, p.x + n.x});
    for (short Node::*operand : {&Node::a, &Node::b, &Node::c})
      if (n.*operand >= 0) n.*operand = emit(kernel, n.*operand, p);
    return known_[key] = add(n);
  }

  bool is_too_much() const { return too_much_; }
  Joined take() { return std::move(joined_); }

 private:
  short add(const Node& n) {
    auto& code = joined_.definition.code;
    const auto found = std::find(code.begin(), code.end(), n);
    if (found != code.end()) return static_cast<short>(found - code.begin());
    too_much_ |= code.size() > 4 * max_joined_operations;
    if (too_much_) return 0;
    code.push_back(n);
    return static_cast<short>(code.size() - 1);
  }

  short read(int kernel, int field, Place p) {
    const int writer = writer_of(chain_, link_.begin, kernel, field);
    if (writer < 0) return access(field, p, false);
    double added = 0;
    if (layout_ != nullptr) {
      const std::size_t axis = static_cast<std::size_t>(near_.axis);
      const Index at = near_.at + p[axis], n = layout_->n[axis];
      if (at < 0 || at >= n) {
        const Boundaries& b = (*faces_)[static_cast<std::size_t>(field)];
        const HaloCell c = halo_cell(at, n, b.low[axis], b.high[axis]);
        if (c.kind == HaloCell::Kind::value) return kept(number(c.add));
        p[axis] += c.source - at;
        if (c.source < 0 || c.source >= n) return sum(access(field, p, true), c.add);
        added = c.add;
      }
    } else {
      for (std::size_t a = 0; a < 3; ++a) {
        joined_.low[a] = std::max(joined_.low[a], static_cast<int>(-p[a]));
        joined_.high[a] = std::max(joined_.high[a], static_cast<int>(p[a]));
      }
    }
    const Definition& d = chain_[static_cast<std::size_t>(writer)];
    for (const Output& o : d.outputs)
      if (o.field == field) {
        const short value = kept(emit(writer, o.root, p));
        if (layout_ == nullptr && p.x != 0) hand_over(value, kept(emit(writer, o.root, {p.z, p.y, 0})), p.x);
        return sum(value, added);
      }
    return 0;
  }
  void hand_over(short node, short as, Index dx) {
    // One of them is always what the other one stands for, never both.
    for (const SameValue& s : joined_.handed)
      if (s.node == node || s.as == node || s.node == as) return;
    const Op op = joined_.definition.code.empty() ? Op::access
                                                  : joined_.definition.code[static_cast<std::size_t>(as)].op;
    if (node != as && op != Op::access && op != Op::literal && op != Op::param)
      joined_.handed.push_back({node, as, static_cast<int>(dx)});
  }
  short number(double value) {
    Node n;
    n.value = value;
    return add(n);
  }
  /// Of two numbers as a grid keeps them; computed in twice their digits it rounds to what fewer would have given.
  short sum(short value, double added) {
    if (added == 0) return value;
    Node n;
    n.op = Op::add;
    n.a = value;
    n.b = kept(number(added));
    return kept(add(n));
  }
  /// A value as the next stencil finds it. What is read from a grid is that already.
  short kept(short value) {
    if (between_ == Between::as_computed || too_much_) return value;
    const Node& from = joined_.definition.code[static_cast<std::size_t>(value)];
    if (from.op == Op::access || is_kept(from)) return value;
    Node n;
    n.op = Op::min;
    n.a = n.b = value;
    n.field = mark_of_kept;
    return add(n);
  }
  short access(int field, Place p, bool is_outside) {
    ChainSource s;
    s.field = field;
    s.is_outside = is_outside;
    if (layout_ != nullptr) {  // an end that is far is near from a period away
      const std::size_t axis = static_cast<std::size_t>(near_.axis);
      const Index n = layout_->n[axis];
      while (p[axis] > n / 2) p[axis] -= n, ++s.periods[axis];
      while (p[axis] < -n / 2) p[axis] += n, --s.periods[axis];
    }
    for (std::size_t a = 0; a < 3; ++a) too_much_ |= p[a] > max_joined_reach || p[a] < -max_joined_reach;
    auto& all = joined_.sources;
    auto found = std::find(all.begin(), all.end(), s);
    if (found == all.end()) found = all.insert(all.end(), s);
    too_much_ |= all.size() > max_reads - 1;
    Node n;
    n.op = Op::access;
    n.field = static_cast<short>(found - all.begin());
    n.z = static_cast<short>(p.z);
    n.y = static_cast<short>(p.y);
    n.x = static_cast<short>(p.x);
    return add(n);
  }

  const std::vector<Definition>& chain_;
  Link link_;
  Between between_;
  const GridLayout* layout_;
  const std::vector<Boundaries>* faces_;
  NearFace near_;
  Joined joined_;
  bool too_much_ = false;
  std::map<std::tuple<int, int, Index, Index, Index>, short> known_;
};

}  // namespace

std::optional<Joined> joined(const std::vector<Definition>& chain, const Link& link,
                             const std::vector<LinkOutput>& outputs, Between between,
                             const GridLayout* layout, const std::vector<Boundaries>* faces,
                             const NearFace& near) {
  Joiner joiner(chain, link, between, layout, faces, near);
  std::vector<Output> roots;
  for (const LinkOutput& o : outputs)
    roots.push_back({static_cast<short>(o.field), joiner.emit(o.kernel, o.root, {}), Target::next});
  if (joiner.is_too_much()) return std::nullopt;
  Joined j = joiner.take();
  j.definition.outputs = std::move(roots);
  j.definition.rank = chain[static_cast<std::size_t>(link.begin)].rank;
  for (int k = link.begin; k < link.end; ++k)
    j.definition.name += (k > link.begin ? " then " : "") + chain[static_cast<std::size_t>(k)].name;
  const auto rounded = std::count_if(j.definition.code.begin(), j.definition.code.end(), is_kept);
  if (j.definition.view().flops() - rounded > max_joined_operations && link.size() > 1) return std::nullopt;
  return j;
}

Definition definition_by_fields(const Joined& j) {
  Definition d = j.definition;
  for (Node& n : d.code)
    if (n.op == Op::access) n.field = static_cast<short>(j.sources[static_cast<std::size_t>(n.field)].field);
  return d;
}

}  // namespace spinloom::stencil
