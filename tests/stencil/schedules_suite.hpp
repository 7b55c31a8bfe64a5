#pragma once
#include "spinloom/core/error.hpp"
#include "stencil/harness.hpp"

/// Every schedule on every boundary, held against the reference bit by bit: check_shapes<Stencil, T>(name, shapes).
namespace spinloom::stencil::testing {

inline const std::vector<std::string> all_schedules = {
    "naive",
    "sweep rows=3",
    "sweep rows=4 planes=2 stream prefetch",
    "sweep planes=4 columns=16 prefetch",
    "sweep rows=8 planes=4 stream",
    "overlapped steps=3 rows=5",
    "overlapped steps=4 rows=8 columns=16 planes=2 stream prefetch",
    "overlapped steps=2 planes=8",
    "wavefront steps=4 rows=6 planes=2 prefetch",
    "wavefront steps=2",
    "diamond width=8 planes=2 prefetch",
    "diamond width=16",
    "diamond width=12 planes=4 columns=32",
    "diamond width=16 planes=2 rows=3 columns=16 prefetch",
};

using Faces = std::array<std::pair<Boundary, Boundary>, 3>;
inline const std::vector<Faces> all_faces = {
    {{{dirichlet(0.5), dirichlet(-1)}, {dirichlet(0), dirichlet(2)}, {dirichlet(1), dirichlet(0.25)}}},
    {{{none(), none()}, {none(), none()}, {none(), none()}}},
    {{{neumann(0.1), reflect()}, {reflect(), neumann(-0.2)}, {neumann(0), clamp()}}},
    {{{periodic(), periodic()}, {periodic(), periodic()}, {periodic(), periodic()}}},
    {{{reflect(), dirichlet(1)}, {periodic(), periodic()}, {none(), neumann(0.3)}}},
    {{{clamp(), none()}, {neumann(1), dirichlet(0)}, {periodic(), periodic()}}},
};

/// Every legal schedule gives the bits of the reference, at any number of threads; returns how many were legal.
template <class T>
int check_all(Problem<T> problem) {
  int legal = 0;
  {
    const auto layout = problem.make_grids()[0].layout();
    // Only red-black on a periodic axis of odd length has no answer at all, and mirrors of what the halo does not hold.
    if (const auto why = why_illegal(problem.definitions(), layout, problem.boundaries(), {})) {
      EXPECT_TRUE(why->find("red-black") != why->npos || why->find("caller's own") != why->npos) << *why;
      return 5;
    }
  }
  const auto expected = problem.by_reference();
  for (const auto& text : all_schedules) {
    const Schedule schedule = parse_schedule(text);
    if (why_illegal(problem.definitions(), expected[0].layout(), problem.boundaries(), schedule)) continue;
    ++legal;
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      expect_equal(problem.by(schedule), expected,
                   problem.chain[0].definition->name + " on " + spinloom::to_string(problem.shape) + " by " +
                       text + ", " + std::to_string(threads) + " threads");
      if (::testing::Test::HasFatalFailure()) break;
    }
    set_thread_count(0);
    if (::testing::Test::HasFatalFailure()) return legal;
  }
  return legal;
}

template <class S, class T>
void check_shapes(const char* name, const std::vector<Shape>& shapes,
                  const std::vector<double>& params = {}) {
  unsigned seed = 100;
  for (const Shape& shape : shapes)
    for (const Faces& faces : all_faces) {
      SCOPED_TRACE(std::string(name) + ", z " + to_string(faces[0].first) + ", y " +
                   to_string(faces[1].first) + ", x " + to_string(faces[2].first));
      const int legal = check_all<T>({{make_kernel<S, T>(name)}, shape, faces, params, 5, seed += 10});
      EXPECT_GE(legal, 5);  // the sweeps always are
      if (::testing::Test::HasFatalFailure()) return;
    }
}

inline const std::vector<Shape> small_shapes = {{1, 1, 1}, {3, 5, 2}, {2, 17, 63}, {17, 9, 65}, {5, 33, 16}};

}  // namespace spinloom::stencil::testing
