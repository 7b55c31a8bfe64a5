#include "spinloom/stencil/builtin.hpp"
#include "stencil/builtin/targets.hpp"
#include "stencil/colours.hpp"
#include "stencil/schedules_suite.hpp"

namespace spinloom::stencil {
#define SPINLOOM_DECLARE(target)                         \
  namespace target {                                     \
  void colour_rows(RowFunctions<float>*);                \
  void colour_rows(RowFunctions<double>*);               \
  void colour_rows(RowFunctions<std::complex<float>>*);  \
  void colour_rows(RowFunctions<std::complex<double>>*); \
  void narrow_rows(RowFunctions<float>*);                \
  void narrow_rows(RowFunctions<Half>*);                 \
  }
SPINLOOM_STENCIL_TARGETS(SPINLOOM_DECLARE)

namespace {
using namespace testing;

template <class T, class Fill>
std::vector<RowFunctions<T>> filled(std::size_t count, const Fill& fill) {
  std::vector<RowFunctions<T>> rows(count);
  fill(rows.data());
  return rows;
}
#define SPINLOOM_FILL(which)                                                         \
  template <class T>                                                                 \
  std::vector<RowFunctions<T>> which(const std::string& target, std::size_t count) { \
    SPINLOOM_STENCIL_TARGETS(SPINLOOM_FILL_##which)                                  \
    throw ArgumentError("no rows for " + target);                                    \
  }
#define SPINLOOM_FILL_colour_rows(name) \
  if (target == #name) return filled<T>(count, [](RowFunctions<T>* rows) { name::colour_rows(rows); });
#define SPINLOOM_FILL_narrow_rows(name) \
  if (target == #name) return filled<T>(count, [](RowFunctions<T>* rows) { name::narrow_rows(rows); });
SPINLOOM_FILL(colour_rows)
SPINLOOM_FILL(narrow_rows)

template <class S, class T>
Kernel<T> kernel_of(const std::string& name, const RowFunctions<T>& rows, bool in_double = false) {
  return {std::make_shared<const Definition>(make_definition(name, program_of<S>.view())), rows, nullptr,
          in_double};
}

/// Odd numbers of rows, blocks that begin at odd rows and at odd columns, parts of packs, one plane and several.
const std::vector<std::string> schedules = {"naive",
                                            "sweep rows=3 columns=17 planes=2 prefetch",
                                            "sweep rows=4 planes=4",
                                            "wavefront steps=3 rows=5 planes=2 prefetch",
                                            "diamond width=8 planes=4 prefetch",
                                            "diamond width=12 rows=4 columns=16 planes=2 prefetch",
                                            "diamond width=16 rows=3 planes=4"};

template <class Arithmetic, class T>
void check_colours(const Kernel<T>& kernel, const std::string& target) {
  const std::vector<Shape> shapes =
      kernel.view().rank == 2
          ? std::vector<Shape>{{1, 1}, {2, 17}, {65, 33}}
          : std::vector<Shape>{{1, 1, 1}, {2, 3, 17}, {5, 17, 63}, {7, 33, 65}, {9, 24, 16}};
  unsigned seed = 0;
  for (const Shape& shape : shapes)
    for (const Faces& all : {all_faces[0], all_faces[1]}) {
      const Faces faces = shape.size() == 3 ? all : Faces{all[1], all[2], all[0]};
      const Problem<T> p{{kernel}, shape, faces, {}, 5, seed += 10};
      auto expected = p.make_grids();
      run_reference<T, Arithmetic>(p.definitions(), p.bind(expected), p.params, p.steps);
      for (const std::string& text : schedules) {
        const Schedule schedule = parse_schedule(text);
        if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), schedule)) continue;
        expect_equal(p.by(schedule), expected,
                     kernel.definition->name + " on " + spinloom::to_string(shape) + " by " + text +
                         " with " + target);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
}

TEST(Colours, OfRealFieldsHaveTheReferenceBits) {
  for (const std::string& target : builtin_targets()) {
    const auto check = [&]<class T>(T) {
      const auto rows = colour_rows<T>(target, 5);
      std::size_t i = 0;
#define SPINLOOM_CHECK(S, name) check_colours<T>(kernel_of<S, T>(name, rows[i++]), target);
      SPINLOOM_REAL_COLOURS(SPINLOOM_CHECK)
#undef SPINLOOM_CHECK
    };
    check(double{});
    check(float{});
  }
}
/// Packs of one complex number take turns in changing.
TEST(Colours, OfComplexFieldsHaveTheReferenceBits) {
  for (const std::string& target : builtin_targets()) {
    const auto check = [&]<class T>(T) {
      check_colours<T>(kernel_of<Phase7, T>("phase", colour_rows<T>(target, 1)[0]), target);
    };
    check(std::complex<double>{});
    check(std::complex<float>{});
  }
}
TEST(Colours, OfNarrowStorageHaveTheReferenceBits) {
  for (const std::string& target : builtin_targets()) {
    check_colours<double>(kernel_of<Gauss7, float>("gauss", narrow_rows<float>(target, 1)[0], true), target);
    check_colours<float>(kernel_of<Gauss7, Half>("gauss", narrow_rows<Half>(target, 1)[0]), target);
  }
}

}  // namespace
}  // namespace spinloom::stencil
