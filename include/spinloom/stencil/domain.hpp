#pragma once
#include <array>
#include <string>
#include <vector>

#include "spinloom/runtime/communicator.hpp"
#include "spinloom/stencil/definition.hpp"
#include "spinloom/stencil/grid.hpp"

namespace spinloom::stencil {

/// What a part of a grid keeps beyond its own points: `depth` cells of its neighbours' along an axis that is split, and
/// `reach` cells outside of the whole grid's faces.
struct Rim {
  Halo reach, depth;
};
/// The rim with which a part takes `steps` steps of a chain of stencils between two exchanges. Each step leaves a little
/// less of it right: depth = steps x the sum of the stencils' reaches, a red-black one counting twice.
Rim rim_of(const std::vector<Definition>& chain, int steps = 1);
template <class T>
Rim rim_of(const std::vector<Kernel<T>>& chain, int steps = 1) {
  std::vector<Definition> definitions;
  for (const auto& k : chain) definitions.push_back(*k.definition);
  return rim_of(definitions, steps);
}

struct DomainOptions {
  /// Parts along each axis of the shape; 0 where they may be chosen, and empty for all of them: the least surface, and of
  /// equals the one with the longest rows, so x is cut last.
  Shape split;
  /// Axes of the shape whose ends meet. Of use to those that are split; fields must agree with it there.
  std::array<bool, 3> is_periodic{};
};

/// One rank's part of a grid, axes z, y, x as in GridLayout. Points count from the start of the whole grid; along a
/// periodic axis stored ones may lie below 0 or past the end.
struct DomainPart {
  std::array<Index, 3> begin{}, end{};                ///< its own points
  std::array<Index, 3> stored_begin{}, stored_end{};  ///< with those of its neighbours
  std::array<bool, 3> has_low{}, has_high{};          ///< a neighbour there, not a face of the whole grid
  std::array<int, 3> place{};                         ///< among the parts
};

/// A grid that is shared by the ranks of a communicator: one block each, in the order of the ranks with x fastest. One rank
/// is nothing special. Every rank makes it with the same arguments.
///
/// Errors   ArgumentError, the same on every rank, where there are more ranks than points, a part is smaller than its
///          neighbours' rims, or the split does not make as many parts as there are ranks
/// Threads  immutable, may be shared
class Domain {
 public:
  Domain(const Shape& shape, const Communicator& communicator, const Rim& rim,
         const DomainOptions& options = {});

  const Shape& shape() const { return shape_; }
  const Communicator& communicator() const { return communicator_; }
  const Rim& rim() const { return rim_; }
  /// Parts along z, y, x.
  const std::array<int, 3>& parts() const { return parts_; }
  bool is_periodic(int axis) const { return periodic_[static_cast<std::size_t>(axis)]; }  ///< of z, y, x
  DomainPart part(int rank) const;
  DomainPart part() const { return part(communicator_.rank()); }
  /// Shape of a rank's own points, with as many axes as shape().
  Shape own_shape(int rank) const;
  /// The rank of the part at a place; places of a periodic axis count on past its ends. -1 where there is none.
  int rank_at(std::array<int, 3> place) const;

 private:
  Shape shape_;
  Communicator communicator_;
  Rim rim_;
  std::array<Index, 3> n_{};
  std::array<int, 3> parts_{};
  std::array<bool, 3> periodic_{};
};

/// "2 x 1 x 4", along the axes of the shape.
std::string split_text(const Domain& domain);

}  // namespace spinloom::stencil
