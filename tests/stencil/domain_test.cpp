#include <map>

#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/linear.hpp"
#include "stencil/domain/domain_state.hpp"
#include "stencil/domain/exchange.hpp"
#include "stencil/domain_harness.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

using Faces = std::array<std::pair<Boundary, Boundary>, 3>;

std::vector<Communicator> ranks_of(int count) {
  return make_communicators(std::vector<Device>(static_cast<std::size_t>(count)));
}

template <class Choices>
const auto& one_of(std::mt19937& random, const Choices& all) {
  return all[std::uniform_int_distribution<std::size_t>(0, std::size(all) - 1)(random)];
}

Faces random_faces(std::mt19937& random) {
  Faces faces;
  for (auto& [low, high] : faces) {
    const auto any = [&] {
      return one_of(random,
                    std::array{dirichlet(0.5), neumann(0.1), reflect(), clamp(), none(), dirichlet(-1)});
    };
    low = any();
    high = any();
    if (random() % 3 == 0) low = high = periodic();
  }
  return faces;
}

struct Threads {
  explicit Threads(int threads) { set_thread_count(threads); }
  ~Threads() { set_thread_count(0); }
};

/// "" when all ranks together give the bits of one, else how they differ; "refused: .." when they say that they cannot.
template <class T>
std::string difference(int ranks, const Problem<T>& problem, const Sharing& how,
                       const std::vector<Grid<T>>& expected) {
  std::string words;
  static int calls = 0;
  const Threads mostly(++calls % 8 == 0 ? 2 : 1);  // a rank has its own already
  try {
    run_ranks(ranks_of(ranks), [&](const Communicator& c) {
      const std::string mine = difference_on(c, problem, how, expected);
      if (c.rank() == 0) words = mine;
    });
  } catch (const ArgumentError& e) {
    return std::string("refused: ") + e.what();
  }
  return words;
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
    EXPECT_EQ(words, "") << problem.chain[0].definition->name << " on " << spinloom::to_string(problem.shape)
                         << " by " << ranks << " ranks, " << to_string(how) << "; z "
                         << to_string(problem.faces[0].first) << "/" << to_string(problem.faces[0].second)
                         << ", y " << to_string(problem.faces[1].first) << "/"
                         << to_string(problem.faces[1].second) << ", x " << to_string(problem.faces[2].first)
                         << "/" << to_string(problem.faces[2].second);
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
      p.faces = wraps ? Faces{{{periodic(), periodic()}, {periodic(), periodic()}, {periodic(), periodic()}}}
                      : Faces{{{reflect(), none()}, {neumann(0.2), clamp()}, {none(), dirichlet(1)}}};
      const auto expected = p.by({});
      for (Index z = 1; z <= 4; ++z)
        for (Index y = 1; y <= 4; ++y)
          for (Index x = 1; x <= 4; ++x) {
            if (z * y * x > 8) continue;
            const std::string words = difference(static_cast<int>(z * y * x), p,
                                                 {{z, y, x}, 1, "sweep rows=8 planes=2", {}}, expected);
            ASSERT_EQ(words, "") << name << " split " << z << " x " << y << " x " << x;
            ++done;
          }
    }
  }
  EXPECT_EQ(done, 6 * 26);
}

struct Summed {  // a sum and a maximum that ride along
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    const auto mean = 0.25 * ((u(0, -1) + u(0, 1)) + (u(-1, 0) + u(1, 0)));
    return together(next(u) = mean, sum(mean * mean), max(mean - u(0, 0)));
  }
};

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

