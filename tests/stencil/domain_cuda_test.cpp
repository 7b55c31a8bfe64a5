#include "devices.hpp"
#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/rank_group.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/linear.hpp"
#include "stencil/cuda/domain_exchange.hpp"
#include "stencil/domain_problems.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;
using spinloom::testing::gpu;

/// Ranks that are threads, and are told that they do not reach one another's memory, as processes do not.
class Apart final : public RankGroup {
 public:
  using RankGroup::RankGroup;
  std::string name() const override { return "apart"; }
  bool is_one_process() const override { return false; }
  void sum(int, void*, Index, bool) override {}
};

/// Ranks that share the first GPU, the same by way of the host, and ranks on all GPUs in turn.
class DomainCuda : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SPINLOOM_NEEDS(gpu);
    set_thread_count(1);  // a rank has a thread of its own already
    if (GetParam() == "OnAll") {
      if (cuda::device_count() < 2) GTEST_SKIP() << "this machine shows one GPU, two are needed";
      for (int i = 1; i < cuda::device_count(); ++i) devices_.push_back({DeviceKind::cuda, i});
    }
  }
  void TearDown() override { set_thread_count(0); }
  std::vector<Communicator> ranks_of(int count) const {
    const std::vector<Device> hosts(static_cast<std::size_t>(count));
    return GetParam() == "ThroughTheHost" ? communicators_of(std::make_shared<Apart>(hosts))
                                          : make_communicators(hosts);
  }

  template <class T>
  std::string difference(int ranks, const Problem<T>& problem, Sharing how,
                         const std::vector<Grid<T>>& expected) {
    how.devices = devices_;
    return difference_over(ranks_of(ranks), problem, how, expected);
  }

  /// Random sizes, faces, splits and rims; returns how many were carried out.
  template <class T>
  int check(std::mt19937& random, const std::vector<Kernel<T>>& chain, const std::vector<double>& params,
            const std::string& schedule, int problems) {
    int done = 0;
    for (int i = 0; i < problems; ++i) {
      Problem<T> p;
      p.chain = chain;
      const auto size = [&] { return one_of(random, std::array<Index, 5>{6, 17, 34, 40, 70}); };
      p.shape =
          chain[0].definition->rank == 2 ? Shape{size(), 4 * size()} : Shape{size(), size(), 2 * size()};
      p.faces = random_faces(random);
      p.params = params;
      p.steps = 7;
      p.seed = static_cast<unsigned>(random());
      if (why_illegal(p.definitions(), p.make_grids()[0].layout(), p.boundaries(), {})) continue;
      const auto expected = p.by({});
      for (int sharing = 0; sharing < 2; ++sharing) {
        Sharing how;
        how.schedule = schedule;
        how.steps_between = one_of(random, std::array{1, 1, 2, 3, 4});
        how.exchanging = random() % 4 == 0 ? Exchanging::blocking : Exchanging::overlapped;
        const int ranks = one_of(random, std::array{1, 2, 2, 3, 4, 4, 6, 8});
        const std::string words = difference(ranks, p, how, expected);
        if (words.rfind("refused: ", 0) == 0) continue;
        ++done;
        EXPECT_EQ(words, "") << in_words(p, ranks, how);
        if (HasFailure()) return done;
      }
    }
    return done;
  }
  template <class T>
  int check(std::mt19937& random, const char* name, const std::string& schedule, int problems = 3) {
    std::vector<double> params;
    for (const auto& [_, value] : find_builtin(name).params) params.push_back(value);
    return check<T>(random, builtin_kernels<T>(name), params, schedule, problems);
  }

  std::vector<Device> devices_ = {gpu};
};

TEST_P(DomainCuda, GivesTheBitsOfOneRankOnTheHost) {
  std::mt19937 random(777);
  int done = 0;
  for (const char* name : {"7-point", "27-point", "wave", "diffusion", "red-black", "5-point"})
    done += check<float>(random, name, "cuda gather");
  done += check<float>(random, "7-point", "cuda", 6);
  done += check<float>(random, "5-point", "cuda");
  done += check<float>(random, "wave", "cuda");
  for (const char* name : {"25-point", "gradient", "lattice-boltzmann", "life"})
    done += check<double>(random, name, "cuda gather");
  done += check<double>(random, "7-point", "cuda", 6);
  done += check<double>(random, "7-point", "cuda ring");
  done += check<double>(random, "25-point", "cuda march rows=2 depth=9 shuffle");
  done += check<cfloat>(random, "7-point", "cuda gather");
  done += check<cdouble>(random, "divergence", "cuda gather", 2);
  EXPECT_GE(done, 40);
}

