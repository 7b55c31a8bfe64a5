#include <gtest/gtest.h>

#include <random>

#include "fourier/random_trajectory.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/recon/assemble.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;

Array<cfloat> random_kspace(Shape shape, unsigned seed) {
  Array<cfloat> kspace(std::move(shape));
  fill_random(kspace.view(), seed);
  return kspace;
}

/// Values of a trajectory as an array file has them.
Array<double> as_array(const Trajectory& k, PlainTrajectory::Layout layout, PlainTrajectory::Order order) {
  const Index dims = k.dims(), samples = k.samples();
  const bool is_last = layout == PlainTrajectory::Layout::columns_last;
  Array<double> values(is_last ? Shape{samples / 4, 4, dims} : Shape{dims, samples / 4, 4});
  for (Index d = 0; d < dims; ++d)
    for (Index i = 0; i < samples; ++i) {
      const Index column = order == PlainTrajectory::Order::zyx ? d : dims - 1 - d;
      values[is_last ? i * dims + column : column * samples + i] = k.axis(int(d))[i];
    }
  return values;
}

TEST(AssembleArrays, TakesEveryLayoutAndOrder) {
  for (const Shape& matrix : {Shape{9, 12}, Shape{5, 9, 12}}) {
    const auto k = random_trajectory(matrix, 40, 1);
    const Array<cfloat> kspace = random_kspace({3, 10, 4}, 2);
    for (const auto layout : {PlainTrajectory::Layout::columns_last, PlainTrajectory::Layout::columns_first})
      for (const auto order : {PlainTrajectory::Order::xyz, PlainTrajectory::Order::zyx}) {
        const Array<double> values = as_array(*k, layout, order);
        const Assembled result =
            assemble_arrays({values.view(), TrajectoryUnit::cycles_per_fov, layout, order}, kspace, matrix);
        const Measurement& m = result.measurements.at(0);
        EXPECT_TRUE(std::equal(k->view().begin(), k->view().end(), m.trajectory->view().begin()));
        EXPECT_EQ(m.kspace.shape(), (Shape{3, 40}));
        EXPECT_TRUE(std::equal(kspace.begin(), kspace.end(), m.kspace.begin()));
      }
  }
}

TEST(AssembleArrays, ConvertsUnitsPerAxis) {
  Array<double> values({2, 3});
  std::fill(values.begin(), values.end(), 0.25);
  const Array<cfloat> kspace = random_kspace({2}, 1);
  const Assembled result =
      assemble_arrays({values.view(), TrajectoryUnit::cycles_per_pixel}, kspace, {8, 16, 32});
  EXPECT_EQ(result.measurements[0].trajectory->axis(0)[0], 2);
  EXPECT_EQ(result.measurements[0].trajectory->axis(1)[0], 4);
  EXPECT_EQ(result.measurements[0].trajectory->axis(2)[1], 8);
}

TEST(AssembleArrays, DropsAKzThatIsZero) {
  Array<double> values = Array<double>::zeros({5, 3});
  for (Index i = 0; i < 5; ++i) values[3 * i] = double(i);
  const Array<cfloat> kspace = random_kspace({1, 5}, 1);
  for (const Shape& matrix : {Shape{10, 12}, Shape{1, 10, 12}}) {
    const Assembled result = assemble_arrays({values.view()}, kspace, matrix);
    EXPECT_EQ(result.measurements[0].matrix, (Shape{10, 12}));
    EXPECT_EQ(result.measurements[0].trajectory->axis(1)[4], 4);
  }
  values[14] = 0.5;
  EXPECT_THROW(assemble_arrays({values.view()}, kspace, {10, 12}), FormatError);
}

TEST(AssembleArrays, RefusesWhatDoesNotFitAndSaysBothSizes) {
  const auto k = random_trajectory({9, 12}, 40, 1);
  const Array<double> values =
      as_array(*k, PlainTrajectory::Layout::columns_last, PlainTrajectory::Order::xyz);
  const PlainTrajectory plain{values.view()};
  const Array<cfloat> good = random_kspace({2, 40}, 1), bad = random_kspace({40, 2, 2}, 1);
  EXPECT_NE(message_of([&] {
              assemble_arrays(plain, bad, {9, 12});
            }).find("k-space has shape [40, 2, 2], but the trajectory has 40 samples; expected [coils, 40]"),
            std::string::npos);
  EXPECT_THROW(assemble_arrays(plain, good, {}), ArgumentError);
  EXPECT_THROW(assemble_arrays(plain, good, {0, 12}), ArgumentError);
  EXPECT_THROW(assemble_arrays(plain, good, {4, 9, 12}), ShapeError);
  EXPECT_THROW(assemble_arrays({values.view(), TrajectoryUnit::cycles_per_pixel}, good, {9, 12}),
               FormatError);
  EXPECT_THROW(
      assemble_arrays({values.view(), TrajectoryUnit::cycles_per_fov, PlainTrajectory::Layout::columns_first},
                      good, {9, 12}),
      ShapeError);
  Array<cfloat> broken = good.clone();
  broken[57] = {NAN, 0};
  EXPECT_NE(message_of([&] {
              assemble_arrays(plain, broken, {9, 12});
            }).find("coil 1, sample 17"),
            std::string::npos);
}

