#include "stencil/cuda/stencil_rim.hpp"

#include <fmt/format.h>

namespace spinloom::cuda {

using namespace stencil;

extern const KernelSource stencil_rim_source;

namespace {

/// The types of a stencil's text, for what stands outside of the stencils.
const char* types(StencilNumbers numbers) {
  switch (numbers) {
    case StencilNumbers::f64: return "typedef double Storage, Real, Value;\n";
    case StencilNumbers::c32: return "typedef float Real;\ntypedef Complex<float> Storage, Value;\n";
    case StencilNumbers::c64: return "typedef double Real;\ntypedef Complex<double> Storage, Value;\n";
    case StencilNumbers::f32_in_f64: return "typedef float Storage;\ntypedef double Real, Value;\n";
    case StencilNumbers::f16_in_f32: return "typedef Half Storage;\ntypedef float Real, Value;\n";
    default: return "typedef float Storage, Real, Value;\n";
  }
}

// Values between stencils are as memory keeps them.
const char* const helpers =
    "STENCIL_OP Value rim_kept(Value v) {\n"
    "  return Convert<Value, Storage>::widened(Convert<Value, Storage>::narrowed(v));\n}\n"
    "template <class V>\nstruct RimSum {\n"
    "  static STENCIL_OP V of(V v, double a) { return rim_kept(add(v, rim_kept((V)a))); }\n"
    "  static STENCIL_OP V value(double a) { return rim_kept((V)a); }\n};\n"
    "template <class R>\nstruct RimSum<Complex<R>> {\n"
    "  static STENCIL_OP Complex<R> of(Complex<R> v, double a) { return add(v, Complex<R>{(R)a, 0}); }\n"
    "  static STENCIL_OP Complex<R> value(double a) { return {(R)a, 0}; }\n};\n"
    "STENCIL_OP Value rim_memory(const RimWork& w, int field, Index z, Index y, Index x) {\n"
    "  return Convert<Value, Storage>::widened(((const Storage*)w.field[field])[z * w.plane + y * w.row + "
    "x]);\n}\n";

/// A stencil in a namespace of its own, and how its reads are answered.
std::string stage(const std::vector<Definition>& chain, const Link& link, int k, StencilNumbers numbers) {
  const Definition& d = chain[static_cast<std::size_t>(k)];
  Read list[max_reads];
  const int reads = d.view().list_reads(list);
  std::string answers;
  for (int r = 0; r < reads; ++r) {
    const int field = list[r].field, writer = writer_of(chain, link.begin, k, field);
    answers += fmt::format(
        "    if constexpr (read == {}) return {}z + dz, y + dy, x + dx);\n", r,
        writer < 0 ? fmt::format("rim_memory(w, {}, ", field) : fmt::format("cell_{}_{}(w, ", writer, field));
  }
  std::string all = fmt::format(
      "namespace s{0} {{\n{1}}}\nstruct At{0} {{\n  const RimWork& w;\n  Index z, y, x;\n"
      "  template <int read, int dz, int dy, int dx>\n  STENCIL_OP Value get() const {{\n{2}  }}\n}};\n",
      k, stencil_text(d, numbers), answers);
  for (std::size_t o = 0; o < d.outputs.size(); ++o)
    all += fmt::format(
        "__device__ __noinline__ Value cell_{0}_{1}(const RimWork& w, Index z, Index y, Index x) {{\n"
        "  const RimPlace p = rim_place(w, {1}, z, y, x);\n  Value v;\n"
        "  if (p.is_fixed) {{\n    v = RimSum<Value>::value(p.fixed);\n"
        "  }} else if (p.is_kept) {{\n    v = rim_memory(w, {1}, p.at[0], p.at[1], p.at[2]);\n"
        "  }} else {{\n    Value out[s{0}::outputs];\n"
        "    s{0}::stencil_point(At{0}{{w, p.at[0], p.at[1], p.at[2]}}, (const Real*)w.params, out, "
        "(Real*)0);\n"
        "    v = rim_kept(out[{2}]);\n  }}\n"
        "  for (int axis = 2; axis >= 0; --axis)\n"
        "    if (p.sums[axis] != 0) v = RimSum<Value>::of(v, p.sums[axis]);\n  return v;\n}}\n",
        k, int(d.outputs[o].field), o);
  return all;
}

}  // namespace

const KernelInstance& rim_instance(const std::vector<Definition>& chain, const Link& link,
                                   const std::vector<LinkOutput>& outputs, StencilNumbers numbers) {
  std::string all = std::string(types(numbers)) + helpers;
  for (int k = link.begin; k < link.end; ++k) all += stage(chain, link, k, numbers);
  all +=
      "STENCIL_OP void rim_point(const RimWork& w, Index z, Index y, Index x) {\n"
      "  const Index at = z * w.plane + y * w.row + x;\n";
  for (int k = link.begin; k < link.end; ++k) {
    std::string stores;
    const auto& written = chain[static_cast<std::size_t>(k)].outputs;
    for (const LinkOutput& o : outputs)
      for (std::size_t i = 0; i < written.size() && o.kernel == k; ++i)
        if (written[i].field == o.field)
          stores += fmt::format(
              "    ((Storage*)w.out[{}])[at] = Convert<Value, Storage>::narrowed(out[{}]);\n", o.field, i);
    if (stores.empty()) continue;
    all += fmt::format(
        "  {{\n    Value out[s{0}::outputs];\n    s{0}::stencil_point(At{0}{{w, z, y, x}}, (const "
        "Real*)w.params, out, (Real*)0);\n{1}  }}\n",
        k, stores);
  }
  all += "}\n";
  return stencil_instance(stencil_rim_source, chain[static_cast<std::size_t>(link.end) - 1], all, {});
}

std::vector<RimRule> rim_rules(const GridLayout& g, const std::vector<Boundaries>& faces) {
  std::vector<RimRule> rules(faces.size() * 3 * 2 * max_radius);
  for (std::size_t f = 0; f < faces.size(); ++f)
    for (std::size_t a = 0; a < 3; ++a)
      for (const bool high : {false, true}) {
        const Index halo = high ? g.halo.high[a] : g.halo.low[a];
        for (Index d = 0; d < halo; ++d) {
          const Index at = high ? g.n[a] + d : -1 - d;
          const HaloCell c = halo_cell(at, g.n[a], faces[f].low[a], faces[f].high[a]);
          rules[((f * 3 + a) * 2 + (high ? 1 : 0)) * max_radius + static_cast<std::size_t>(d)] = {
              c.source, c.add,
              c.kind == HaloCell::Kind::kept    ? 0
              : c.kind == HaloCell::Kind::value ? 1
                                                : 2};
        }
      }
  return rules;
}

}  // namespace spinloom::cuda
