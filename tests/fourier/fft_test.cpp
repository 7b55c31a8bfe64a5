#include "spinloom/fft/fft.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>

#include <fstream>
#include <numbers>

#include "fft/cpu/passes.hpp"
#include "fft/fftw_lines.hpp"
#include "operator_suite.hpp"

namespace spinloom {
namespace {

using testing::random_array;
using testing::relative_error;

/// Tests leave the user's own cache alone.
const std::string test_cache = [] {
  const auto folder =
      std::filesystem::temp_directory_path() / ("spinloom-test-cache-" + std::to_string(getuid()));
  setenv("SPINLOOM_CACHE_DIR", folder.c_str(), 1);
  return folder.string();
}();

/// sum_n x[n] exp(sign 2 pi i n.k / N), axis by axis.
Array<cdouble> direct(const Array<cdouble>& x, const Shape& shape, int sign) {
  auto in = x.clone();
  Array<cdouble> out(x.shape());
  Index inner = count(shape);
  for (const Index n : shape) {
    inner /= n;
    for (Index i = 0; i < in.size(); ++i) {
      const Index k = i / inner % n, first = i - k * inner;
      cdouble sum = 0;
      for (Index j = 0; j < n; ++j)
        sum += in[first + j * inner] *
               std::polar(1.0, sign * 2 * std::numbers::pi * double(j * k % n) / double(n));
      out[i] = sum;
    }
    std::swap(in, out);
  }
  return in;
}

template <class Real>
Array<cdouble> wide(const Array<std::complex<Real>>& a) {
  Array<cdouble> w(a.shape());
  std::copy(a.begin(), a.end(), w.begin());
  return w;
}

template <class Real>
void expect_direct(const Shape& shape, double tolerance) {
  SCOPED_TRACE(to_string(shape));
  const Fft<Real> fft(shape);
  const auto x = random_array<Real>(shape, 1);
  auto forward = x.clone(), inverse = x.clone();
  fft.forward(forward.view());
  fft.inverse(inverse.view());
  EXPECT_LT(relative_error(wide(forward), direct(wide(x), shape, -1)), tolerance);
  EXPECT_LT(relative_error(wide(inverse), direct(wide(x), shape, +1)), tolerance);
}

TEST(Fft, MatchesDirectSumAtAnyLength) {
  for (const Shape& shape :
       {Shape{1}, Shape{2}, Shape{97}, Shape{5, 1, 7}, Shape{16, 9}, Shape{3, 11, 10}, Shape{2, 3, 4, 5}}) {
    expect_direct<float>(shape, 1e-6);  // a few roundings
    expect_direct<double>(shape, 1e-14);
  }
}

TEST(Fft, GivesTheSameBitsForAnyThreadCount) {
  const Fft<float> fft({30, 31, 33});
  const auto x = random_array<float>({30, 31, 33}, 1);
  const int before = thread_count();
  set_thread_count(1);
  auto one = x.clone(), three = x.clone();
  fft.forward(one.view());
  set_thread_count(3);
  fft.forward(three.view());
  set_thread_count(before);
  EXPECT_TRUE(testing::same_bits(one, three));
}

TEST(Fft, RefusesEmptyAndOtherShapes) {
  EXPECT_THROW(Fft<float>(Shape{}), ArgumentError);
  EXPECT_THROW(Fft<float>(Shape{3, 0}), ArgumentError);
  Array<cfloat> x({4});
  EXPECT_THROW(Fft<float>(Shape{5}).forward(x.view()), ShapeError);
}

TEST(Fft, TakesAnUnusableCacheAsAMiss) {
  const auto folder = std::filesystem::temp_directory_path() / ("spinloom-fft-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "fftw-double.wisdom") << "(fftw-3 nonsense";
  setenv("SPINLOOM_CACHE_DIR", folder.c_str(), 1);
  expect_direct<double>({53}, 1e-14);
  EXPECT_GT(std::filesystem::file_size(folder / "fftw-double.wisdom"), 20u);  // replaced by what was measured
  setenv("SPINLOOM_CACHE_DIR", "/dev/null/nowhere", 1);
  expect_direct<double>({59}, 1e-14);
  setenv("SPINLOOM_CACHE_DIR", test_cache.c_str(), 1);
  std::filesystem::remove_all(folder);
}

template <class Real>
double lane_error(Index n, bool inverse) {
  const cpu::LanePlan<Real> plan(n);
  constexpr Index width = cpu::lanes<Real>;
  Array<Real> blocks({n * cpu::block_reals<Real>}), scratch({2 * n * cpu::block_reals<Real>});
  const auto x = random_array<Real>({width, n}, 3);
  Array<cdouble> expected({width, n}), got({width, n});
  for (Index l = 0; l < width; ++l) {
    Array<cdouble> line({n});
    for (Index i = 0; i < n; ++i) {
      line[i] = cdouble(x[l * n + i]);
      blocks[2 * width * i + l] = x[l * n + i].real();
      blocks[2 * width * i + width + l] = x[l * n + i].imag();
    }
    const auto y = direct(line, {n}, inverse ? 1 : -1);
    std::copy(y.begin(), y.end(), expected.begin() + l * n);
  }
  cpu::lane_kernels<Real>().transform(plan, inverse, blocks.data(), scratch.data());
  for (Index l = 0; l < width; ++l)
    for (Index i = 0; i < n; ++i)
      got[l * n + i] = {blocks[2 * width * i + l], blocks[2 * width * i + width + l]};
  return relative_error(got, expected);
}

TEST(LaneFft, MatchesDirectSumAtEverySmoothLength) {
  for (Index n = 1; n <= 270; n = cpu::next_smooth(n + 1))
    for (const bool inverse : {false, true}) {
      EXPECT_LT(lane_error<float>(n, inverse), 5e-7) << n;
      EXPECT_LT(lane_error<double>(n, inverse), 1e-15) << n;
    }
}

TEST(LaneFft, RefusesOtherFactors) {
  EXPECT_THROW(cpu::LanePlan<float>(14), ArgumentError);
  EXPECT_EQ(cpu::next_smooth(0), 1);
  EXPECT_EQ(cpu::next_smooth(7), 8);
  EXPECT_EQ(cpu::next_smooth(257), 270);
}

}  // namespace
}  // namespace spinloom
