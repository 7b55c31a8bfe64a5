#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// Prints the operations of a stencil's points as statements, each value once, however many points use it.
///
/// Where planes come one after the other, `lag` says how many planes ago a read was at the plane that it now is to be
/// taken from. Each operation is then done when the last of its operands comes, once for all planes that use it, and its
/// value is carried to where it is needed: v7_2 is what v7 was two planes ago. The order of operations stays.
class StencilPrinter {
 public:
  /// What stands for the value of a read at an offset: the text of an expression. With `lag`, that of the newest plane.
  using Access = std::function<std::string(int read, int dz, int dy, int dx)>;
  using Lag = std::function<int(int read, int dz)>;
  StencilPrinter(const stencil::Definition& definition, StencilNumbers numbers, Access access, Lag lag = {});

  /// Values that nodes have beyond a thread's own points [0, points) are taken from the lanes of the warp that compute them:
  /// right where there are such lanes.
  void hand_over(const std::vector<stencil::SameValue>& values, int points) {
    for (const auto& v : values) handed_[v.node] = {v.as, v.dx}, bases_.insert(v.as);
    points_ = points;
  }
  /// Types, constants and reaches: what stencil_text() says of them.
  std::string head() const;
  /// The name of node `at` for the point (dz, dy, dx) from the one at hand; statements are printed at its first use.
  std::string value(int at, int dy = 0, int dx = 0, int dz = 0);
  /// The same as a Value, where a number that is the same for all points is a real one.
  std::string stored(int at, int dy = 0, int dx = 0, int dz = 0);
  std::string take_statements() { return std::exchange(text_, {}); }
  /// A statement that an access needs, before the one that uses it.
  void say(const std::string& statement) { text_ += statement; }
  /// Values of planes before: their declarations, and how they move on at the end of a plane.
  std::string carried() const;
  std::string moves() const;
  int reads() const { return reads_; }
  const stencil::Read* list() const { return list_; }

 private:
  struct Words {
    const char *storage, *real, *value;
    bool is_complex, is_double;
  };
  static Words words(StencilNumbers numbers);
  [[noreturn]] void refuse(const char* what) const;
  std::string reach(const char* name, int (stencil::Reach::*side)[3]) const;
  std::string sums() const;
  /// A value, and how many planes ago it was computed.
  struct Known {
    int v = -1, lag = 0;
  };
  Known number(int at, int dy, int dx, int dz);
  Known from_lane(int at, int dy, int dx, int dz);
  int printed(const std::string& text, bool uniform, const char* type);
  /// Its name `planes` planes after it was computed.
  std::string name(Known value, int planes = 0);
  std::string expression(const stencil::Node& n, int dy, int dx, int dz, const std::string& a,
                         const std::string& b, const std::string& c, bool uniform, bool are_uniform[3]) const;
  bool is_uniform(int v) const { return values_[static_cast<std::size_t>(v)].is_uniform; }

  const stencil::Definition& d_;
  stencil::ProgramView p_;
  Words w_;
  Access access_;
  Lag lag_;
  stencil::Read list_[stencil::max_reads];
  int reads_ = 0;
  std::string text_;
  struct Printed {
    bool is_uniform;  ///< a real number that is the same for all points
    const char* type;
    int carried;  ///< planes
  };
  std::vector<Printed> values_;
  std::map<std::tuple<int, int, int, int>, Known> known_;
  std::map<std::string, int> printed_;
  std::map<int, std::pair<int, int>> handed_;
  std::set<int> bases_;
  int points_ = 1;
};

}  // namespace spinloom::cuda
