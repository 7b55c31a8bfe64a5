#include "stencil/cpu/roughness.hpp"

#include <algorithm>
#include <array>

#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/builtin/roughness.hpp"
#include "stencil/builtin/targets.hpp"

namespace spinloom::stencil {

#define SPINLOOM_DECLARE(target)               \
  namespace target {                           \
  void roughness_rows(RoughnessRows<float>&);  \
  void roughness_rows(RoughnessRows<double>&); \
  }
SPINLOOM_STENCIL_TARGETS(SPINLOOM_DECLARE)

namespace {

/// A row's piece that is computed at once; its copy and what it is made from stay in a level 1 cache.
constexpr Index piece_length = 1024;
constexpr Index line = 8;  ///< elements of the longest pack, and as many before and behind may be read

template <class Real>
const RoughnessRows<Real>& rows_of_this_machine() {
  static const RoughnessRows<Real> rows = [] {
    RoughnessRows<Real> r{};
    const std::string target = builtin_targets().front();
#define SPINLOOM_FILL(name) \
  if (target == #name) return name::roughness_rows(r), r;
    SPINLOOM_STENCIL_TARGETS(SPINLOOM_FILL)
#undef SPINLOOM_FILL
    return r;
  }();
  return rows;
}

/// What the pieces of a block of rows share.
template <class Real>
class Pieces {
 public:
  using Complex = std::complex<Real>;
  Pieces(const std::vector<DifferencedAxis>& axes, Index size, const Complex* x, Complex* y,
         std::optional<Real> add, bool with_dot)
      : axes_(axes), size_(size), x_(x), y_(y), add_(add), with_dot_(with_dot) {}

  /// Elements [start, start + count), of a row that begins at `row`; nobody else writes below `mine`.
  double compute(Index row, Index start, Index count, Index mine) {
    const Index end = row + axes_.back().extent;
    Complex* here = centre_.data() + line;
    std::copy(x_ + start, x_ + start + count, here);
    here[-1] = start > row ? x_[start - 1] : here[0];
    here[count] = start + count < end ? x_[start + count] : here[count - 1];

    RowBlock<Real> b;
    double params[4] = {};
    double dot = 0;
    b.params = params;
    b.y0 = 0, b.y1 = 1, b.x0 = 0, b.x1 = 2 * count;
    b.reduced[0] = &dot;
    b.reduced_stride = 1;
    b.colour = 0;
    std::fill(b.in_stride, b.in_stride + max_reads, 0);
    b.out_stride[0] = 0;
    b.out[0][0] = reals(y_ + start);

    // The last axis and two more in the first pass, then two by two.
    const Index others = static_cast<Index>(axes_.size()) - 1, passes = std::max<Index>(1, (others + 1) / 2);
    for (Index pass = 0; pass < passes; ++pass) {
      const Real* of_field[6] = {reals(here), reals(here), reals(here), reals(here), reals(here), nullptr};
      params[0] = pass == 0 ? squared(axes_.back()) : 0;
      params[1] = params[2] = 0;
      params[3] = double(add_.value_or(Real(1)));
      for (std::size_t a = 0; a < 2; ++a) {
        const Index which = others - 1 - 2 * pass - static_cast<Index>(a);
        if (which < 0) break;
        const DifferencedAxis& axis = axes_[static_cast<std::size_t>(which)];
        const Index place = start / axis.stride % axis.extent;
        params[1 + a] = squared(axis);
        // Past the border lies the same row again: no difference.
        if (place > 0) of_field[1 + 2 * a] = readable(x_, start - axis.stride, count, size_, beside_[2 * a]);
        if (place + 1 < axis.extent)
          of_field[2 + 2 * a] = readable(x_, start + axis.stride, count, size_, beside_[2 * a + 1]);
      }
      const bool adds = add_ || pass > 0, carries_dot = adds && with_dot_ && pass + 1 == passes;
      if (adds) of_field[5] = readable(y_, start, count, mine, result_);
      const auto& fields = adds ? added_ : plain_;
      for (std::size_t r = 0; r < fields.size(); ++r) b.in[r][0] = of_field[fields[r]];
      const auto& rows = rows_of_this_machine<Real>();
      // A sum that rides along has an end of its own for each row: short ones are summed here.
      const bool rides = count >= 32;
      (carries_dot && rides ? rows.added_with_dot : adds ? rows.added : rows.plain)(b, nullptr);
      if (carries_dot && !rides)
        for (Index i = 0; i < 2 * count; ++i) dot += double(b.out[0][0][i] * reals(here)[i]);
    }
    return dot;
  }

 private:
  using Buffer = std::array<Complex, static_cast<std::size_t>(piece_length + 2 * line)>;
  static Real squared(const DifferencedAxis& axis) { return Real(axis.weight * axis.weight); }
  static Real* reals(Complex* p) { return reinterpret_cast<Real*>(p); }
  static const Real* reals(const Complex* p) { return reinterpret_cast<const Real*>(p); }

  /// Row kernels read whole packs: what would be read past `limit` is read from a copy.
  static const Real* readable(const Complex* from, Index start, Index count, Index limit, Buffer& copy) {
    if (start + (count + line - 1) / line * line <= limit) return reals(from + start);
    std::copy(from + start, from + start + count, copy.data());
    return reals(copy.data());
  }

  /// Field of each read of a stencil.
  template <class S>
  static std::vector<std::size_t> read_fields() {
    Read list[max_reads];
    const int count = program_of<S>.view().list_reads(list);
    std::vector<std::size_t> fields;
    for (int r = 0; r < count; ++r) fields.push_back(static_cast<std::size_t>(list[r].field));
    return fields;
  }

  const std::vector<DifferencedAxis>& axes_;
  Index size_;
  const Complex* x_;
  Complex* y_;
  std::optional<Real> add_;
  bool with_dot_;
  const std::vector<std::size_t> plain_ = read_fields<builtin::Roughness>(),
                                 added_ = read_fields<builtin::AddedRoughnessWithDot>();
  Buffer centre_{}, result_{};
  std::array<Buffer, 4> beside_{};
};

}  // namespace

template <class Real>
double apply_roughness(const std::vector<DifferencedAxis>& axes, Index size, const std::complex<Real>* x,
                       std::complex<Real>* y, std::optional<Real> add, bool with_dot) {
  const Index length = axes.back().extent, rows = size / length;
  const Index per_row = (length + piece_length - 1) / piece_length;
  // About 16 Ki elements keep a block of several rows inside a level 2 cache.
  const Index grain = std::max<Index>(1, (Index{1} << 14) / std::min(length, piece_length));
  std::vector<double> dots(static_cast<std::size_t>((rows * per_row + grain - 1) / grain));
  parallel_blocks(rows * per_row, grain, [&](Index begin, Index end, int) {
    Pieces<Real> pieces(axes, size, x, y, add, with_dot);
    const auto start_of = [&](Index p) { return p / per_row * length + p % per_row * piece_length; };
    const Index mine = end == rows * per_row ? size : start_of(end);
    double dot = 0;
    for (Index p = begin; p < end; ++p) {
      const Index row = p / per_row * length, start = start_of(p);
      dot += pieces.compute(row, start, std::min(piece_length, row + length - start), mine);
    }
    dots[static_cast<std::size_t>(begin / grain)] = dot;
  });
  double total = 0;
  for (const double d : dots) total += d;
  return total;
}

template double apply_roughness(const std::vector<DifferencedAxis>&, Index, const cfloat*, cfloat*,
                                std::optional<float>, bool);
template double apply_roughness(const std::vector<DifferencedAxis>&, Index, const cdouble*, cdouble*,
                                std::optional<double>, bool);

}  // namespace spinloom::stencil
