#include "spinloom/stencil/builtin.hpp"
#include "stencil/schedules_suite.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

struct Star7 {
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    return next(u) = fma(0.4, u(0, 0, 0),
                         0.1 * (((u(0, 0, -1) + u(0, 0, 1)) + (u(0, -1, 0) + u(0, 1, 0))) +
                                (u(-1, 0, 0) + u(1, 0, 0))));
  }
};
struct OneSided {
  static constexpr Field<0> u{};
  constexpr auto operator()() const { return next(u) = 0.5 * (u(0, 0, 3) - u(2, 0, 0)) + 0.25 * u(0, -1, 0); }
};

TEST(Schedules, SevenPointHasTheReferenceBits) {
  check_shapes<Star7, double>("7-point", small_shapes);
  check_shapes<Star7, float>("7-point", small_shapes);
}
TEST(Schedules, OneSidedStencilsHaveTheReferenceBits) {
  check_shapes<OneSided, float>("one-sided", small_shapes);
}
TEST(Schedules, RefuseOnTheHostWhatIsForGpus) {
  const std::vector<Definition> chain{*make_kernel<Star7, float>("7-point").definition};
  const GridLayout layout = make_layout({8, 8, 8}, Halo(1), sizeof(float));
  Boundaries faces;
  faces.low.fill(clamp());
  faces.high.fill(clamp());
  EXPECT_FALSE(why_illegal(chain, layout, {faces}, parse_schedule("sweep rows=4")).has_value());
  for (const char* option :
       {"band=64", "blocks=2", "block=32x8", "depth=4", "points=2", "ahead=1", "unroll=2", "shuffle"}) {
    const auto why = why_illegal(chain, layout, {faces}, parse_schedule(std::string("sweep ") + option));
    ASSERT_TRUE(why.has_value()) << option;
    EXPECT_NE(why->find("for GPUs"), why->npos) << *why;
  }
}

/// The second array's cells outside are not set anew in every run; what the caller changes in between is seen all the
/// same, after odd numbers of steps too, which leave the arrays exchanged.
TEST(Stepper, SeesFacesThatChangeBetweenRuns) {
  const Shape shape{9, 12, 37};
  for (const char* text : {"sweep rows=4 planes=2", "diamond width=8", "overlapped steps=2 rows=5"}) {
    Grid<double> got(shape, Halo(1), dirichlet(1)), expected(shape, Halo(1), dirichlet(1));
    randomise(got, 3);
    randomise(expected, 3);
    const auto kernel = make_kernel<Star7, double>("7-point");
    Stepper<double> stepper(kernel, {got}, parse_schedule(text));
    const auto both = [&](Index steps) {
      stepper.run(steps);
      run_reference<double>({*kernel.definition}, {expected}, {}, steps);
      ASSERT_EQ(first_difference(got, expected), "") << text;
    };
    both(3);
    got.poison_outside();
    both(2);
    for (Grid<double>* grid : {&got, &expected}) grid->set_boundary(0, dirichlet(2), neumann(0.5));
    both(3);
    both(2);
    for (const double value : {7.0, 8.0}) {
      for (Grid<double>* grid : {&got, &expected}) {
        grid->set_boundary(2, none(), dirichlet(4));
        for (Index z = 0; z < 9; ++z)
          for (Index y = 0; y < 12; ++y) (*grid)(z, y, -1) = value + double(z * y);
      }
      both(3);
      both(2);
    }
  }
}

struct Weighted5 {  // reaches further along x than along y, with weights that stay in the grid
  static constexpr Field<0> u{};
  static constexpr Field<1> weight{};
  constexpr auto operator()() const {
    const auto around = (u(0, -2) + u(0, 2)) + (u(-1, 0) + u(1, 0));
    return next(u) = fma(weight(0, 0), around, 0.25 * u(0, 0));
  }
};
template <class T>
void check_long_rows() {
  unsigned seed = 7;
  for (const Faces& faces : all_faces) {
    const std::array<std::pair<Boundary, Boundary>, 3> of_2d{faces[0], faces[2], faces[1]};
    const Problem<T> problem{{make_kernel<Weighted5, T>("weighted")}, {35, 701}, of_2d, {}, 9, seed += 10};
    const auto expected = problem.by_reference();
    for (const char* text :
         {"overlapped steps=4 planes=4 stream prefetch", "overlapped steps=3 columns=600 planes=8",
          "overlapped steps=9 columns=300 planes=2 prefetch", "overlapped steps=5 planes=4"}) {
      const Schedule schedule = parse_schedule(text);
      if (why_illegal(problem.definitions(), expected[0].layout(), problem.boundaries(), schedule)) continue;
      expect_equal(
          problem.by(schedule), expected,
          std::string(text) + ", y " + to_string(of_2d[0].first) + ", x " + to_string(of_2d[1].first));
    }
  }
}
/// Rows of several pieces, of which each goes through all levels of a wave before the next.
TEST(Schedules, LongRowsIn2dHaveTheReferenceBits) {
  check_long_rows<double>();
  check_long_rows<float>();
}

template <class T>
void check_rows_together() {
  unsigned seed = 40;
  for (const char* name : {"7-point", "laplacian", "jacobi"})
    for (const Faces& faces : {all_faces[0], all_faces[2], all_faces[3]}) {
      std::vector<double> params;
      for (const auto& param : find_builtin(name).params) params.push_back(param.second);
      const Problem<T> problem{
          builtin_kernels<T>(name), {9, 7, 2100 / Index{sizeof(T)}}, faces, params, 5, seed += 10};
      const auto expected = problem.by_reference();
      for (const char* text :
           {"sweep planes=4", "sweep rows=3 planes=4 prefetch", "sweep rows=2 planes=4 stream prefetch",
            "diamond width=6 planes=4 prefetch", "diamond width=4 rows=3 planes=4",
            "overlapped steps=3 rows=5 planes=4 prefetch", "wavefront steps=3 rows=3 planes=4"}) {
        const Schedule schedule = parse_schedule(text);
        if (why_illegal(problem.definitions(), expected[0].layout(), problem.boundaries(), schedule))
          continue;
        expect_equal(problem.by(schedule), expected,
                     std::string(name) + " by " + text + ", y " + to_string(faces[1].first));
      }
    }
}
/// Rows that are long enough to be computed in pairs, odd numbers of them among these, by the widest instructions there are.
TEST(Schedules, RowsComputedTogetherHaveTheReferenceBits) {
  check_rows_together<double>();
  check_rows_together<float>();
}

}  // namespace
}  // namespace spinloom::stencil
