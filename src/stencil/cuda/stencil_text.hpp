#pragma once
#include <string>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/stencil/half.hpp"
#include "stencil/chain.hpp"

namespace spinloom::cuda {

/// How a stencil's values lie in memory and what they are computed in.
enum class StencilNumbers { f32, f64, f32_in_f64, f16_in_f32, c32, c64 };

template <class T>
constexpr StencilNumbers stencil_numbers(bool in_double = false) {
  if constexpr (std::is_same_v<T, float>)
    return in_double ? StencilNumbers::f32_in_f64 : StencilNumbers::f32;
  else if constexpr (std::is_same_v<T, double>)
    return StencilNumbers::f64;
  else if constexpr (std::is_same_v<T, stencil::Half>)
    return StencilNumbers::f16_in_f32;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return StencilNumbers::c32;
  else
    return StencilNumbers::c64;
}

/// Bytes of an element in memory.
constexpr int stencil_bytes(StencilNumbers n) {
  switch (n) {
    case StencilNumbers::f16_in_f32: return 2;
    case StencilNumbers::f64:
    case StencilNumbers::c32: return 8;
    case StencilNumbers::c64: return 16;
    default: return 4;
  }
}

/// Whether more digits are computed than memory keeps.
constexpr bool computes_more_digits(StencilNumbers n) {
  return n == StencilNumbers::f16_in_f32 || n == StencilNumbers::f32_in_f64;
}
/// What the stencils of a chain in one pass hand to one another, so that bits are those of one after the other.
constexpr stencil::Between between(StencilNumbers n) {
  return computes_more_digits(n) ? stencil::Between::as_kept : stencil::Between::as_computed;
}

/// One point of a stencil as CUDA text, in the CPU's order of operations, so that its bits are the CPU's. The text says
/// nothing of where values are kept: a kernel hands in an object `at` that knows.
///
///   typedef .. Storage, Real, Value;        in memory, of parameters, computed with
///   constexpr int reads, outputs, reductions, params;
///   constexpr bool red_black, is_sum[];     of each reduction: else it is a max
///   constexpr int low[reads][3], high[reads][3];  cells read below and above a point along z, y, x
///   Value kept(Value);                      as memory keeps it, where a joined chain asks for that
///   template <class At> void stencil_point(const At& at, const Real* p, Value* out, Real* reduced);
///
/// `at.template get<read, dz, dy, dx>()` gives a Value. Reads are numbered as ProgramView::list_reads() lists them, outputs
/// as the definition does. Every value is computed in one statement of its own, v0, v1, ..
///
/// Errors   ArgumentError for what the CPU refuses for complex elements too: comparisons, min, abs, where(), reductions
std::string stencil_text(const stencil::Definition& definition, StencilNumbers numbers);

/// A kernel for this stencil: `skeleton` includes stencil_values.cuh, whose last line the stencil's text replaces.
/// Instances live as long as the process, one for each text and set of constants.
const KernelInstance& stencil_instance(const KernelSource& skeleton, const stencil::Definition& definition,
                                       StencilNumbers numbers, std::vector<std::string> defines,
                                       int minimum_architecture = 75);
/// The same with a text of the caller's own in that place.
const KernelInstance& stencil_instance(const KernelSource& skeleton, const stencil::Definition& definition,
                                       const std::string& text, std::vector<std::string> defines,
                                       int minimum_architecture = 75);

}  // namespace spinloom::cuda
