#pragma once
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// Prints the operations of a stencil's points as statements, each value once, however many points use it.
class StencilPrinter {
 public:
  /// What stands for the value of a read at an offset: the text of an expression.
  using Access = std::function<std::string(int read, int dz, int dy, int dx)>;
  StencilPrinter(const stencil::Definition& definition, StencilNumbers numbers, Access access);

  /// Types, constants and reaches: what stencil_text() says of them.
  std::string head() const;
  /// The name of node `at` for the point (dz, dy, dx) from the one at hand; statements are printed at its first use.
  std::string value(int at, int dy = 0, int dx = 0, int dz = 0);
  /// The same as a Value, where a number that is the same for all points is a real one.
  std::string stored(int at, int dy = 0, int dx = 0, int dz = 0);
  std::string take_statements() { return std::exchange(text_, {}); }
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
  int number(int at, int dy, int dx, int dz);
  std::string expression(const stencil::Node& n, int dy, int dx, int dz, int a, int b, int c,
                         bool uniform) const;
  bool is_uniform(int v) const { return is_uniform_[static_cast<std::size_t>(v)] != 0; }

  const stencil::Definition& d_;
  stencil::ProgramView p_;
  Words w_;
  Access access_;
  stencil::Read list_[stencil::max_reads];
  int reads_ = 0;
  std::string text_;
  std::vector<char> is_uniform_;  ///< of each value: a real number that is the same for all points
  std::map<std::tuple<int, int, int, int>, int> known_;
  std::map<std::string, int> printed_;
};

}  // namespace spinloom::cuda