TEST_P(DomainCuda, TakesSeveralStepsAtOnceBetweenExchanges) {
  std::mt19937 random(778);
  int done = check<float>(random, "7-point", "cuda overlapped steps=3", 3);
  done += check<double>(random, "7-point", "cuda overlapped steps=2", 2);
  done += check<float>(random, "red-black", "cuda overlapped", 2);
  done += check<float>(random, "5-point", "cuda overlapped steps=4", 3);
  EXPECT_GE(done, 6);
}

// Colours are those of the whole grid, wherever a part starts.
TEST_P(DomainCuda, KeepsColoursInPassesOverPartsThatStartAtOddPoints) {
  Problem<float> p;
  p.chain = builtin_kernels<float>("red-black");
  p.shape = {21, 34, 12};
  p.faces = {{{dirichlet(-1), clamp()}, {neumann(0.1), neumann(0.1)}, {neumann(0.1), dirichlet(-1)}}};
  for (const auto& [_, value] : find_builtin("red-black").params) p.params.push_back(value);
  p.steps = 7;
  const auto expected = p.by({});
  for (const Shape& split : {Shape{1, 2, 1}, Shape{3, 1, 1}, Shape{3, 2, 1}})
    EXPECT_EQ(difference(static_cast<int>(count(split)), p, {split, 1, "cuda overlapped", {}, {}}, expected),
              "")
        << spinloom::to_string(split);
}

TEST_P(DomainCuda, GivesRandomChainsTheBitsOfOneRank) {
  std::mt19937 random(779);
  int done = 0;
  for (int trial = 0; trial < 4 && !HasFailure(); ++trial) {
    const int rank = 2 + trial % 2;
    std::vector<LinearTerm> terms(1 + random() % 8);
    const auto offset = [&] { return std::uniform_int_distribution<int>(-3, 3)(random); };
    for (LinearTerm& t : terms)
      t = {rank == 3 ? offset() : 0, offset(), offset(), 0.3 * random_value<double>(random)};
    std::vector<Kernel<double>> chain;
    chain.reserve(2);
    chain.push_back(make_linear_kernel<double>("random", rank, terms));
    if (trial % 3 == 0)
      chain.push_back(make_linear_kernel<double>("second", rank, {{0, 1, -1, 0.5}, {0, 0, 0, 0.4}}));
    done += check<double>(random, chain, {}, "cuda gather", 3);
  }
  EXPECT_GE(done, 8);
}

TEST_P(DomainCuda, GivesTheBitsOfOneRankForEverySplit) {
  int done = 0;
  for (const char* name : {"27-point", "red-black"})
    for (const bool wraps : {false, true}) {
      Problem<float> p;
      p.chain = builtin_kernels<float>(name);
      p.shape = {20, 18, 140};
      for (const auto& [_, value] : find_builtin(name).params) p.params.push_back(value);
      p.faces = faces_that_wrap(wraps);
      p.steps = 5;
      const auto expected = p.by({});
      for_each_split([&](const Shape& split) {
        if ((split[0] + split[1] + split[2]) % 2 == (wraps ? 1 : 0)) return;  // half of them each
        const std::string words =
            difference(static_cast<int>(count(split)), p, {split, 1, "cuda gather", {}, {}}, expected);
        EXPECT_EQ(words, "") << name << " split " << spinloom::to_string(split);
        ++done;
      });
    }
  EXPECT_EQ(done, 2 * 26);
}

TEST_P(DomainCuda, SumsInTheOrderOfTheWholeGrid) {
  const std::vector<Kernel<float>> chain = {make_kernel<Summed, float>("summed")};
  const auto value = [](Index y, Index, Index x) { return float((y * 31 + x * x * 7) % 101) / 7; };
  Grid<float> whole({37, 45}, Halo(1), reflect());
  whole.set_boundary(1, periodic());
  whole.fill([&](Index y, Index x) { return value(y, 0, x); });
  Stepper<float> one(chain, {whole});
  one.run(7);
  for (const int count : {1, 2, 3})
    run_ranks(ranks_of(count), [&](const Communicator& c) {
      const Domain domain({37, 45}, c, rim_of(chain, 2), {{0, 1}, {false, true}});
      DomainGrid<float> u(domain, reflect(), devices_[static_cast<std::size_t>(c.rank()) % devices_.size()]);
      u.set_boundary(1, periodic());
      u.fill(value);
      DomainStepper<float> several(chain, {u});
      several.run(7);
      EXPECT_EQ(several.reduced(0), one.reduced(0)) << count;
      EXPECT_EQ(several.reduced(1), one.reduced(1)) << count;
    });
}

