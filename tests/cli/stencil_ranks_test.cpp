#include "command_test.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace {

class StencilRanks : public spinloom::testing::CommandTest {
 protected:
  /// The command on that many processes, as a test may start them: by root, on few cores.
  static std::string mpirun(int ranks) {
    return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
           "OMPI_MCA_hwloc_base_binding_policy=none OMP_WAIT_POLICY=passive "
           "ASAN_OPTIONS=detect_leaks=0 " SPINLOOM_MPIRUN " -n " +
           std::to_string(ranks);
  }
  void SetUp() override {
    if (std::string(SPINLOOM_MPIRUN).empty() && needs_mpi()) GTEST_SKIP() << "CMake found no MPI";
  }
  static bool needs_mpi() {
    return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()).find("Mpi") !=
           std::string::npos;
  }
};

constexpr const char* problem =
    "stencil run wave --matrix 19,22,35 --steps 9 --boundary periodic --json --quiet";

TEST_F(StencilRanks, WithinOneProcessGiveTheSameFigures) {
  const auto expected = json_of("stencil run wave --matrix 19,22,35 --steps 9 --boundary periodic")["fields"];
  for (const char* how : {"--ranks 1", "--ranks 2 --exchange blocking", "--ranks 4 --split 1,2,2",
                          "--ranks 3 --split 0,0,1 --schedule 'sweep rows=8 planes=2'"}) {
    const auto json =
        json_of(std::string("stencil run wave --matrix 19,22,35 --steps 9 --boundary periodic ") + how);
    EXPECT_EQ(json["fields"].dump(), expected.dump()) << how;
    EXPECT_EQ(json["ranks"], how[8] - '0');
  }
  const auto deep = json_of("stencil run 7-point --matrix 40,20,20 --ranks 2 --steps-between 5");
  EXPECT_EQ(deep["steps_per_exchange"], 5);
  EXPECT_EQ(deep["split"], "2 x 1 x 1");
}

TEST_F(StencilRanks, RefuseWhatTheyCannotDo) {
  expect_failure("stencil run 7-point --split 2,1,1", 2, "start the command by mpirun");
  expect_failure("stencil run 7-point --ranks many", 2, "many");
  for (const char* split : {"2,,1", "2,1,x", "-1,2,1"})
    expect_failure(std::string("stencil run 7-point --ranks 2 --split=") + split, 2, split);
  expect_failure("stencil run 7-point --ranks 2 --schedule best", 2, "name a schedule");
  expect_failure("stencil run 7-point --ranks 2 --split 2,1", 1, "over 2 axes");
  expect_failure("stencil run 7-point --ranks 4 --matrix 8,8,8 --split 4,1,1 --steps-between 3", 1,
                 "a rim of 3");
  expect_failure("stencil run 7-point --ranks 4 --matrix 8,8,8 --split 3,1,1", 1, "there are 4 ranks");
  expect_failure("stencil run 7-point --ranks 9 --matrix 2,2,2", 1, "cannot be split");
  expect_failure("stencil run life --ranks 2 --matrix 8,8,8", 1, "2 axes");
  expect_failure("stencil run 7-point --ranks mpi", 1, "nowhere", "SPINLOOM_MPI=/nowhere/module.so");
  expect_failure("bench ranks", 1, "mpirun -n 2");
}

TEST_F(StencilRanks, OnGpusGiveTheSameFiguresOrSayWhyNot) {
  const std::string wave = "stencil run wave --matrix 19,22,35 --steps 9 --boundary periodic ";
  expect_failure(wave + "--ranks 2 --device cuda:0,0", 2, "cuda:0,0");
  expect_failure(wave + "--device cuda:0,1 --schedule best", 2, "name a schedule");
  expect_failure("bench ranks --ranks 2 --device cpu", 1, "mpirun -n");
  expect_failure("bench stream --ranks 2", 2, "has no use for it");
  if (!spinloom::cuda_status().is_usable()) {
    for (const char* how : {"--ranks 2 --device cuda", "--device cuda:0,1"})
      expect_failure(wave + how, 1, "choose --device cpu");
    return;
  }
  const auto expected = json_of(wave)["fields"];
  for (const char* how : {"--ranks 2 --device cuda", "--ranks 3 --device cuda:0 --exchange blocking"})
    EXPECT_EQ(json_of(wave + how)["fields"].dump(), expected.dump()) << how;
}

TEST_F(StencilRanks, OfMpiGiveTheSameFigures) {
  const auto expected = json_of("stencil run wave --matrix 19,22,35 --steps 9 --boundary periodic")["fields"];
  for (const int ranks : {1, 2, 4}) {
    const auto o = run(std::string(problem) + " --ranks mpi", mpirun(ranks));
    ASSERT_EQ(o.code, 0) << o.err;
    const auto json = nlohmann::json::parse(o.out);  // of rank 0 alone
    EXPECT_EQ(json["fields"].dump(), expected.dump()) << ranks;
    EXPECT_EQ(json["ranks"], ranks);
  }
}

TEST_F(StencilRanks, OfMpiFailTogetherInOneLine) {
  for (const auto& [arguments, code, words] :
       {std::tuple{"--matrix 8,8,8 --split 2,1,1 --steps-between 9", 1, "a rim of 9"},
        {"--schedule fast", 2, "fast"}}) {
    const auto o = run(std::string("stencil run 7-point --quiet ") + arguments, mpirun(2));
    EXPECT_EQ(o.code, code);
    const std::size_t first = o.err.find("spinloom stencil: ");  // mpirun has words of its own
    ASSERT_NE(first, std::string::npos) << o.err;
    EXPECT_EQ(o.err.find("spinloom stencil: ", first + 1), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(words, first), std::string::npos) << o.err;
  }
}

}  // namespace
