#include "stencil_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"

namespace stencil_command {

namespace st = spinloom::stencil;

namespace {

/// Which of `names` comes before a '=' at the beginning of `text`, and what is after it; names.size() and all of it when
/// none does. A name may hold anything.
std::pair<std::size_t, std::string> split_name(const std::vector<std::string>& names,
                                               const std::string& text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text.starts_with(names[i] + "=")) return {i, text.substr(names[i].size() + 1)};
  return {names.size(), text};
}

}  // namespace

Source find_source(const std::string& name, const std::string& expression) {
  if (expression.empty()) {
    const st::BuiltinInfo& info = st::find_builtin(name);
    return {name, info.fields, info.params, {}};
  }
  try {
    st::ParsedStencil parsed = st::parse_stencil(expression);
    Source s{"expression", parsed.fields, {}, {std::move(parsed.definition)}};
    for (const std::string& param : parsed.params) s.params.emplace_back(param, std::nan(""));
    return s;
  } catch (const spinloom::ArgumentError& e) {
    throw CLI::ValidationError("--expression", e.what());
  }
}

std::vector<double> param_values(const Source& source, const std::vector<std::string>& given,
                                 double otherwise) {
  std::vector<std::string> names;
  std::vector<double> values;
  for (const auto& [name, value] : source.params)
    names.push_back(name), values.push_back(std::isnan(value) ? otherwise : value);
  const std::string known = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  std::size_t next = 0;
  for (const std::string& text : given) {
    auto [at, number] = split_name(names, text);
    if (at == names.size() && text.find('=') != std::string::npos)
      throw CLI::ValidationError(
          "--param", fmt::format("'{}' names no parameter of {}, expected {}", text, source.name, known));
    if (at == names.size()) at = next++;
    if (at >= names.size())
      throw CLI::ValidationError(
          "--param", fmt::format("{} values, {} has {}: {}", given.size(), source.name, names.size(), known));
    if (!CLI::detail::lexical_cast(number, values[at]) || !std::isfinite(values[at]))
      throw CLI::ValidationError("--param", fmt::format("'{}' is no finite number", text));
  }
  for (std::size_t p = 0; p < values.size(); ++p)
    if (std::isnan(values[p]))
      throw CLI::ValidationError(
          "--param", fmt::format("{} needs a value of '{}', as {}=0.1", source.name, names[p], names[p]));
  return values;
}

std::pair<std::size_t, std::string> field_and_file(const std::string& option, const Source& source,
                                                   const std::string& text) {
  auto [field, file] = split_name(source.fields, text);
  const std::size_t equals = file.find('=');
  const bool is_file = field < source.fields.size() || equals == std::string::npos || file.find('/') < equals;
  if (!is_file || file.empty())
    throw CLI::ValidationError(option, fmt::format("'{}' is not FIELD=FILE with one of the fields of {}: {}",
                                                   text, source.name, fmt::join(source.fields, ", ")));
  return {field == source.fields.size() ? 0 : field, file};
}

}  // namespace stencil_command
