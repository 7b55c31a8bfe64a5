#include <cmath>
#include <numbers>

#include "command_test.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace {

using spinloom::Array;
using spinloom::Index;
using spinloom::Shape;

class PoissonCommand : public spinloom::testing::CommandTest {
 protected:
  PoissonCommand() : CommandTest("poisson") {}

  template <class T>
  void write(const std::string& name, const Array<T>& values) const {
    spinloom::Image image;
    image.data = spinloom::Tensor::copy_of(values);
    save_image(path(name), image, spinloom::OutputFile::Existing::replace);
  }
  Array<double> read(const std::string& name) const {
    return spinloom::load_image(path(name)).data.to<double>();
  }
};

const Shape grid = {9, 12, 20};

/// cos(pi (i + 1/2) k / n) along each axis has no slope at the faces, and A makes of it itself times
/// sum 4 sin^2(pi k / (2 n)) / h^2 + s: the eigenvalue is exact.
Array<double> wave() {
  Array<double> u(grid);
  for (Index i = 0; i < u.size(); ++i) {
    const double at[] = {double(i / 240), double(i / 20 % 12), double(i % 20)};
    double v = 1;
    for (int a = 0; a < 3; ++a)
      v *= std::cos(std::numbers::pi * (at[a] + 0.5) * (a + 1) / double(grid[std::size_t(a)]));
    u[i] = v;
  }
  return u;
}
double eigenvalue(const double (&h)[3], double s) {
  double sum = s;
  for (int a = 0; a < 3; ++a)
    sum += std::pow(2 / h[a] * std::sin(std::numbers::pi * (a + 1) / (2 * double(grid[std::size_t(a)]))), 2);
  return sum;
}

TEST_F(PoissonCommand, InvertsTheOperatorOnItsEigenvectors) {
  const Array<double> u = wave();
  Array<double> f(grid);
  const double lambda = eigenvalue({1, 2, 0.5}, 0.3);
  for (Index i = 0; i < f.size(); ++i) f[i] = lambda * u[i];
  write("f.npy", f);
  const auto json = json_of("f.npy -o u.npy --spacing 1,2,0.5 --screening 0.3 --tolerance 1e-11");
  EXPECT_TRUE(json["converged"].get<bool>());
  EXPECT_LE(json["residual"].get<double>(), 1e-11);
  EXPECT_EQ(json["history"].size(), json["cycles"].get<std::size_t>() + 1);
  EXPECT_EQ(json["dtype"], "float64");
  const Array<double> got = read("u.npy");
  ASSERT_EQ(got.shape(), grid);
  // The condition number is some hundreds.
  for (Index i = 0; i < u.size(); ++i) ASSERT_NEAR(got[i], u[i], 1e-8) << i;
  // From the answer nothing is left to do.
  EXPECT_EQ(
      json_of("f.npy -o v.npy --spacing 1,2,0.5 --screening 0.3 --tolerance 1e-10 --start u.npy")["cycles"],
      0);
}

TEST_F(PoissonCommand, KeepsMasksFacesAndTypes) {
  Array<float> f({1, 30, 40});
  Array<std::uint8_t> mask({30, 40});
  for (Index i = 0; i < f.size(); ++i) {
    f[i] = std::sin(float(i) * 0.37f);
    mask[i] = i % 40 > 4 && i / 40 < 25;
  }
  write("f.nii", f), write("mask.npy", mask);
  const auto json =
      json_of("f.nii -o u.nii --mask mask.npy --boundary 'neumann 0' 'neumann 0 | dirichlet 2'");
  EXPECT_EQ(json["size"], nlohmann::json({30, 40}));
  EXPECT_EQ(json["dtype"], "float32");
  const Array<double> u = read("u.nii");
  EXPECT_EQ(u.shape(), f.shape());
  double right = 0;
  for (Index i = 0; i < u.size(); ++i) {
    if (mask[i] == 0) {
      EXPECT_EQ(u[i], 0) << i;
    }
    if (mask[i] != 0 && i % 40 == 39) right += u[i] / 25;
  }
  EXPECT_NEAR(right, 2, 0.5);  // half a cell from a face where u is 2
  // A right side that no u can meet is named.
  EXPECT_GT(json_of("f.nii -o w.nii")["removed"].get<double>(), 0);
}

TEST_F(PoissonCommand, SaysWhenItDidNotConverge) {
  write("f.npy", wave());
  const auto done = run("f.npy -o u.npy --cycles 1 --tolerance 1e-12 --quiet");
  EXPECT_EQ(done.code, 0);
  EXPECT_NE(done.err.find("after 1 cycles"), std::string::npos) << done.err;
  EXPECT_EQ(read("u.npy").shape(), grid);
}

TEST_F(PoissonCommand, RefusesWhatIsNoProblem) {
  write("f.npy", wave());
  write("line.npy", Array<double>({7}));
  write("mask.npy", Array<std::uint8_t>({9, 12, 21}));
  write("complex.npy", Array<spinloom::cfloat>({4, 4}));
  Array<float> holes(grid);
  for (Index i = 0; i < holes.size(); ++i) holes[i] = i == 5 ? std::nanf("") : 1;
  write("holes.npy", holes);
  expect_failure("", 2, "RHS");
  expect_failure("none.npy -o u.npy", 1, "none.npy");
  expect_failure("line.npy -o u.npy", 1, "2 or 3 axes");
  expect_failure("complex.npy -o u.npy", 1, "real numbers");
  expect_failure("f.npy -o u.png", 2, ".npy");
  expect_failure("f.npy -o f.npy", 1, "--force");
  expect_failure("f.npy -o u.npy --mask mask.npy", 1, "mask.npy: has shape");
  expect_failure("f.npy -o u.npy --mask holes.npy", 1, "not numbers");
  expect_failure("f.npy -o u.npy --screening -1", 2, "--screening");
  expect_failure("f.npy -o u.npy --tolerance 2", 2, "--tolerance");
  expect_failure("f.npy -o u.npy --boundary wall", 2, "wall");
  expect_failure("f.npy -o u.npy --boundary clamp", 2, "clamp");
  expect_failure("f.npy -o u.npy --boundary 'periodic | neumann 0'", 2, "periodic");
  expect_failure("f.npy -o u.npy --boundary periodic periodic periodic periodic", 2, "--boundary");
  expect_failure("f.npy -o u.npy --boundary 'neumann 0' periodic", 1, "--boundary: 2 values");
  expect_failure("f.npy -o u.npy --spacing 1,2,3,4", 2, "--spacing");
  expect_failure("f.npy -o u.npy --spacing 1,0,1", 2, "--spacing");
  expect_failure("f.npy -o u.npy --method magic", 2, "magic");
  if (!spinloom::cuda_status().is_usable()) expect_failure("f.npy -o u.npy --device cuda", 1, "cuda");
}

TEST_F(PoissonCommand, AGpuHasTheSameBits) {
  if (const std::string why = spinloom::cuda_status().problem; !why.empty()) GTEST_SKIP() << why;
  write("f.npy", wave());
  json_of("f.npy -o a.npy --device cpu"), json_of("f.npy -o b.npy --device cuda");
  EXPECT_EQ(spinloom::testing::read_bytes(path("a.npy")), spinloom::testing::read_bytes(path("b.npy")));
}

}  // namespace
