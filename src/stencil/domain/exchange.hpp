#pragma once
#include "spinloom/stencil/domain.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {

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
  struct Way {
    Box send, receive;
    Array<T> out, in;
    Message sending, receiving;
  };
  GridLayout layout_;
  std::vector<Way> ways_;
};

}  // namespace spinloom::stencil
