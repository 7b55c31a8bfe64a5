#include "command_test.hpp"
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/io/cfl.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom {
namespace {

constexpr auto replace = OutputFile::Existing::replace;
constexpr Index samples = 40;
const Shape matrix{9, 12};

class NufftCommand : public testing::CommandTest {
 protected:
  NufftCommand()
      : CommandTest("nufft"),
        k_(testing::random_trajectory(matrix, samples, 3)),
        dft_(make_dft<double>(k_, matrix, 2)) {
    write_trajectory("traj.npy", 1, 1);
    write_npy(path("image.npy"), Tensor::copy_of(image_), replace);
    write_npy(path("kspace.npy"), Tensor::copy_of(kspace_), replace);
  }

  /// [samples, 2] as (ky, kx), each times a factor.
  void write_trajectory(const std::string& name, double y, double x) const {
    Array<double> columns({samples, 2});
    for (Index m = 0; m < samples; ++m) {
      columns[2 * m] = k_->axis(0)[m] * y;
      columns[2 * m + 1] = k_->axis(1)[m] * x;
    }
    write_npy(path(name), Tensor::copy_of(columns), replace);
  }

  double error(const std::string& name, const Array<cdouble>& expected) const {
    const auto got = read_npy(path(name)).to<cdouble>();
    EXPECT_EQ(got.shape(), expected.shape());
    return testing::relative_error(got, expected);
  }

  std::shared_ptr<const Trajectory> k_;
  OperatorPtr<double> dft_;
  Array<cdouble> image_ = testing::random_array<double>({2, 9, 12}, 1);
  Array<cdouble> kspace_ = testing::random_array<double>({2, samples}, 2);
};

TEST_F(NufftCommand, TransformsBothWaysWithinItsTolerance) {
  const auto forward =
      run("forward --traj traj.npy --in image.npy -o y.npy --matrix 9,12 --double --tolerance 1e-9 --json");
  ASSERT_EQ(forward.code, 0) << forward.err;
  EXPECT_LT(error("y.npy", testing::forward_of(*dft_, image_)), 1e-9);
  const auto json = nlohmann::json::parse(forward.out);
  EXPECT_EQ(json["samples"], samples);
  EXPECT_EQ(json["coils"], 2);
  ASSERT_EQ(run("adjoint --traj traj.npy --in kspace.npy -o x.npy --matrix 9,12").code, 0);
  EXPECT_LT(error("x.npy", testing::adjoint_of(*dft_, kspace_)), 1e-4);
  ASSERT_EQ(run("adjoint --traj traj.npy --in kspace.npy -o exact.npy --matrix 9,12 --exact --double").code,
            0);
  EXPECT_LT(error("exact.npy", testing::adjoint_of(*dft_, kspace_)), 1e-12);
}

TEST_F(NufftCommand, RunsOnAGpuOrSaysWhyNot) {
  const auto forward = run("forward --traj traj.npy --in image.npy -o y.npy --matrix 9,12 --device cuda");
  if (const auto status = cuda_status(); !status.is_usable()) {
    EXPECT_EQ(forward.code, 1);
    EXPECT_NE(forward.err.find(status.problem), std::string::npos) << forward.err;
    return;
  }
  ASSERT_EQ(forward.code, 0) << forward.err;
  EXPECT_LT(error("y.npy", testing::forward_of(*dft_, image_)), 1e-4);
  ASSERT_EQ(run("adjoint --traj traj.npy --in kspace.npy -o x.npy --matrix 9,12 --device cuda").code, 0);
  EXPECT_LT(error("x.npy", testing::adjoint_of(*dft_, kspace_)), 1e-4);
}

TEST_F(NufftCommand, TakesThreeUnitsAndGuessesNone) {
  constexpr double pi = 3.14159265358979323846;
  write_trajectory("pixel.npy", 1 / 9.0, 1 / 12.0);
  write_trajectory("radians.npy", 2 * pi / 9, 2 * pi / 12);
  const auto expected = testing::adjoint_of(*dft_, kspace_);
  const std::string rest = " --in kspace.npy --matrix 9,12 --double --tolerance 1e-8 -o ";
  ASSERT_EQ(run("adjoint --traj pixel.npy --traj-units cycles-per-pixel" + rest + "a.npy").code, 0);
  ASSERT_EQ(run("adjoint --traj radians.npy --traj-units radians" + rest + "b.npy").code, 0);
  EXPECT_LT(error("a.npy", expected), 1e-8);
  EXPECT_LT(error("b.npy", expected), 1e-8);
  const auto refused = run("adjoint --traj traj.npy --traj-units cycles-per-pixel" + rest + "c.npy");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("traj.npy"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("cycles-per-fov"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path("c.npy")));
}

TEST_F(NufftCommand, TransformsItsGridThroughFftwWhenAsked) {
  const auto o =
      run("adjoint --traj traj.npy --in kspace.npy -o x.npy --matrix 9,12 --double --tolerance 1e-8 --fft "
          "fftw --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(nlohmann::json::parse(o.out)["fft"], "fftw");
  EXPECT_LT(error("x.npy", testing::adjoint_of(*dft_, kspace_)), 1e-8);
}

TEST_F(NufftCommand, ReadsAndWritesCfl) {
  // (3, samples, spokes) as kx, ky, kz; k-space (1, samples, spokes, coils).
  Array<cfloat> columns({4, 10, 3});
  for (Index m = 0; m < samples; ++m) {
    columns[3 * m] = cfloat(float(k_->axis(1)[m]));
    columns[3 * m + 1] = cfloat(float(k_->axis(0)[m]));
    columns[3 * m + 2] = 0;
  }
  write_cfl(path("traj.cfl"), Tensor::copy_of(columns), replace);
  Tensor kspace = Tensor::copy_of(kspace_);
  kspace.reshape({2, 4, 10, 1});
  write_cfl(path("kspace.cfl"), kspace, replace);
  ASSERT_EQ(run("adjoint --traj traj --in kspace -o x.cfl --matrix 9,12 --tolerance 1e-6").code, 0);
  const auto x = read_cfl_image(path("x.cfl")).to<cdouble>();
  EXPECT_EQ(x.shape(), (Shape{2, 1, 9, 12}));
  const auto expected = testing::adjoint_of(*dft_, kspace_);
  EXPECT_LT(distance<cdouble>(x.view().reshaped(expected.shape()), expected.view()) / norm<cdouble>(expected),
            2e-6);
  ASSERT_EQ(run("forward --traj traj.cfl --in x.cfl -o y.cfl --matrix 9,12").code, 0);
  EXPECT_EQ(read_cfl_kspace(path("y.cfl")).shape(), (Shape{2, 4, 10}));

  // Readouts where spokes should be: as many values, and another image.
  kspace.reshape({2, 10, 4, 1});
  write_cfl(path("swapped.cfl"), kspace, replace);
  const auto swapped = run("adjoint --traj traj --in swapped -o x2.cfl --matrix 9,12");
  EXPECT_EQ(swapped.code, 1);
  EXPECT_NE(swapped.err.find("[2, 10, 4]"), std::string::npos) << swapped.err;
}

TEST_F(NufftCommand, TakesRealImagesOneDimensionAndNoSamples) {
  Array<float> real({9, 12});
  for (Index i = 0; i < real.size(); ++i) real[i] = float(i % 7);
  Array<cdouble> wide({1, 9, 12});
  std::copy(real.begin(), real.end(), wide.begin());
  write_npy(path("real.npy"), Tensor::copy_of(real), replace);
  ASSERT_EQ(run("forward --traj traj.npy --in real.npy -o y.npy --matrix 9,12").code, 0);
  const auto y = read_npy(path("y.npy")).to<cdouble>();
  EXPECT_EQ(y.shape(), Shape{samples});
  const auto expected = testing::forward_of(*make_dft<double>(k_, matrix), wide);
  EXPECT_LT(distance<cdouble>(y.view().reshaped(expected.shape()), expected.view()) / norm<cdouble>(expected),
            1e-4);

  write_npy(path("k1.npy"), Tensor::copy_of(Array<double>::full({3, 1}, 2.0)), replace);
  write_npy(path("ones.npy"), Tensor::copy_of(Array<cfloat>::full({3}, 1.0f)), replace);
  ASSERT_EQ(run("adjoint --traj k1.npy --in ones.npy -o x1.npy --matrix 8").code, 0);
  EXPECT_EQ(read_npy(path("x1.npy")).shape, Shape{8});

  write_npy(path("k0.npy"), Tensor::copy_of(Array<double>({0, 2})), replace);
  write_npy(path("none.npy"), Tensor::copy_of(Array<cfloat>({0})), replace);
  ASSERT_EQ(run("adjoint --traj k0.npy --in none.npy -o x0.npy --matrix 9,12").code, 0);
  for (const cdouble v : read_npy(path("x0.npy")).to<cdouble>()) EXPECT_EQ(v, cdouble(0));
}

TEST_F(NufftCommand, RefusesInWordsAndLeavesNoFile) {
  const std::string good = "adjoint --traj traj.npy --in kspace.npy --matrix 9,12 ";
  EXPECT_EQ(run(good).code, 2);                                        // no output
  EXPECT_EQ(run(good + "-o x.png").code, 2);                           // unknown ending
  EXPECT_EQ(run(good + "-o x.npy --exact --tolerance 1e-3").code, 2);  // says two things
  EXPECT_EQ(run(good + "-o x.npy --exact --fft fftw").code, 2);
  EXPECT_EQ(run("adjoint --traj traj.npy --in kspace.npy -o x.npy --matrix 9,0").code, 2);
  EXPECT_EQ(run(good + "-o x.npy --tolerance 0").code, 2);
  EXPECT_EQ(run(good + "-o x.npy --tolerance nan").code, 2);
  EXPECT_EQ(run(good + "-o x.npy --oversampling 1").code, 2);
  const auto shape = run("forward --traj traj.npy --in kspace.npy -o x.npy --matrix 9,12");
  EXPECT_EQ(shape.code, 1);
  EXPECT_NE(shape.err.find("[2, 40]"), std::string::npos) << shape.err;
  EXPECT_NE(shape.err.find("[9, 12]"), std::string::npos) << shape.err;
  auto bad = kspace_.clone();
  bad[samples + 3] = NAN;
  write_npy(path("bad.npy"), Tensor::copy_of(bad), replace);
  const auto nan = run("adjoint --traj traj.npy --in bad.npy -o x.npy --matrix 9,12");
  EXPECT_EQ(nan.code, 1);
  EXPECT_NE(nan.err.find("[1, 3]"), std::string::npos) << nan.err;
  EXPECT_FALSE(std::filesystem::exists(path("x.npy")));
  ASSERT_EQ(run(good + "-o x.npy").code, 0);
  EXPECT_EQ(run(good + "-o x.npy").code, 1);  // exists
  EXPECT_EQ(run(good + "-o x.npy --force").code, 0);
}

}  // namespace
}  // namespace spinloom
