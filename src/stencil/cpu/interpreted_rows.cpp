#include "spinloom/stencil/simd.hpp"
#include "stencil/interpreted.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil {
inline namespace SPINLOOM_STENCIL_TARGET {
namespace {

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float root(float a) { return __builtin_sqrtf(a); }
inline double root(double a) { return __builtin_sqrt(a); }
inline float magnitude(float a) { return __builtin_fabsf(a); }
inline double magnitude(double a) { return __builtin_fabs(a); }

/// One operation on n points. Conditions are 1 and 0. A result may lie where an operand did.
template <class R>
void apply(const InterpretedStep& s, const R* const* at, const double* params, std::ptrdiff_t n) {
  R* to = const_cast<R*>(at[s.value]);
  const R *a = at[s.a], *b = at[s.b], *c = at[s.c];
#define SPINLOOM_LOOP(...)                                                 \
  {                                                                        \
    _Pragma("GCC ivdep") for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = __VA_ARGS__; \
    break;                                                                 \
  }
  switch (s.op) {
    case Op::literal: {
      const R value = static_cast<R>(s.literal);
      SPINLOOM_LOOP(value)
    }
    case Op::param: {
      const R value = static_cast<R>(params[s.param]);
      SPINLOOM_LOOP(value)
    }
    case Op::add: SPINLOOM_LOOP(a[i] + b[i])
    case Op::sub: SPINLOOM_LOOP(a[i] - b[i])
    case Op::mul: SPINLOOM_LOOP(a[i] * b[i])
    case Op::div: SPINLOOM_LOOP(a[i] / b[i])
    case Op::neg: SPINLOOM_LOOP(-a[i])
    case Op::fma: SPINLOOM_LOOP(fused(a[i], b[i], c[i]))
    case Op::min: SPINLOOM_LOOP(b[i] < a[i] ? b[i] : a[i])
    case Op::max: SPINLOOM_LOOP(a[i] < b[i] ? b[i] : a[i])
    case Op::abs: SPINLOOM_LOOP(magnitude(a[i]))
    case Op::sqrt: SPINLOOM_LOOP(root(a[i]))
    case Op::select: SPINLOOM_LOOP(a[i] != R(0) ? b[i] : c[i])
    case Op::less: SPINLOOM_LOOP(a[i] < b[i] ? R(1) : R(0))
    case Op::less_equal: SPINLOOM_LOOP(a[i] <= b[i] ? R(1) : R(0))
    case Op::equal: SPINLOOM_LOOP(a[i] == b[i] ? R(1) : R(0))
    case Op::both: SPINLOOM_LOOP(a[i] * b[i])
    case Op::either: SPINLOOM_LOOP(a[i] < b[i] ? b[i] : a[i])
    case Op::negate: SPINLOOM_LOOP(R(1) - a[i])
    case Op::access:
    case Op::shifted: break;  // read where they lie; written out
  }
#undef SPINLOOM_LOOP
}

template <class R>
void interpret(const RowBlock<R>& block, const void* state) {
  const InterpretedProgram& p = *static_cast<const InterpretedProgram*>(state);
  constexpr int parts = 16;
  alignas(64) R scratch[interpreted_scratch_bytes / sizeof(R)];
  const R* at[interpreted_values];
  std::ptrdiff_t length = static_cast<std::ptrdiff_t>(sizeof(scratch) / sizeof(R)) / (p.slot_count + 1) / parts * parts;
  if (length > 512) length = 512;
  for (int v = 0; v < p.values; ++v) at[v] = scratch + (p.slots[v] < 0 ? 0 : p.slots[v]) * length;
  const std::ptrdiff_t row = block.x1 - block.x0, used = row < length ? row : length;
  for (int s = 0; s < p.once_count; ++s) apply(p.once[s], at, block.params, used);

  for (std::ptrdiff_t y = block.y0; y < block.y1; ++y) {
    double reduced[max_reductions][parts];
    for (int r = 0; r < p.reduction_count; ++r)
      for (double& v : reduced[r]) v = p.reductions[r].kind == Reduce::sum ? 0.0 : -__builtin_inf();
    for (std::ptrdiff_t x = block.x0; x < block.x1; x += length) {
      const std::ptrdiff_t n = block.x1 - x < length ? block.x1 - x : length;
      for (int r = 0; r < p.read_count; ++r) {
        const InterpretedRead& read = p.reads[r];
        at[read.value] =
            block.in[read.read][read.plane] + (y + read.y) * block.in_stride[read.read] + x + read.x;
      }
      for (int s = 0; s < p.step_count; ++s) apply(p.steps[s], at, block.params, n);
      for (int o = 0; o < p.output_count; ++o) {
        const R* from = at[p.outputs[o]];
        R* to = block.out[o][0] + y * block.out_stride[o] + x;
        if (p.red_black)
          for (std::ptrdiff_t i = (y + x + block.colour) & 1; i < n; i += 2) to[i] = from[i];
        else
          _Pragma("GCC ivdep") for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i];
      }
      for (int r = 0; r < p.reduction_count; ++r) {
        const R* from = at[p.reductions[r].root];
        for (std::ptrdiff_t i = 0; i < n; ++i) {
          double& sum = reduced[r][(x + i) % parts];
          const double v = from[i];
          sum = p.reductions[r].kind == Reduce::sum ? sum + v : v > sum ? v : sum;
        }
      }
    }
    for (int r = 0; r < p.reduction_count; ++r) {
      double* v = reduced[r];
      for (int width = parts / 2; width > 0; width /= 2)
        for (int l = 0; l < width; ++l)
          v[l] = p.reductions[r].kind == Reduce::sum ? v[l] + v[l + width]
                 : v[l + width] > v[l]               ? v[l + width]
                                                     : v[l];
      block.reduced[r][y] = v[0];
    }
  }
}

template <class R>
RowFunctions<R> functions() {
  RowFunctions<R> f;
  f.at[0][0] = &interpret<R>;
  f.target = "interpreted";
  return f;
}

}  // namespace

void interpreted_rows(RowFunctions<float>* rows) { *rows = functions<float>(); }
void interpreted_rows(RowFunctions<double>* rows) { *rows = functions<double>(); }

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil
