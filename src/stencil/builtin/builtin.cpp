#include "spinloom/stencil/builtin.hpp"

#include <fmt/format.h>

#include "spinloom/core/error.hpp"
#include "stencil/builtin/rows.hpp"
#include "stencil/builtin/targets.hpp"

namespace spinloom::stencil {

#define SPINLOOM_DECLARE(target)                          \
  namespace target {                                      \
  void swept_rows(RowFunctions<float>*);                  \
  void swept_rows(RowFunctions<double>*);                 \
  void others_rows(RowFunctions<float>*);                 \
  void others_rows(RowFunctions<double>*);                \
  void complex_rows(RowFunctions<std::complex<float>>*);  \
  void complex_rows(RowFunctions<std::complex<double>>*); \
  void wide_rows(RowFunctions<float>*);                   \
  void half_rows(RowFunctions<Half>*);                    \
  }
SPINLOOM_STENCIL_TARGETS(SPINLOOM_DECLARE)

namespace {

/// One stencil of the lists: its expression at run time.
struct Entry {
  const char* functor;
  Definition (*define)(const std::string& name);
};
template <class S>
Definition define(const std::string& name) {
  return make_definition(name, program_of<S>.view());
}
#define SPINLOOM_ENTRY(S) {#S, &define<builtin::S>},
constexpr Entry real_entries[] = {SPINLOOM_STENCIL_SWEPT(SPINLOOM_ENTRY)
                                      SPINLOOM_STENCIL_OTHERS(SPINLOOM_ENTRY)};
constexpr Entry wide_entries[] = {SPINLOOM_STENCIL_WIDE(SPINLOOM_ENTRY)};
constexpr Entry complex_entries[] = {SPINLOOM_STENCIL_COMPLEX(SPINLOOM_ENTRY)};

struct Name {
  BuiltinInfo info;
  std::vector<std::string> functors;
};
const std::vector<Name>& names() {
  static const std::vector<Name> all = {
      {{"5-point",
        "heat equation in 2D: centre u + side (sum of 4 neighbours)",
        {"u"},
        {{"centre", 0.4}, {"side", 0.15}},
        false},
       {"FivePoint"}},
      {{"7-point",
        "heat equation: centre u + side (sum of 6 neighbours)",
        {"u"},
        {{"centre", 0.4}, {"side", 0.1}},
        true},
       {"SevenPoint"}},
      {{"27-point",
        "cube with four symmetric weights",
        {"u"},
        {{"centre", 0.3}, {"face", 0.05}, {"edge", 0.02}, {"corner", 0.01}},
        false},
       {"TwentySevenPoint"}},
      {{"25-point",
        "star of radius 4",
        {"u"},
        {{"c0", 0.3}, {"c1", 0.08}, {"c2", 0.02}, {"c3", 0.01}, {"c4", 0.006}},
        false},
       {"TwentyFivePoint"}},
      {{"wave", "leapfrog for the wave equation, 8th order in space", {"u", "(speed dt)^2"}, {}, false},
       {"Wave"}},
      {{"red-black", "Gauss-Seidel in two colours for -lap u = f", {"u", "f"}, {{"scale", 1.0 / 6}}, false},
       {"RedBlack7"}},
      {{"jacobi", "Jacobi for -lap u = f", {"u", "f"}, {{"scale", 1.0 / 6}}, true}, {"Jacobi7"}},
      {{"laplacian", "v = lap u, 7 points", {"u", "v"}, {}, true}, {"Laplacian"}},
      {{"gradient", "forward differences on faces", {"u", "gz", "gy", "gx"}, {}, true}, {"Gradient"}},
      {{"divergence", "u = div g, backward differences", {"u", "gz", "gy", "gx"}, {}, true}, {"Divergence"}},
      {{"symmetrised-gradient",
        "symmetric part of a vector field's gradient",
        {"vz", "vy", "vx", "zz", "yy", "xx", "zy", "zx", "yx"},
        {},
        false},
       {"SymmetrisedGradient"}},
      {{"diffusion", "du/dt = div(k grad u) with k per cell", {"u", "k"}, {{"time step", 0.1}}, false},
       {"Diffusion"}},
      {{"perona-malik", "smoothing that stops at edges", {"u"}, {{"time step", 0.1}, {"1/K^2", 1}}, false},
       {"PeronaMalik"}},
      {{"gaussian",
        "blur along z, y, x with seven weights each",
        {"u"},
        {{"w0", 0.399}, {"w1", 0.242}, {"w2", 0.054}, {"w3", 0.0045}},
        false},
       {"BlurZ", "BlurY", "BlurX"}},
      {{"sobel", "edge strength of a 2D image", {"u", "v"}, {}, false}, {"Sobel"}},
      {{"life", "Conway's Game of Life", {"u"}, {}, false}, {"Life"}},
      {{"lattice-boltzmann",
        "D2Q9 streaming and BGK collision",
        {"rest", "+x", "+y", "-x", "-y", "+x+y", "-x+y", "-x-y", "+x-y"},
        {{"rate", 1.2}},
        false},
       {"LatticeBoltzmann"}},
  };
  return all;
}
const Name& find(const std::string& name) {
  std::string known;
  for (const Name& n : names()) {
    if (n.info.name == name) return n;
    known += (known.empty() ? "" : ", ") + n.info.name;
  }
  throw ArgumentError(fmt::format("stencil '{}' is not one of {}", name, known));
}

template <class T>
std::vector<RowFunctions<T>> all_rows(const std::string& target) {
  constexpr bool is_complex = !std::is_same_v<T, real_of<T>>;
  std::vector<RowFunctions<T>> rows(
      static_cast<std::size_t>(is_complex ? complex_count : swept_count + others_count));
#define SPINLOOM_FILL(name)                         \
  if (target == #name) {                            \
    if constexpr (is_complex) {                     \
      name::complex_rows(rows.data());              \
    } else {                                        \
      name::swept_rows(rows.data());                \
      name::others_rows(rows.data() + swept_count); \
    }                                               \
    return rows;                                    \
  }
  SPINLOOM_STENCIL_TARGETS(SPINLOOM_FILL)
  throw ArgumentError(fmt::format("stencils are not compiled for the instruction set '{}'", target));
}

}  // namespace

const std::vector<BuiltinInfo>& builtins() {
  static const std::vector<BuiltinInfo> all = [] {
    std::vector<BuiltinInfo> list;
    for (const Name& n : names()) list.push_back(n.info);
    return list;
  }();
  return all;
}
const BuiltinInfo& find_builtin(const std::string& name) { return find(name).info; }

std::vector<std::string> builtin_targets() {
  std::vector<std::string> targets;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    targets.push_back("avx512");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    targets.push_back("avx2");
#endif
  targets.push_back("baseline");
  return targets;
}

template <class T>
std::vector<Kernel<T>> builtin_kernels(const std::string& name, const std::string& target) {
  constexpr bool is_complex = !std::is_same_v<T, real_of<T>>;
  const Name& found = find(name);
  if (is_complex && !found.info.has_complex)
    throw ArgumentError(fmt::format("stencil '{}' is for real elements", name));
  const auto rows = all_rows<T>(target);
  std::vector<Kernel<T>> kernels;
  const auto search = [&](const auto& entries, const std::string& functor) {
    std::size_t i = 0;
    for (const Entry& e : entries) {
      if (e.functor == functor)
        kernels.push_back({std::make_shared<const Definition>(e.define(name)), rows[i], nullptr});
      ++i;
    }
  };
  for (const std::string& functor : found.functors)
    if constexpr (is_complex)
      search(complex_entries, functor);
    else
      search(real_entries, functor);
  return kernels;
}
template <class T>
std::vector<Kernel<T>> builtin_kernels(const std::string& name) {
  return builtin_kernels<T>(name, builtin_targets().front());
}

std::vector<Kernel<float>> builtin_kernels_in_double(const std::string& name) {
  const Name& found = find(name);
  std::vector<RowFunctions<float>> rows(static_cast<std::size_t>(wide_count));
  const std::string target = builtin_targets().front();
#if defined(__x86_64__)
  if (target == "avx512") avx512::wide_rows(rows.data());
  if (target == "avx2") avx2::wide_rows(rows.data());
#endif
  if (target == "baseline") baseline::wide_rows(rows.data());
  std::string known;
  std::size_t i = 0;
  for (const Entry& e : wide_entries) {
    for (const Name& n : names())
      if (n.functors.size() == 1 && n.functors[0] == e.functor)
        known += (known.empty() ? "" : ", ") + n.info.name;
    if (found.functors.size() == 1 && found.functors[0] == e.functor)
      return {{std::make_shared<const Definition>(e.define(name)), rows[i], nullptr, true}};
    ++i;
  }
  throw ArgumentError(fmt::format("stencil '{}' is not one of those on floats in double: {}", name, known));
}

std::vector<Kernel<Half>> builtin_kernels_as_half(const std::string& name) {
  std::vector<RowFunctions<Half>> rows(static_cast<std::size_t>(wide_count));
  const std::string target = builtin_targets().front();
#if defined(__x86_64__)
  if (target == "avx512") avx512::half_rows(rows.data());
  if (target == "avx2") avx2::half_rows(rows.data());
#endif
  if (target == "baseline") baseline::half_rows(rows.data());
  std::vector<Kernel<Half>> kernels;
  for (const auto& kernel : builtin_kernels<float>(name)) kernels.push_back(stored_as_half(kernel));
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const Name& n = find(name); n.functors.size() == 1 && n.functors[0] == wide_entries[i].functor)
      kernels[0].rows = rows[i];
  return kernels;
}

#define SPINLOOM_INSTANTIATE(T)                                        \
  template std::vector<Kernel<T>> builtin_kernels(const std::string&); \
  template std::vector<Kernel<T>> builtin_kernels(const std::string&, const std::string&);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)
SPINLOOM_INSTANTIATE(std::complex<float>)
SPINLOOM_INSTANTIATE(std::complex<double>)

}  // namespace spinloom::stencil
