#include <gtest/gtest.h>

#include "recon/off_resonance_scan.hpp"
#include "spinloom/recon/plan.hpp"

namespace spinloom {
namespace {

using namespace testing;

class OffResonanceRecon : public ::testing::TestWithParam<FourierKind> {};

TEST_P(OffResonanceRecon, WithTheMapBeatsWithoutByTenDecibels) { expect_the_map_to_help(GetParam(), {}); }
INSTANTIATE_TEST_SUITE_P(By, OffResonanceRecon,
                         ::testing::Values(FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft),
                         [](const auto& given) { return to_string(given.param); });

TEST(OffResonanceGridding, WithTheMapIsCloser) {
  const Subject subject;
  Measurement m = scan(subject);
  Reconstructor reconstructor({.method = Method::gridding, .fourier = FourierKind::nufft});
  const double with = error_db(reconstructor.run(m).image, subject);
  m.field_map_hz = nullptr;
  EXPECT_LT(with, error_db(reconstructor.run(m).image, subject) - 5);
}

TEST(OffResonanceRootSumOfSquares, KeepsTheMapForEachCoil) {
  const Subject subject;
  const Measurement m = scan(subject);
  Reconstructor reconstructor({.iterations = 60, .stop = 1e-5, .combination = Combination::rss});
  const auto result = reconstructor.run(m);
  Array<float> got(m.matrix), expected(m.matrix);
  double gap = 0, size = 0;
  for (Index n = 0; n < got.size(); ++n) {
    gap += std::norm(std::abs(result.image[n]) - std::abs(subject.image[n]));
    size += std::norm(subject.image[n]);
  }
  EXPECT_LT(std::sqrt(gap / size), 0.03);
}

TEST(OffResonancePlan, NamesSegmentsAndTheCheckedError) {
  const Subject subject;
  Measurement m = scan(subject);
  const auto line_of = [&](FourierKind fourier) {
    const Plan plan = plan_reconstruction(m, {.fourier = fourier});
    for (const std::string& line : plan.lines)
      if (line.starts_with("field map")) return line;
    return std::string();
  };
  const Plan plan = plan_reconstruction(m, {});
  EXPECT_GT(plan.segments.segments, 4);
  EXPECT_LE(plan.segments.error, 1e-4);
  EXPECT_GT(plan.normal_segments.segments, plan.segments.segments);
  EXPECT_NE(line_of(FourierKind::toeplitz).find("convolutions"), std::string::npos);
  EXPECT_NE(line_of(FourierKind::nufft).find("by the pair"), std::string::npos);
  EXPECT_NE(line_of(FourierKind::dft).find("exact"), std::string::npos);
  m.sample_times_s.clear();
  EXPECT_THROW(plan_reconstruction(m, {}), ArgumentError) << "a map without times";
}

}  // namespace
}  // namespace spinloom
