#pragma once
#include <string>
#include <vector>

#include "spinloom/stencil/half.hpp"

namespace spinloom::stencil {

/// A stencil that comes with the library.
struct BuiltinInfo {
  std::string name, description;
  std::vector<std::string> fields;
  std::vector<std::pair<std::string, double>> params;  ///< with values that make sense
  bool has_complex = false;
};
const std::vector<BuiltinInfo>& builtins();
/// Throws ArgumentError that lists the names.
const BuiltinInfo& find_builtin(const std::string& name);

/// The kernels that the name stands for, one after the other (most are a single one), in the fastest instructions of
/// this machine. Throws ArgumentError for an unknown name, or for complex elements where there are none.
template <class T>
std::vector<Kernel<T>> builtin_kernels(const std::string& name);

/// The same for grids of float that are computed in double (see make_kernel). Throws ArgumentError that lists the names
/// for a stencil that was not compiled so: 7-point, 27-point and laplacian are.
std::vector<Kernel<float>> builtin_kernels_in_double(const std::string& name);

/// The same for grids of halves that are computed in float. Every stencil is there; on the host run those of
/// builtin_kernels_in_double() alone.
std::vector<Kernel<Half>> builtin_kernels_as_half(const std::string& name);

/// Instruction sets that the library's stencils were compiled for and this machine has, best first.
std::vector<std::string> builtin_targets();
/// The same for one of builtin_targets().
template <class T>
std::vector<Kernel<T>> builtin_kernels(const std::string& name, const std::string& target);

}  // namespace spinloom::stencil
