#pragma once
#include <optional>
#include <string>
#include <vector>

#include "spinloom/stencil/definition.hpp"
#include "spinloom/stencil/grid.hpp"

/// A chain of stencils as fewer stencils: where one reads what an earlier one wrote, the earlier one's expression is put in
/// its place, moved by the offset. Operations and their order stay, so bits do too.
namespace spinloom::stencil {

/// Stencils [begin, end) of a chain that one pass over memory takes.
struct Link {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
};

/// A field that a link writes.
struct LinkOutput {
  int field = 0, kernel = 0;  ///< the last of the link's stencils that writes it
  short root = 0;
  bool is_read = false;     ///< from memory: by a later link, or when the next step starts
  bool is_scratch = false;  ///< else, and the link's own stencils read it
  bool turns = false;       ///< the link reads its values from before, so that it takes a second array
};

/// Where a stencil's value comes from: an array, a number of periods away.
struct ChainSource {
  int field = 0;
  int periods[3] = {0, 0, 0};
  bool is_outside = false;  ///< a cell of the caller's own beyond a face
  friend bool operator==(const ChainSource&, const ChainSource&) = default;
};

/// What passes from stencil to stencil: every digit that was computed, or those that a grid keeps.
enum class Between { as_computed, as_kept };
/// A value as a grid keeps it: the smaller one of it and itself, marked in `field`.
inline constexpr short mark_of_kept = 1;
inline bool is_kept(const Node& n) { return n.op == Op::min && n.a == n.b && n.field == mark_of_kept; }

/// A node of a stencil whose value at a point is that of another node, dx points further along x.
struct SameValue {
  short node = 0, as = 0;
  int dx = 0;
};

/// A link as one stencil.
struct Joined {
  Definition definition;  ///< its fields are numbers of `sources`
  std::vector<ChainSource> sources;
  std::vector<SameValue> handed;  ///< results of the link's stencils that are wanted beside the point
  int low[3] = {0, 0, 0}, high[3] = {0, 0, 0};  ///< cells from a point within which a value is computed
};

/// Its definition with fields by their own numbers, for points whose values all come from inside.
Definition definition_by_fields(const Joined& joined);

/// Points that lie `at` cells from the beginning of an axis, and far from both ends of the others.
struct NearFace {
  int axis = 0;
  Index at = 0;
};

inline constexpr int max_joined_reach = 8, max_joined_operations = 600;

/// Number of the last stencil of [begin, before) that writes a field, -1: none.
int writer_of(const std::vector<Definition>& chain, int begin, int before, int field);
/// What of a link's results somebody sees.
std::vector<LinkOutput> outputs_of(const std::vector<Definition>& chain, const std::vector<Link>& links,
                                   std::size_t link);

/// The link as one stencil for points whose neighbours all lie inside, or for points near a face; nothing when it would have
/// more operations or a longer reach than is allowed, or more arrays than a stencil reads. Faces are those of the fields.
std::optional<Joined> joined(const std::vector<Definition>& chain, const Link& link,
                             const std::vector<LinkOutput>& outputs, Between between = Between::as_computed,
                             const GridLayout* layout = nullptr,
                             const std::vector<Boundaries>* faces = nullptr, const NearFace& near = {});

/// Why no two of these stencils can be taken in one pass; nothing when they can.
std::optional<std::string> why_not_joined(const std::vector<Definition>& chain);

/// The chain cut into links of the sizes given, or where sizes = {0} as long as they are allowed to be. Throws ArgumentError
/// with a sentence for sizes that are not those of this chain, and links that are too much for one stencil.
std::vector<Link> cut(const std::vector<Definition>& chain, const std::vector<int>& sizes);

}  // namespace spinloom::stencil
