#include <gtest/gtest.h>

#include <cmath>

#include "operator_suite.hpp"
#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/mri/trajectories.hpp"
#include "spinloom/recon/field_map.hpp"
#include "spinloom/recon/plan.hpp"
#include "spinloom/recon/reconstruct.hpp"
#include "spinloom/recon/verify.hpp"

namespace spinloom {
namespace {

/// Two soft blobs, which a disc of k-space holds, and a smooth field of up to 120 Hz.
struct Subject {
  Shape matrix{32, 30};
  Array<cfloat> image = Array<cfloat>::zeros(matrix);
  std::shared_ptr<Array<double>> map = std::make_shared<Array<double>>(matrix);
  Subject() {
    for (Index n = 0; n < image.size(); ++n) {
      const double y = double(n / 30 - 16) / 16, x = double(n % 30 - 15) / 15;
      const double wide = std::exp(-6 * (x * x + y * y)),
                   narrow = std::exp(-40 * ((x - 0.3) * (x - 0.3) + (y + 0.2) * (y + 0.2)));
      image[n] = cfloat(cdouble(wide, 0) + narrow * cdouble(-0.5, 0.4));
      (*map)[n] = 120 * (1 - x * x - y * y) * std::cos(2 * x);
    }
  }
};

/// One spiral scan of 20 ms readouts of the subject.
Measurement scan(const Subject& subject) {
  const Readouts spiral = spiral2d(subject.matrix, {.interleaves = 4});
  Measurement m;
  m.trajectory = spiral.trajectory;
  m.matrix = m.recon_matrix = subject.matrix;
  m.field_map_hz = subject.map;
  for (Index i = 0; i < m.trajectory->samples(); ++i)
    m.sample_times_s.push_back(static_cast<float>(0.02 * double(i % spiral.samples_per_readout) /
                                                  double(spiral.samples_per_readout)));
  m.kspace = Array<cfloat>({1, m.trajectory->samples()});
  const auto exact = make_dft<float>(m.trajectory, m.matrix, off_resonance_of(m));
  exact->forward(subject.image.view().reshaped({1, 32, 30}), m.kspace.view());
  // The encoding operator is unitary-scaled.
  scale<cfloat>(static_cast<float>(1 / std::sqrt(double(count(m.matrix)))), m.kspace.view());
  return m;
}

double error_db(const Array<cfloat>& image, const Subject& subject) {
  return 20 * std::log10(testing::relative_error(image, subject.image));
}

class OffResonanceRecon : public ::testing::TestWithParam<FourierKind> {};

TEST_P(OffResonanceRecon, WithTheMapBeatsWithoutByTenDecibels) {
  const Subject subject;
  Measurement m = scan(subject);
  Reconstructor reconstructor({.fourier = GetParam(), .tolerance = 1e-4, .iterations = 60, .stop = 1e-5});
  const Reconstruction with = reconstructor.run(m);
  const double corrected = error_db(with.image, subject);
  const Verification v = verify(m, with);
  EXPECT_LT(v.relative_error_forward, 3e-4);
  EXPECT_LT(v.relative_error_adjoint, 3e-4);
  EXPECT_LT(v.relative_error_normal, 5e-4);
  m.field_map_hz = nullptr;  // the same instance must not go on with the operators that it kept
  EXPECT_LT(corrected, error_db(reconstructor.run(m).image, subject) - 10);
  EXPECT_LT(corrected, -30);
}
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
