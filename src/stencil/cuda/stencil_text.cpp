#include "stencil/cuda/stencil_text.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "spinloom/core/error.hpp"
#include "stencil/cuda/stencil_printer.hpp"

namespace spinloom::cuda {

using namespace stencil;

std::string stencil_text(const Definition& d, StencilNumbers numbers) {
  StencilPrinter printer(d, numbers, [](int read, int dz, int dy, int dx) {
    return fmt::format("at.template get<{}, {}, {}, {}>()", read, dz, dy, dx);
  });
  std::string results;
  for (std::size_t o = 0; o < d.outputs.size(); ++o)
    results += fmt::format("  out[{}] = {};\n", o, printer.stored(d.outputs[o].root));
  for (std::size_t r = 0; r < d.reductions.size(); ++r)
    results += fmt::format("  reduced[{}] = {};\n", r, printer.value(d.reductions[r].root));
  return fmt::format(
      "{}template <class At>\n"
      "STENCIL_OP void stencil_point(const At& at, const Real* p, Value* out, Real* reduced) {{\n{}{}}}\n",
      printer.head(), printer.take_statements(), results);
}

const KernelInstance& stencil_instance(const KernelSource& skeleton, const Definition& definition,
                                       const std::string& text, std::vector<std::string> defines,
                                       int minimum_architecture) {
  struct Kept {
    std::string name;
    KernelSource source;
    std::map<std::vector<std::string>, KernelInstance> instances;
  };
  static std::mutex guard;
  static std::map<std::string, Kept>& every = *new std::map<std::string, Kept>;
  constexpr std::string_view mark = "//@stencil";
  std::string all = skeleton.text;
  const std::size_t at = all.find(mark);
  if (at == std::string::npos)
    throw DeviceError(
        fmt::format("{} has no place for a stencil: it must include stencil_values.cuh", skeleton.name));
  all.replace(at, mark.size(), text);
  const std::lock_guard lock(guard);
  const auto [entry, is_new] = every.try_emplace(all);
  Kept& kept = entry->second;
  if (is_new) {
    // Modules go by their name, and one name may stand for many texts.
    kept.name = fmt::format("{} for stencil {} ({})", skeleton.name, definition.name, every.size());
    kept.source = {kept.name.c_str(), entry->first.c_str()};
  }
  const auto [instance, added] = kept.instances.try_emplace(defines);
  if (added) instance->second = {&kept.source, std::move(defines), minimum_architecture};
  return instance->second;
}

const KernelInstance& stencil_instance(const KernelSource& skeleton, const Definition& definition,
                                       StencilNumbers numbers, std::vector<std::string> defines,
                                       int minimum_architecture) {
  return stencil_instance(skeleton, definition, stencil_text(definition, numbers), std::move(defines),
                          minimum_architecture);
}

}  // namespace spinloom::cuda