TEST_P(DomainCuda, ScattersWhatItGathers) {
  Array<cfloat> whole({5, 7, 11});
  for (Index i = 0; i < whole.size(); ++i) whole[i] = {float(i), float(-i)};
  run_ranks(ranks_of(6), [&](const Communicator& c) {
    const Domain domain(whole.shape(), c, {Halo(1), Halo(1)});
    DomainGrid<cfloat> u(domain, clamp(), devices_[static_cast<std::size_t>(c.rank()) % devices_.size()]);
    u.scatter(c.rank() == 0 ? whole.view() : View<cfloat>{});
    const auto back = u.gather();
    ASSERT_EQ(back.size(), c.rank() == 0 ? whole.size() : 0);
    EXPECT_EQ(std::memcmp(back.data(), whole.data(), static_cast<std::size_t>(back.size()) * sizeof(cfloat)),
              0);
  });
}

TEST_P(DomainCuda, RefusesWhatTheHostRefuses) {
  const auto refusal = [&](int steps_between, const char* schedule) {
    std::string words;
    try {
      run_ranks(ranks_of(2), [&](const Communicator& c) {
        const auto chain = builtin_kernels<double>("7-point");
        const Domain domain({8, 8, 8}, c, rim_of(chain, steps_between), {{2, 1, 1}, {}});
        DomainGrid<double> u(domain, clamp(), devices_[static_cast<std::size_t>(c.rank()) % devices_.size()]);
        DomainStepper<double> stepper(chain, {u}, parse_schedule(schedule));
      });
    } catch (const ArgumentError& e) {
      words = e.what();
    }
    return words;
  };
  EXPECT_NE(refusal(5, "cuda").find("a rim of 5"), std::string::npos);
  EXPECT_NE(refusal(1, "sweep").find("sweep"), std::string::npos) << refusal(1, "sweep");
  EXPECT_EQ(refusal(4, "cuda"), "");
}

/// One rank ends in the middle: the others end too, and the GPU serves the next run.
TEST_P(DomainCuda, EndTogetherAndServeAgain) {
  const auto chain = builtin_kernels<float>("7-point");
  for (const bool fails : {true, false}) {
    Array<float> got;
    const auto work = [&](const Communicator& c) {
      const Domain domain({40, 20, 64}, c, rim_of(chain));
      DomainGrid<float> u(domain, dirichlet(1),
                          devices_[static_cast<std::size_t>(c.rank()) % devices_.size()]);
      u.fill([](Index z, Index y, Index x) { return float((z + y + x) % 5); });
      DomainStepper<float> stepper(chain, {u});
      stepper.set(0, 0.4), stepper.set(1, 0.1);
      stepper.run(20, [&](const std::string&, double done, const std::string&) {
        if (fails && c.rank() == 1 && done > 0.4) throw ArgumentError("enough");
      });
      const auto whole = u.gather();
      if (c.rank() == 0) got = Array<float>::copy_of(whole.view(), Device{});
    };
    if (fails) {
      EXPECT_THROW(run_ranks(ranks_of(4), work), ArgumentError);
      continue;
    }
    run_ranks(ranks_of(4), work);
    Grid<float> one({40, 20, 64}, Halo(1), dirichlet(1));
    one.fill([](Index z, Index y, Index x) { return float((z + y + x) % 5); });
    Stepper<float> stepper(chain, {one});
    stepper.set(0, 0.4), stepper.set(1, 0.1);
    stepper.run(20);
    const auto expected = one.to_array();
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), static_cast<std::size_t>(got.size()) * sizeof(float)),
              0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DomainCuda, ::testing::Values("SharingOne", "ThroughTheHost", "OnAll"),
                         [](const auto& instance) { return instance.param; });

/// As tests/families_cuda_test.cpp.
TEST(CudaFamilyStencil, SharedByRanks) {
  SPINLOOM_NEEDS(gpu);
  Problem<float> p{builtin_kernels<float>("7-point"),
                   {10, 9, 67},
                   {{{periodic(), periodic()}, {clamp(), dirichlet(0.5)}, {reflect(), neumann(0.25)}}},
                   {0.4, 0.1},
                   5,
                   3};
  const auto expected = p.by({});
  for (const bool apart : {false, true}) {
    const std::vector<Device> hosts(4);
    const auto ranks = apart ? communicators_of(std::make_shared<Apart>(hosts)) : make_communicators(hosts);
    run_ranks(ranks, [&](const Communicator& c) {
      EXPECT_EQ(difference_on(c, p, {{2, 1, 2}, 1, "cuda gather", {}, {gpu}}, expected), "");
    });
  }
}

TEST(DomainCudaKernels, CompileForEveryArchitecture) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  for (const auto& instance : cuda::pack_kernel_instances())
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(75, instance)).size(), 0u)
        << instance.describe();
  for (const int capability : {80, 90}) {
    const auto instance = cuda::pack_kernel_instances()[0];
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u);
  }
}

}  // namespace
}  // namespace spinloom::stencil