/// A point of the whole grid that a stored one stands for, on a periodic axis that is split the one inside.
std::array<Index, 3> meant(const Domain& domain, const DomainPart& part, std::array<Index, 3> stored) {
  const auto n = make_layout(domain.shape(), {}, 1).n;
  for (std::size_t a = 0; a < 3; ++a) {
    stored[a] += part.stored_begin[a];
    if (domain.is_periodic(static_cast<int>(a)) && domain.parts()[a] > 1)
      stored[a] = (stored[a] + n[a]) % n[a];
  }
  return stored;
}
template <class F>
void for_each_point(const Box& box, const F& f) {
  for (Index z = box.begin[0]; z < box.end[0]; ++z)
    for (Index y = box.begin[1]; y < box.end[1]; ++y)
      for (Index x = box.begin[2]; x < box.end[2]; ++x) f(std::array<Index, 3>{z, y, x});
}

// Every cell of a rim comes once, from the rank whose own it is, who sends those very points in that order.
TEST(Domain, PassagesBringEachCellOfARimOnce) {
  std::mt19937 random(5);
  int done = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto few = [&](int least, int most) {
      return std::uniform_int_distribution<Index>(least, most)(random);
    };
    Rim rim;
    for (std::size_t a = 0; a < 3; ++a) {
      rim.reach.low[a] = few(0, 2), rim.reach.high[a] = few(0, 2);
      rim.depth.low[a] = 2 * rim.reach.low[a], rim.depth.high[a] = 2 * rim.reach.high[a];
    }
    const Shape shape{few(4, 14), few(4, 14), few(4, 14)};
    const auto ranks = ranks_of(static_cast<int>(few(1, 8)));
    const DomainOptions options{{}, {random() % 2 == 0, random() % 2 == 0, random() % 2 == 0}};
    std::vector<Domain> domains;
    try {
      for (const auto& c : ranks) domains.emplace_back(shape, c, rim, options);
    } catch (const ArgumentError&) {
      continue;
    }
    ++done;
    // By receiver, sender and tag: what is sent, in order, as points of the whole grid.
    std::map<std::tuple<int, int, int>, std::vector<std::array<Index, 3>>> sent, received;
    for (const Domain& d : domains) {
      const DomainPart part = d.part();
      const GridLayout stored =
          make_layout({part.stored_end[0] - part.stored_begin[0], part.stored_end[1] - part.stored_begin[1],
                       part.stored_end[2] - part.stored_begin[2]},
                      rim.reach, 8);
      std::map<std::array<Index, 3>, int> times;
      for (const Passage& p : passages(d, stored)) {
        const int me = d.communicator().rank();
        for_each_point(p.send, [&](auto at) { sent[{p.peer, me, p.out_tag}].push_back(meant(d, part, at)); });
        for_each_point(p.receive, [&](auto at) {
          received[{me, p.peer, p.in_tag}].push_back(meant(d, part, at));
          ++times[at];
        });
      }
      for_each_point({{}, stored.n}, [&](auto at) {
        bool is_own = true;
        for (std::size_t a = 0; a < 3; ++a)
          is_own &=
              at[a] >= part.begin[a] - part.stored_begin[a] && at[a] < part.end[a] - part.stored_begin[a];
        ASSERT_EQ(times[at], is_own ? 0 : 1);
      });
    }
    ASSERT_EQ(sent, received);
  }
  EXPECT_GE(done, 50);
}

TEST(Domain, WhatIsAroundTheCoreIsEachPointOnce) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    Box box, core;
    for (std::size_t a = 0; a < 3; ++a) {
      box.end[a] = 3 + static_cast<Index>(random() % 5);
      core.begin[a] = static_cast<Index>(random() % 3);
      core.end[a] = box.end[a] - static_cast<Index>(random() % 3);
    }
    std::map<std::array<Index, 3>, int> times;
    for (const Box& slab : around(box, core)) for_each_point(slab, [&](auto at) { ++times[at]; });
    for_each_point(core, [&](auto at) { ++times[at]; });
    for_each_point(box, [&](auto at) { ASSERT_EQ(times[at], 1); });
    Index all = 0;
    for (const auto& [_, count] : times) all += count;
    EXPECT_EQ(all, points(box));
  }
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
