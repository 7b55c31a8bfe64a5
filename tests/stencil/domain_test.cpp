#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/linear.hpp"
#include "stencil/domain_problems.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

std::vector<Communicator> ranks_of(int count) {
  return make_communicators(std::vector<Device>(static_cast<std::size_t>(count)));
}

struct Threads {
  explicit Threads(int threads) { set_thread_count(threads); }
  ~Threads() { set_thread_count(0); }
};

template <class T>
std::string difference(int ranks, const Problem<T>& problem, const Sharing& how,
                       const std::vector<Grid<T>>& expected) {
  static int calls = 0;
  const Threads mostly(++calls % 8 == 0 ? 2 : 1);  // a rank has its own already
  return difference_over(ranks_of(ranks), problem, how, expected);
}

const std::vector<std::string> schedules = {"naive",
                                            "naive",
                                            "sweep rows=4 planes=2 stream prefetch",
                                            "sweep planes=4 columns=16 prefetch",
                                            "sweep planes=4",
                                            "overlapped steps=2 rows=5 planes=2",
                                            "wavefront steps=2 planes=2",
                                            "diamond width=8 planes=2 prefetch"};

/// Random sharings of one problem; returns how many were carried out.
template <class T>
int check_shared(std::mt19937& random, const Problem<T>& problem, int trials) {
  const auto layout = problem.make_grids()[0].layout();
  if (why_illegal(problem.definitions(), layout, problem.boundaries(), {})) return 0;
  const auto expected = problem.by({});
  int done = 0;
  for (int t = 0; t < trials; ++t) {
    const int ranks = one_of(random, std::array{1, 2, 2, 3, 4, 4, 5, 6, 7, 8});
    Sharing how;
    how.steps_between = one_of(random, std::array{1, 1, 2, 3});
    how.schedule = one_of(random, schedules);
    how.exchanging = random() % 4 == 0 ? Exchanging::blocking : Exchanging::overlapped;
    const std::string words = difference(ranks, problem, how, expected);
    if (words.rfind("refused: ", 0) == 0) continue;
    ++done;
    EXPECT_EQ(words, "") << in_words(problem, ranks, how);
    if (::testing::Test::HasFailure()) break;
  }
  return done;
}

template <class T>
Problem<T> builtin_problem(const BuiltinInfo& info, std::mt19937& random) {
  Problem<T> p;
  p.chain = builtin_kernels<T>(info.name);
  const auto size = [&] { return one_of(random, std::array<Index, 5>{6, 9, 16, 23, 34}); };
  p.shape = p.chain[0].definition->rank == 2 ? Shape{size(), size()} : Shape{size(), size(), size()};
  p.faces = random_faces(random);
  for (const auto& [_, value] : info.params) p.params.push_back(value);
  p.steps = 5;
  p.seed = static_cast<unsigned>(random());
  return p;
}

TEST(Domain, GivesEveryBuiltinTheBitsOfOneRank) {
  std::mt19937 random(20260);
  for (const BuiltinInfo& info : builtins()) {
    int done = 0;
    for (int trial = 0; trial < 4 && !HasFailure(); ++trial) {
      done += check_shared<double>(random, builtin_problem<double>(info, random), 4);
      done += check_shared<float>(random, builtin_problem<float>(info, random), 4);
      if (info.has_complex && trial == 0)
        done += check_shared<cfloat>(random, builtin_problem<cfloat>(info, random), 2);
    }
    EXPECT_GE(done, 8) << info.name;
  }
}

TEST(Domain, GivesRandomStencilsTheBitsOfOneRank) {
  std::mt19937 random(4711);
  int done = 0;
  for (int trial = 0; trial < 40 && !HasFailure(); ++trial) {
    const int rank = 2 + static_cast<int>(random() % 2);
    // Offsets that are not the same on both sides, and nothing at all along some axes.
    std::vector<LinearTerm> terms(1 + random() % 12);
    int low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      low[a] = static_cast<int>(random() % 4);
      high[a] = static_cast<int>(random() % 4);
    }
    const auto offset = [&](int a) { return std::uniform_int_distribution<int>(-low[a], high[a])(random); };
    for (LinearTerm& t : terms)
      t = {rank == 3 ? offset(0) : 0, offset(1), offset(2), 0.3 * random_value<double>(random)};
    Problem<double> p;
    p.chain = {make_linear_kernel<double>("random", rank, terms)};
    if (random() % 3 == 0)
      p.chain.push_back(make_linear_kernel<double>("second", rank, {{0, 1, -1, 0.5}, {0, 0, 0, 0.4}}));
    const auto size = [&] { return std::uniform_int_distribution<Index>(5, 40)(random); };
    p.shape = rank == 2 ? Shape{size(), size()} : Shape{size(), size(), size()};
    p.faces = random_faces(random);
    p.steps = 4;
    p.seed = static_cast<unsigned>(random());
    done += check_shared(random, p, 3);
  }
  EXPECT_GE(done, 40);
}

