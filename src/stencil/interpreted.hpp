#pragma once
#include "spinloom/stencil/row_block.hpp"

namespace spinloom::stencil {

/// A stencil as its row kernel goes through it. Values are numbered; each is a place in a row that is read, or a stretch
/// in the kernel's scratch memory.
struct InterpretedStep {
  Op op = Op::literal;
  short value = 0, a = 0, b = 0, c = 0;  ///< result and operands
  short param = 0;
  double literal = 0;
};
struct InterpretedRead {
  short value = 0, read = 0, plane = 0, y = 0, x = 0;
};
struct InterpretedProgram {
  const InterpretedStep *once, *steps;  ///< the same for all points; per stretch
  int once_count, step_count;
  const InterpretedRead* reads;
  int read_count;
  const short* slots;  ///< per value: its stretch of scratch memory, or -1
  int values, slot_count;
  short outputs[max_outputs];
  int output_count;
  ReductionRoot reductions[max_reductions];
  int reduction_count;
  bool red_black;
};
inline constexpr int interpreted_values = 1024, interpreted_scratch_bytes = 1 << 16, interpreted_least = 16;

}  // namespace spinloom::stencil
