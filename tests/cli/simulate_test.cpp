#include <fstream>

#include "command_test.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/io/cfl.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/mri/coils.hpp"
#include "spinloom/recon/assemble.hpp"

namespace spinloom {
namespace {

class Simulate : public testing::CommandTest {
 protected:
  Simulate() : CommandTest("simulate") {}
};

TEST_F(Simulate, WritesAScanWhoseDataFitsItsTrajectoryToTheLastDigit) {
  const auto done =
      run("--phantom shepp-logan --trajectory radial2d --matrix 15,18 --coils 3 --spokes 7 -o s.mrd --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["samples"], 7 * 36);
  EXPECT_EQ(json["files"].size(), 3U);
  const auto scan = assemble(read_mrd(path("s.mrd")));
  ASSERT_EQ(scan.measurements.size(), 1U);
  const Measurement& m = scan.measurements[0];
  const Image maps = load_image(path("s_maps.npy")), truth = load_image(path("s_truth.nii.gz"));
  const auto sums = fit_coils(coil_rings(2, {.coils = 3}), m.matrix);
  const auto expected = phantom_kspace(shepp_logan(2), sums, *m.trajectory, m.matrix);
  const auto got = Tensor::copy_of(m.kspace).to<cdouble>();
  EXPECT_LT(testing::relative_error(got, expected), 1e-7);  // rounded to float once
  EXPECT_LT(testing::relative_error(maps.data.to<cdouble>(), coil_maps(sums, m.matrix)), 1e-7);
  EXPECT_EQ(truth.data.shape, (Shape{1, 15, 18}));
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      EXPECT_NEAR(truth.geometry.matrix[row][column], m.geometry.matrix[row][column], 1e-4) << row << column;
}

TEST_F(Simulate, AddsANoiseScanWithTheNoise) {
  ASSERT_EQ(
      run("--phantom shepp-logan --trajectory cartesian --matrix 8,8 --coils 2 --noise 0.5 -o s.h5").code, 0);
  const auto scan = assemble(read_mrd(path("s.h5")));
  ASSERT_EQ(scan.noise.shape(), (Shape{2, 4096}));
  EXPECT_NEAR(norm<cfloat>(scan.noise) / std::sqrt(8192.0), 0.5, 0.02);
  EXPECT_EQ(scan.report.noise, 1);
}

TEST_F(Simulate, WritesBartFiles) {
  ASSERT_EQ(run("--phantom shepp-logan --trajectory stack-of-stars --matrix 3,8,9 --coils 2 -o s.cfl").code,
            0);
  const auto k = read_cfl_trajectory(path("s_traj"));
  const auto y = read_cfl_kspace(path("s"));
  EXPECT_EQ(k.shape()[1], y.shape()[1]);
  EXPECT_EQ(k.shape()[2], y.shape()[2]);
  EXPECT_EQ(read_cfl_image(path("s_maps")).shape, (Shape{2, 3, 8, 9}));
  const auto expected =
      phantom_kspace(shepp_logan(3), fit_coils(coil_rings(3, {.coils = 2}), {3, 8, 9}),
                     Trajectory(Array<double>::copy_of(k.view().reshaped({3, k.size() / 3}))), {3, 8, 9});
  const auto got = Tensor::copy_of(y).to<cdouble>();
  EXPECT_LT(
      distance<cdouble>(got.view().reshaped(expected.shape()), expected.view()) / norm<cdouble>(expected),
      1e-7);
}

TEST_F(Simulate, ScansAnImageAsItIs) {
  const auto voxels = testing::random_array<float>({1, 6, 7}, 3);
  Image image;
  image.data = Tensor::copy_of(voxels);
  save_image(path("x.npy"), image, OutputFile::Existing::refuse);
  ASSERT_EQ(run("--phantom x.npy --trajectory spiral2d --coils 1 -o s.npy").code, 0);
  const auto columns = load_image(path("s_traj.npy")).data.to<double>();
  Array<double> k({2, columns.shape()[0]});
  for (Index m = 0; m < k.shape()[1]; ++m)
    for (Index d = 0; d < 2; ++d) k[d * k.shape()[1] + m] = columns[2 * m + d];
  const auto dft = make_dft<double>(std::make_shared<Trajectory>(std::move(k)), {6, 7});
  const auto expected = testing::forward_of(*dft, Tensor::copy_of(voxels).to<cdouble>());
  EXPECT_LT(testing::relative_error(load_image(path("s_ksp.npy")).data.to<cdouble>(), expected), 1e-7);
}

TEST_F(Simulate, RefusesWrongUsageWithCode2) {
  const std::string good = "--phantom shepp-logan --trajectory radial2d --matrix 8,8 ";
  for (const std::string& bad :
       {good + "-o s.txt", good + "--cones 3 -o s.mrd", good + "--tiny 3 -o s.mrd",
        good + "--noise -1 -o s.mrd", good + "--noise 1 --snr-db 3 -o s.mrd", good + "--noise nan -o s.mrd",
        good + "--coils 0 -o s.mrd", good + "--spokes -3 -o s.cfl", good + "--fov-mm 1,2,3 -o s.mrd",
        std::string("--phantom shepp-logan --trajectory radial2d --matrix 8,8,8 -o s.mrd"),
        std::string("--phantom shepp-logan --trajectory radial2d -o s.mrd"),
        std::string("--phantom shepp-logan --trajectory star --matrix 8,8 -o s.mrd")}) {
    const auto done = run(bad);
    EXPECT_EQ(done.code, 2) << bad << ": " << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    EXPECT_EQ(folder_.count(), 0U) << bad;
  }
}

TEST_F(Simulate, LeavesNothingBehindWhenItFails) {
  std::ofstream(path("bad.json")) << "{\"ellipsoids\": 3}";
  for (const char* bad : {"--phantom bad.json --trajectory radial2d --matrix 8,8 -o s.mrd",
                          "--phantom missing.nii --trajectory radial2d --matrix 8,8 -o s.mrd",
                          "--phantom shepp-logan --trajectory radial2d --matrix 8,8 --noise 1e39 -o s.cfl",
                          "--phantom shepp-logan --trajectory radial2d --matrix 8,8 -o nowhere/s.mrd"}) {
    const auto done = run(std::string(bad) + " --quiet");
    EXPECT_EQ(done.code, 1) << bad << ": " << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    EXPECT_EQ(folder_.count(), 1U) << bad;
  }
}

TEST_F(Simulate, ReplacesNothingWithoutForce) {
  std::ofstream(path("s_truth.nii.gz")) << "precious";
  const std::string arguments = "--phantom shepp-logan --trajectory radial2d --matrix 8,8 -o s.mrd";
  EXPECT_EQ(run(arguments).code, 1);
  EXPECT_EQ(folder_.count(), 1U);
  EXPECT_EQ(testing::read_bytes(path("s_truth.nii.gz")), "precious");
  EXPECT_EQ(run(arguments + " --force").code, 0);
  EXPECT_EQ(folder_.count(), 3U);
}

}  // namespace
}  // namespace spinloom