TEST(MakeRawScan, SurvivesTheFileAndTheAssembly) {
  const TemporaryFolder folder;
  for (const Shape& matrix : {Shape{31, 20}, Shape{6, 31, 20}}) {
    const auto k = random_trajectory(matrix, 84, 3);
    const Array<cfloat> kspace = random_kspace({3, 84}, 4), noise = random_kspace({3, 50}, 5);
    Geometry geometry;
    geometry.matrix = {{{0, 0, 4, -10}, {2, 0, 0, 20}, {0, 3, 0, 30}}};
    geometry.is_known = true;
    ScanDescription description;
    description.trajectory = k.get();
    description.kspace = kspace;
    description.matrix = matrix;
    description.fov_mm = {24, 93, 40};
    if (matrix.size() == 2) description.fov_mm.erase(description.fov_mm.begin());
    description.slice_thickness_mm = 4;
    description.samples_per_line = 12;
    description.kind = "radial";
    description.sample_time_us = 4;
    description.noise = noise;
    description.noise_sample_time_us = 8;
    description.geometry = geometry;
    const std::string path = folder / (std::to_string(matrix.size()) + ".mrd");
    write_mrd(path, make_raw_scan(description), OutputFile::Existing::refuse);
    const Assembled result = assemble(read_mrd(path));
    ASSERT_EQ(result.measurements.size(), 1u);
    const Measurement& m = result.measurements[0];
    EXPECT_EQ(m.matrix, matrix);
    EXPECT_EQ(m.recon_matrix, matrix);
    EXPECT_TRUE(std::equal(kspace.begin(), kspace.end(), m.kspace.begin()));
    EXPECT_TRUE(std::equal(noise.begin(), noise.end(), result.noise.begin()));
    for (Index i = 0; i < k->view().size(); ++i)
      EXPECT_NEAR(m.trajectory->view()[i], k->view()[i], 31 * 3e-8);  // half a rounding of 0.5 in float
    EXPECT_EQ(result.report.image, 7);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(m.geometry.matrix[r][c], geometry.matrix[r][c], 1e-5);
  }
}

TEST(MakeRawScan, SplitsReadoutsBeyondTheFormat) {
  const Index samples = 2 * 70000;
  const auto k = random_trajectory({64, 64}, samples, 3);
  const Array<cfloat> kspace = random_kspace({2, samples}, 4);
  ScanDescription description;
  description.trajectory = k.get();
  description.kspace = kspace;
  description.matrix = {64, 64};
  description.samples_per_line = 70000;
  const RawScan scan = make_raw_scan(description);
  ASSERT_EQ(scan.acquisitions.size(), 4u);
  EXPECT_EQ(scan.acquisitions[0].samples, 65535);
  EXPECT_EQ(scan.acquisitions[1].segment, 1);
  EXPECT_EQ(scan.acquisitions[2].step_1, 1);
  EXPECT_TRUE(scan.acquisitions[3].has(AcquisitionFlag::last_in_measurement));
  const Assembled result = assemble(scan);
  EXPECT_TRUE(std::equal(kspace.begin(), kspace.end(), result.measurements[0].kspace.begin()));
}

TEST(MakeRawScan, RefusesWhatDoesNotFit) {
  const auto k = random_trajectory({9, 12}, 40, 1);
  const Array<cfloat> kspace = random_kspace({2, 40}, 1), other = random_kspace({2, 41}, 1);
  ScanDescription description;
  EXPECT_THROW(make_raw_scan(description), ArgumentError);
  description.trajectory = k.get();
  description.matrix = {9, 12};
  description.kspace = other;
  EXPECT_THROW(make_raw_scan(description), ShapeError);
  description.kspace = kspace;
  description.samples_per_line = 7;
  EXPECT_THROW(make_raw_scan(description), ArgumentError);
  description.samples_per_line = 8;
  EXPECT_EQ(make_raw_scan(description).acquisitions.size(), 5u);
  description.matrix = {4, 4};
  EXPECT_THROW(make_raw_scan(description), ArgumentError);
}

}  // namespace
}  // namespace spinloom
