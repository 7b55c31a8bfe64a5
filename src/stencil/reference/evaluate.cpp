#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/half.hpp"
#include "spinloom/stencil/stepper.hpp"

namespace spinloom::stencil {
namespace {

/// A node's value at one point: a number that may be complex, or a condition.
template <class T>
struct Value {
  T number{};
  bool uniform = false;  ///< the same at all points; real even when T is complex
  bool holds = false;
};

inline float part(float x) { return x; }
inline double part(double x) { return x; }
template <class R>
R part(const std::complex<R>& x) {
  return x.real();
}

// Written out: the compiler's complex product has its own ideas about infinities, and a real factor is not complex.
template <class R>
R product(R a, bool, R b, bool) {
  return a * b;
}
template <class R>
std::complex<R> product(const std::complex<R>& a, bool a_real, const std::complex<R>& b, bool b_real) {
  if (a_real && b_real) return {a.real() * b.real(), R(0)};
  if (a_real) return {a.real() * b.real(), a.real() * b.imag()};
  if (b_real) return {a.real() * b.real(), a.imag() * b.real()};
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class R>
R fused(R a, R b, R c, bool, bool) {
  return std::fma(a, b, c);
}
template <class R>
std::complex<R> fused(const std::complex<R>& a, const std::complex<R>& b, const std::complex<R>& c,
                      bool a_real, bool b_real) {
  if (a_real && b_real) return {std::fma(a.real(), b.real(), c.real()), c.imag()};
  if (a_real) return {std::fma(a.real(), b.real(), c.real()), std::fma(a.real(), b.imag(), c.imag())};
  return {std::fma(a.real(), b.real(), c.real()), std::fma(a.imag(), b.real(), c.imag())};
}

/// Fields of T, computed in A.
template <class T, class A>
class Evaluation {
 public:
  Evaluation(const ProgramView& program, const std::vector<FieldGrids<T>>& fields,
             const std::vector<double>& params)
      : p_(program), fields_(fields), params_(params) {}

  Value<A> at(int node, Index z, Index y, Index x) const {
    const Node& n = p_.code[node];
    const auto operand = [&](int index) { return at(index, z, y, x); };
    Value<A> r;
    switch (n.op) {
      case Op::literal: return {A(real_of<A>(n.value)), true, false};
      case Op::param: {
        const std::size_t i = static_cast<std::size_t>(n.field);
        return {A(real_of<A>(i < params_.size() ? params_[i] : 0)), true, false};
      }
      case Op::access: {
        const auto& f = fields_[static_cast<std::size_t>(n.field)];
        return {A((n.level == TimeLevel::current ? *f.current : *f.previous)(z + n.z, y + n.y, x + n.x)),
                false, false};
      }
      case Op::shifted: return at(n.a, z, y, x + n.x);
      case Op::select: return operand(n.a).holds ? operand(n.b) : operand(n.c);
      case Op::neg:
        r = operand(n.a);
        r.number = -r.number;
        return r;
      case Op::abs:
        r = operand(n.a);
        r.number = A(std::abs(part(r.number)));
        return r;
      case Op::sqrt:
        r = operand(n.a);
        r.number = A(std::sqrt(part(r.number)));
        return r;
      case Op::negate: r.holds = !operand(n.a).holds; return r;
      default: break;
    }
    const Value<A> a = operand(n.a), b = operand(n.b);
    const auto x_a = part(a.number), x_b = part(b.number);
    r.uniform = a.uniform && b.uniform;
    switch (n.op) {
      case Op::add: r.number = a.number + b.number; break;
      case Op::sub: r.number = a.number - b.number; break;
      case Op::mul: r.number = product(a.number, a.uniform, b.number, b.uniform); break;
      case Op::div: r.number = a.number / x_b; break;
      case Op::fma: {
        const Value<A> c = operand(n.c);
        r.uniform = r.uniform && c.uniform;
        r.number = fused(a.number, b.number, c.number, a.uniform, b.uniform);
        break;
      }
      case Op::min: r.number = x_b < x_a ? b.number : a.number; break;
      case Op::max: r.number = x_a < x_b ? b.number : a.number; break;
      case Op::less: r.holds = x_a < x_b; break;
      case Op::less_equal: r.holds = x_a <= x_b; break;
      case Op::equal: r.holds = x_a == x_b; break;
      case Op::both: r.holds = a.holds && b.holds; break;
      case Op::either: r.holds = a.holds || b.holds; break;
      default: throw ArgumentError("a stencil's node list holds an unknown operation");
    }
    return r;
  }

  /// Sums are kept in sixteen parts per row, x by x mod 16, which are added in a tree; rows are added in order.
  double reduced(const ReductionRoot& root, const std::array<Index, 3>& n) const {
    constexpr int parts = 16;
    const bool is_sum = root.kind == Reduce::sum;
    const auto join = [&](double a, double b) { return is_sum ? a + b : b > a ? b : a; };
    double total = is_sum ? 0 : -std::numeric_limits<double>::infinity();
    for (Index z = 0; z < n[0]; ++z)
      for (Index y = 0; y < n[1]; ++y) {
        double row[parts];
        for (double& v : row) v = is_sum ? 0 : -std::numeric_limits<double>::infinity();
        for (Index x = 0; x < n[2]; ++x)
          row[x % parts] = join(row[x % parts], static_cast<double>(part(at(root.root, z, y, x).number)));
        for (int width = parts / 2; width > 0; width /= 2)
          for (int l = 0; l < width; ++l) row[l] = join(row[l], row[l + width]);
        total = join(total, row[0]);
      }
    return total;
  }

 private:
  ProgramView p_;
  const std::vector<FieldGrids<T>>& fields_;
  const std::vector<double>& params_;
};

template <class F>
void for_each_point(const std::array<Index, 3>& n, const F& f) {
  for (Index z = 0; z < n[0]; ++z)
    for (Index y = 0; y < n[1]; ++y)
      for (Index x = 0; x < n[2]; ++x) f(z, y, x);
}

}  // namespace

template <class T, class A>
std::vector<double> run_reference(const std::vector<Definition>& chain,
                                  const std::vector<FieldGrids<T>>& fields, const std::vector<double>& params,
                                  Index steps) {
  std::vector<Boundaries> boundaries;
  for (const auto& f : fields) boundaries.push_back(f.current->boundaries());
  const GridLayout& layout = fields.at(0).current->layout();
  if (const auto why = why_illegal(chain, layout, boundaries, {})) throw ArgumentError(*why);
  std::vector<double> reduced;
  for (Index step = 0; step < steps; ++step)
    for (const Definition& definition : chain) {
      const ProgramView p = definition.view();
      const Evaluation<T, A> values(p, fields, params);
      for (const auto& f : fields) f.current->fill_halo();
      if (p.red_black) {
        for (const Index colour : {0, 1}) {
          for_each_point(layout.n, [&](Index z, Index y, Index x) {
            if ((z + y + x + colour) % 2 == 0)
              for (const Output& o : definition.outputs)
                (*fields[static_cast<std::size_t>(o.field)].current)(z, y, x) =
                    T(values.at(o.root, z, y, x).number);
          });
          for (const auto& f : fields) f.current->fill_halo();
        }
        continue;
      }
      std::vector<std::vector<T>> results;
      for (const Output& o : definition.outputs) {
        results.emplace_back();
        for_each_point(layout.n, [&](Index z, Index y, Index x) {
          results.back().push_back(T(values.at(o.root, z, y, x).number));
        });
      }
      if (p.reduction_count > 0) reduced.clear();
      for (const ReductionRoot& r : definition.reductions) reduced.push_back(values.reduced(r, layout.n));
      for (std::size_t o = 0; o < results.size(); ++o) {
        const auto& f = fields[static_cast<std::size_t>(definition.outputs[o].field)];
        if (f.previous != nullptr)
          for_each_point(layout.n,
                         [&](Index z, Index y, Index x) { (*f.previous)(z, y, x) = (*f.current)(z, y, x); });
        std::size_t i = 0;
        for_each_point(layout.n, [&](Index z, Index y, Index x) { (*f.current)(z, y, x) = results[o][i++]; });
      }
    }
  for (const auto& f : fields) f.current->fill_halo();
  return reduced;
}

template std::vector<double> run_reference(const std::vector<Definition>&,
                                           const std::vector<FieldGrids<float>>&, const std::vector<double>&,
                                           Index);
template std::vector<double> run_reference<float, double>(const std::vector<Definition>&,
                                                          const std::vector<FieldGrids<float>>&,
                                                          const std::vector<double>&, Index);
template std::vector<double> run_reference<Half, float>(const std::vector<Definition>&,
                                                        const std::vector<FieldGrids<Half>>&,
                                                        const std::vector<double>&, Index);
template std::vector<double> run_reference(const std::vector<Definition>&,
                                           const std::vector<FieldGrids<double>>&, const std::vector<double>&,
                                           Index);
template std::vector<double> run_reference(const std::vector<Definition>&,
                                           const std::vector<FieldGrids<cfloat>>&, const std::vector<double>&,
                                           Index);
template std::vector<double> run_reference(const std::vector<Definition>&,
                                           const std::vector<FieldGrids<cdouble>>&,
                                           const std::vector<double>&, Index);

}  // namespace spinloom::stencil
