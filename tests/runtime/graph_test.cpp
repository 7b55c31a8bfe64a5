#include "runtime/cuda/graph.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"
#include "operator_suite.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/ops/vector_ops.hpp"

namespace spinloom {
namespace {

using testing::gpu;

/// y += alpha x by way of memory of its own.
void add_through_scratch(View<const cfloat> x, View<cfloat> y) {
  Array<cfloat> copied(x.shape, x.device);
  copy<cfloat>(x, copied);
  axpy<cfloat>(cfloat(2), copied.view(), y);
}

class CudaGraph : public ::testing::Test {
 protected:
  const Array<cfloat> x_ = testing::random_array<float>({10007}, 1);
  /// y = 2 n x, exact in floats
  void expect_added(const Array<cfloat>& y, int times) {
    const auto host = testing::on_host(y.clone());
    for (Index i = 0; i < x_.size(); ++i) {
      cfloat expected = 0;
      for (int n = 0; n < times; ++n) expected += 2.0f * x_[i];
      ASSERT_LE(std::abs(host[i] - expected), 1e-5f * std::abs(expected)) << i;
    }
  }
};

TEST_F(CudaGraph, DoesNothingWhenRecordedAndAllOfItWhenLaunched) {
  SPINLOOM_NEEDS(gpu);
  const auto x = Array<cfloat>::copy_of(x_.view(), gpu);
  auto y = Array<cfloat>::zeros({10007}, gpu);
  std::string why;
  const auto graph = cuda::Graph::record(
      cuda::context(0), [&] { add_through_scratch(x.view(), y.view()); }, why);
  ASSERT_NE(graph, nullptr) << why;
  expect_added(y, 0);
  for (int i = 0; i < 3; ++i) graph->launch();
  expect_added(y, 3);
}

TEST_F(CudaGraph, KeepsTheMemoryThatItsWorkUses) {
  SPINLOOM_NEEDS(gpu);
  const auto x = Array<cfloat>::copy_of(x_.view(), gpu);
  auto y = Array<cfloat>::zeros({10007}, gpu);
  std::string why;
  const auto graph = cuda::Graph::record(
      cuda::context(0), [&] { add_through_scratch(x.view(), y.view()); }, why);
  ASSERT_NE(graph, nullptr) << why;
  // What was idle goes back to the driver, and memory of the same size is handed out and spoiled.
  cuda::context(0).memory().trim();
  std::vector<Array<cfloat>> others;
  for (int i = 0; i < 20; ++i) others.push_back(testing::poisoned<float>({10007}, gpu));
  graph->launch();
  expect_added(y, 1);
  for (const auto& other : others) {
    const auto host = testing::on_host(other.clone());
    for (const cfloat v : host) ASSERT_TRUE(std::isnan(v.real())) << "the graph wrote to memory of others";
  }
}

TEST_F(CudaGraph, SaysWhatCannotBeRecordedAndLeavesTheStreamInOrder) {
  SPINLOOM_NEEDS(gpu);
  const auto x = Array<cfloat>::copy_of(x_.view(), gpu);
  auto y = Array<cfloat>::zeros({10007}, gpu);
  std::string why;
  EXPECT_EQ(cuda::Graph::record(
                cuda::context(0), [&] { norm<cfloat>(x.view()); }, why),
            nullptr);
  EXPECT_NE(why.find("copy to or from ordinary host memory"), std::string::npos) << why;
  EXPECT_EQ(cuda::Graph::record(
                cuda::context(0), [&] { synchronize(gpu); }, why),
            nullptr);
  EXPECT_NE(why.find("waiting for the GPU"), std::string::npos) << why;
  EXPECT_THROW(cuda::Graph::record(
                   cuda::context(0), [] { throw ShapeError("of the work itself"); }, why),
               ShapeError);
  add_through_scratch(x.view(), y.view());
  expect_added(y, 1);
}

TEST_F(CudaGraph, GivesItsMemoryBack) {
  SPINLOOM_NEEDS(gpu);
  const auto x = Array<cfloat>::copy_of(x_.view(), gpu);
  auto y = Array<cfloat>::zeros({10007}, gpu);
  const auto once = [&] {
    std::string why;
    const auto graph = cuda::Graph::record(
        cuda::context(0), [&] { add_through_scratch(x.view(), y.view()); }, why);
    ASSERT_NE(graph, nullptr) << why;
    graph->launch();
  };
  once();
  const auto held = held_memory_bytes(gpu);
  for (int i = 0; i < 100; ++i) once();
  EXPECT_EQ(held_memory_bytes(gpu), held);
}

}  // namespace
}  // namespace spinloom
