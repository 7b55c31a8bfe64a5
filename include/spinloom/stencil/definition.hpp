#pragma once
#include <memory>
#include <string>
#include <vector>

#include "spinloom/stencil/row_functions.hpp"

namespace spinloom::stencil {

/// A stencil as a value at run time: the node list of its expression.
struct Definition {
  std::string name;
  std::vector<Node> code;
  std::vector<Output> outputs;
  std::vector<ReductionRoot> reductions;
  int rank = 3;
  bool red_black = false;

  ProgramView view() const {
    return {code.data(),
            static_cast<int>(code.size()),
            outputs.data(),
            static_cast<int>(outputs.size()),
            reductions.data(),
            static_cast<int>(reductions.size()),
            rank,
            red_black};
  }
};

/// The expression as it is computed: "next(u0) = fma(0.4, u0(0,0,0), 0.1 * (u0(0,0,-1) + u0(0,0,1)))".
std::string to_string(const Definition& definition);

/// A copy of a node list that lives at run time.
Definition make_definition(const std::string& name, const ProgramView& program);

/// A stencil ready to run on elements T: what it is, and its row kernels. Copies share both.
template <class T>
struct Kernel {
  std::shared_ptr<const Definition> definition;
  RowFunctions<T> rows;
  std::shared_ptr<const void> state;  ///< handed to the row functions
  bool in_double = false;             ///< on grids of float: computed in double

  ProgramView view() const { return definition->view(); }
};

inline namespace SPINLOOM_STENCIL_TARGET {
/// The kernel of a stencil of your own, compiled here with the flags of this file: add -march=native, or nothing
/// faster than the oldest machine's instructions is used.
///
/// Arithmetic   make_kernel<Heat, float, double>() computes in double on grids of float: half the bytes of double, and
///              one rounding to float per step instead of one per operation. make_kernel<Heat, Half, float>() computes in
///              float on grids of halves. Other pairs do not compile.
template <class S, class T, class Arithmetic = real_of<T>>
Kernel<T> make_kernel(const std::string& name = "stencil") {
  return {std::make_shared<const Definition>(make_definition(name, program_of<S>.view())),
          row_functions<S, T, max_planes, Arithmetic>(), nullptr,
          std::is_same_v<Arithmetic, double> && !std::is_same_v<real_of<T>, double>};
}
}  // namespace SPINLOOM_STENCIL_TARGET

}  // namespace spinloom::stencil
