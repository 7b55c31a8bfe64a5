#include "devices.hpp"
#include "recon/off_resonance_scan.hpp"
#include "solve/cuda/cg_steps.hpp"
#include "spinloom/recon/plan.hpp"

namespace spinloom {
namespace {

using namespace testing;

class CudaOffResonanceRecon : public ::testing::TestWithParam<FourierKind> {};

TEST_P(CudaOffResonanceRecon, WithTheMapBeatsWithoutByTenDecibels) {
  SPINLOOM_NEEDS(gpu);
  expect_the_map_to_help(GetParam(), gpu);
}
INSTANTIATE_TEST_SUITE_P(By, CudaOffResonanceRecon,
                         ::testing::Values(FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft),
                         [](const auto& given) { return to_string(given.param); });

TEST(CudaOffResonanceReconPlan, ConvolvesAndIteratesAsOneGraph) {
  SPINLOOM_NEEDS(gpu);
  const Measurement m = scan(Subject());
  const ReconstructionOptions options{.stop = 1e-5, .device = gpu};
  EXPECT_GT(plan_reconstruction(m, options).normal_segments.segments, 1);
  const Reconstruction r = Reconstructor(options).run(m);
  EXPECT_EQ(cuda::last_graph_refusal(), "");
  EXPECT_NE(r.normal->name().find("time segments"), std::string::npos) << r.normal->name();
  EXPECT_TRUE(same_bits(Reconstructor(options).run(m).image, r.image)) << "repeats";
}

}  // namespace
}  // namespace spinloom
