#pragma once
#include "spinloom/stencil/domain.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {

/// What goes one way between a part and a neighbour of its: boxes among its stored points, and tags that both ends agree on.
struct Passage {
  Box send, receive;
  int peer = 0, out_tag = 0, in_tag = 0;
};
/// Of one exchange; across faces, edges and corners, whatever the rims need, and nothing empty.
std::vector<Passage> passages(const Domain& domain, const GridLayout& stored);
Index points(const Box& box);

/// Brings the rim of a part up to date: one message to and from each neighbour, those across edges and corners too, for
/// `arrays` arrays at once. Messages also carry cells outside of the whole grid's faces, beside the points they belong to,
/// so that rims need no boundary rules.
template <class T>
class Exchange {
 public:
  /// Exchanges between the same ranks need tags of their own: 32 from first_tag on.
  Exchange(const Domain& domain, const GridLayout& stored, std::size_t arrays, int first_tag);

  /// Posts the receives, packs and sends. The arrays may then be written, but for their rims.
  void start(const std::vector<T*>& origins);
  /// Moves messages on, where that needs somebody's time.
  void poll();
  /// Waits, and writes the rims.
  void finish(const std::vector<T*>& origins);

  bool is_empty() const { return ways_.empty(); }
  double bytes() const;  ///< sent by one exchange

 private:
  struct Way : Passage {
    Array<T> out, in;
    Message sending, receiving;
  };
  GridLayout layout_;
  std::vector<Way> ways_;
};

}  // namespace spinloom::stencil
