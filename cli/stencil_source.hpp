#pragma once
#include <string>
#include <utility>
#include <vector>

#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/parse.hpp"

namespace stencil_command {

/// A stencil named on the command line, built in or a text, before the type of its elements is known.
struct Source {
  std::string name;  ///< as the results call it
  std::vector<std::string> fields;
  std::vector<std::pair<std::string, double>> params;  ///< with defaults; NaN: must be given
  std::vector<spinloom::stencil::Definition> chain;    ///< read from a text; empty: built in

  template <class T>
  std::vector<spinloom::stencil::Kernel<T>> kernels() const {
    namespace st = spinloom::stencil;
    if constexpr (std::is_same_v<T, spinloom::Half>) {
      if (chain.empty()) return st::builtin_kernels_as_half(name);
      return {st::stored_as_half(st::make_interpreted_kernel<float>(chain[0]))};
    } else {
      if (chain.empty()) return st::builtin_kernels<T>(name);
      return {st::make_interpreted_kernel<T>(chain[0])};
    }
  }
};

/// One of `name` and `expression` is empty. Throws CLI::ValidationError for a text that is none.
Source find_source(const std::string& name, const std::string& expression);

/// The values of all parameters: those of `given`, each VALUE, in order, or NAME=VALUE; else the defaults, and `otherwise`
/// where there is none. Throws CLI::ValidationError for what is no number, names nothing, is too many or still NaN.
std::vector<double> param_values(const Source& source, const std::vector<std::string>& given,
                                 double otherwise);

/// "FIELD=FILE", or "FILE" for the first field. Throws CLI::ValidationError for a field that the stencil lacks.
std::pair<std::size_t, std::string> field_and_file(const std::string& option, const Source& source,
                                                   const std::string& text);

}  // namespace stencil_command