TEST(Domain, GivesTheBitsOfOneRankForEverySplit) {
  std::mt19937 random(99);
  int done = 0;
  for (const char* name : {"27-point", "wave", "red-black"}) {
    Problem<float> p = builtin_problem<float>(find_builtin(name), random);
    p.shape = {20, 18, 70};
    for (const bool wraps : {false, true}) {
      p.faces = faces_that_wrap(wraps);
      const auto expected = p.by({});
      for_each_split([&](const Shape& split) {
        const std::string words =
            difference(static_cast<int>(count(split)), p, {split, 1, "sweep rows=8 planes=2", {}}, expected);
        EXPECT_EQ(words, "") << name << " split " << spinloom::to_string(split);
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 6 * 26);
}

TEST(Domain, SumsInTheOrderOfTheWholeGrid) {
  Problem<float> p;
  p.chain = {make_kernel<Summed, float>("summed")};
  p.shape = {37, 45};
  p.faces = {{{reflect(), reflect()}, {periodic(), periodic()}, {}}};
  auto whole = p.make_grids();
  Stepper<float> one(p.chain, p.bind(whole));
  one.run(7);
  for (const int ranks : {1, 2, 3, 8})
    run_ranks(ranks_of(ranks), [&](const Communicator& c) {
      const Domain domain(p.shape, c, rim_of(p.chain, 2), {{0, 1}, {false, true}});
      DomainGrid<float> u(domain, reflect());
      u.set_boundary(1, periodic());
      take_own(p.make_grids()[0], u);
      DomainStepper<float> several(p.chain, {u}, parse_schedule("sweep planes=2"));
      several.run(7);
      EXPECT_EQ(several.reduced(0), one.reduced(0)) << ranks;
      EXPECT_EQ(several.reduced(1), one.reduced(1)) << ranks;
    });
}

std::string refusal(int ranks, const std::function<void(const Communicator&)>& body) {
  try {
    run_ranks(ranks_of(ranks), body);
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "";
}

TEST(Domain, RefusesInWordsWhatItCannotSplit) {
  const auto star4 = std::vector{make_linear_kernel<double>("derivative", 2, {{0, 0, -4, 1}, {0, 0, 4, -1}})};
  const auto holds = [](const std::string& words, const char* part) {
    EXPECT_NE(words.find(part), std::string::npos) << words;
  };
  // A rim of 4 in parts of 2; what splits the other axis is fine.
  holds(refusal(4,
                [&](const Communicator& c) {
                  Domain({10, 10}, c, rim_of(star4), {{1, 4}, {}});
                }),
        "leave 2 to a part");
  EXPECT_EQ(refusal(4, [&](const Communicator& c) { Domain({10, 10}, c, rim_of(star4)); }), "");
  holds(refusal(4,
                [&](const Communicator& c) {
                  Domain({16, 16, 3}, c, {}, {{1, 1, 4}, {}});
                }),
        "leave 0 to a part");
  holds(refusal(8, [&](const Communicator& c) { Domain({2, 3}, c, {}); }), "cannot be split over 8 ranks");
  holds(refusal(3,
                [&](const Communicator& c) {
                  Domain({20, 20}, c, {}, {{2, 2}, {}});
                }),
        "a split into 4 parts");
  holds(refusal(4,
                [&](const Communicator& c) {
                  Domain({20, 20}, c, {}, {{2, 1}, {}});
                }),
        "there are 4 ranks");
  holds(refusal(2,
                [&](const Communicator& c) {
                  const Domain domain({20, 20}, c, {}, {{1, 2}, {}});
                  DomainGrid<double>(domain, periodic());
                }),
        "is split");
  holds(refusal(2,
                [&](const Communicator& c) {
                  const Domain domain({20, 20}, c, {Halo(4), Halo(3)}, {{1, 2}, {}});
                  DomainGrid<double> u(domain, clamp());
                  DomainStepper<double>(star4, {u});
                }),
        "has a rim of 3 and 3");
  holds(refusal(2,
                [&](const Communicator& c) {
                  const Domain domain({20, 20}, c, rim_of(star4), {{1, 2}, {}});
                  DomainGrid<double> u(domain);
                  DomainStepper<double>(star4, {u});
                }),
        "has no boundary there");
  holds(refusal(2,
                [&](const Communicator& c) {
                  const Domain domain({20, 20}, c, rim_of(star4), {{1, 2}, {}});
                  DomainGrid<double> u(domain, clamp());
                  DomainStepper<double>(star4, {u}, parse_schedule("cuda fused"));
                }),
        "take cuda separate");
}

TEST(Domain, ChoosesTheLeastSurfaceAndCutsRowsLast) {
  const auto split = [](const Shape& shape, int ranks, const Shape& wanted = {}) {
    return split_text(Domain(shape, ranks_of(ranks)[0], {Halo(1), Halo(1)}, {wanted, {}}));
  };
  EXPECT_EQ(split({512, 512, 512}, 2), "2 x 1 x 1");
  EXPECT_EQ(split({512, 512, 512}, 4), "2 x 2 x 1");
  EXPECT_EQ(split({512, 512, 512}, 8), "4 x 2 x 1");
  EXPECT_EQ(split({4, 512, 512}, 4), "1 x 4 x 1");
  EXPECT_EQ(split({3, 3, 512}, 8), "1 x 1 x 8");
  EXPECT_EQ(split({512, 512, 512}, 8, {0, 0, 2}), "2 x 2 x 2");
  EXPECT_EQ(split({100, 100}, 6), "3 x 2");
}

// A stencil that reads one side only: the rims of both sides have widths of their own, and one of them is none.
TEST(Domain, KeepsRimsAsWideAsEachSideReads) {
  const auto kernel = make_linear_kernel<double>("ahead", 2, {{0, 0, 2, 1}, {0, 0, 0, -1}});
  const Shape shape{1, 12};
  Grid<double> whole(shape, Halo(kernel.view().reach()), dirichlet(0));
  const auto value = [](Index, Index, Index x) { return double(x * x % 7) + 0.5; };
  whole.fill([&](Index y, Index x) { return value(y, 0, x); });
  Stepper<double>(kernel, {whole}).run(2);
  const auto expected = whole.to_array();
  run_ranks(ranks_of(3), [&](const Communicator& c) {
    const Domain domain(shape, c, rim_of(std::vector{kernel}, 2), {{1, 3}, {}});
    EXPECT_EQ(domain.part().stored_begin[2], 4 * c.rank());
    EXPECT_EQ(domain.part().stored_end[2], c.rank() == 2 ? 12 : 4 * c.rank() + 8);
    DomainGrid<double> u(domain, dirichlet(0));
    u.fill(value);
    DomainStepper<double> stepper({kernel}, {u});
    stepper.run(2);
    EXPECT_EQ(stepper.bytes_per_exchange(), c.rank() == 0 ? 0 : 4 * sizeof(double));
    const auto got = u.gather();
    if (c.rank() == 0) {
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), 12 * sizeof(double)), 0);
    }
  });
}

TEST(Domain, ExchangesNothingAlongAnAxisThatIsNotRead) {
  const auto kernel = make_linear_kernel<double>("along x", 3, {{0, 0, -1, 0.5}, {0, 0, 1, 0.5}});
  run_ranks(ranks_of(2), [&](const Communicator& c) {
    const Domain domain({4, 4, 4}, c, rim_of(std::vector{kernel}), {{2, 1, 1}, {true, true, true}});
    DomainGrid<double> u(domain, periodic());
    u.fill([](Index z, Index y, Index x) { return double(z * 16 + y * 4 + x * x); });
    DomainStepper<double> stepper({kernel}, {u});
    stepper.run(1);
    EXPECT_EQ(stepper.steps_per_exchange(), 0);
    const Index z = domain.part().begin[0];
    EXPECT_EQ(u(z, 1, 0), 0.5 * (u(z, 1, 0) * 0 + double(z * 16 + 4 + 9) + double(z * 16 + 4 + 1)));
  });
}

TEST(Domain, ScattersWhatItGathers) {
  const Shape shape{5, 7, 11};
  Array<cfloat> whole(shape);
  for (Index i = 0; i < whole.size(); ++i) whole[i] = {float(i), float(-i)};
  run_ranks(ranks_of(6), [&](const Communicator& c) {
    const Domain domain(shape, c, {Halo(1), Halo(1)});
    DomainGrid<cfloat> u(domain, clamp());
    u.scatter(c.rank() == 0 ? whole.view() : View<cfloat>{});
    const DomainPart& p = u.part();
    EXPECT_EQ(u(p.begin[0], p.begin[1], p.begin[2]).real(),
              float((p.begin[0] * 7 + p.begin[1]) * 11 + p.begin[2]));
    const auto back = u.gather();
    EXPECT_EQ(back.size(), c.rank() == 0 ? whole.size() : 0);
    if (c.rank() == 0) {
      EXPECT_EQ(
          std::memcmp(back.data(), whole.data(), static_cast<std::size_t>(whole.size()) * sizeof(cfloat)), 0);
    }
  });
}

}  // namespace
}  // namespace spinloom::stencil
