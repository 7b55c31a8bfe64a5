#include "spinloom/mri/trajectories.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <set>

#include "spinloom/core/error.hpp"
#include "spinloom/mri/ellipsoids.hpp"

namespace spinloom {
namespace {

constexpr double pi = std::numbers::pi;

struct Maker {
  const char* name;
  int dims;  ///< 0: both
  std::function<Readouts(const Shape&)> make;
};

const std::vector<Maker>& makers() {
  static const std::vector<Maker> list = {
      {"radial2d", 2, [](const Shape& n) { return radial2d(n); }},
      {"radial2d golden exact", 2,
       [](const Shape& n) {
         return radial2d(
             n, {.spokes = 7, .readout = 9, .order = SpokeOrder::golden, .centre = CentreSample::exact});
       }},
      {"radial2d half", 2, [](const Shape& n) { return radial2d(n, {.span = SpokeSpan::half}); }},
      {"spiral2d", 2, [](const Shape& n) { return spiral2d(n); }},
      {"spiral2d dense", 2, [](const Shape& n) { return spiral2d(n, {.interleaves = 3, .alpha = 2.5}); }},
      {"radial3d", 3, [](const Shape& n) { return radial3d(n); }},
      {"radial3d golden half", 3,
       [](const Shape& n) { return radial3d(n, {.order = SpokeOrder::golden, .span = SpokeSpan::half}); }},
      {"stack of stars", 3, [](const Shape& n) { return stack_of_stars(n, {}, PartitionRotation::golden); }},
      {"stack of spirals", 3,
       [](const Shape& n) { return stack_of_spirals(n, {}, PartitionRotation::golden); }},
      {"cones", 3, [](const Shape& n) { return cones(n); }},
      {"cartesian", 0, [](const Shape& n) { return cartesian(n, {.readout = 2 * n.back()}); }},
      {"random", 0, [](const Shape& n) { return random_samples(n); }},
      {"random dense", 0, [](const Shape& n) { return random_samples(n, {.power = 1.5}); }},
  };
  return list;
}

void for_each_case(const std::function<void(const Maker&, const Shape&)>& check) {
  const Shape planes[] = {{16, 16}, {9, 9}, {12, 31}, {1, 1}, {17, 1}};
  const Shape volumes[] = {{8, 8, 8}, {7, 9, 5}, {4, 12, 17}, {1, 1, 1}, {1, 16, 3}};
  for (const Maker& maker : makers()) {
    SCOPED_TRACE(maker.name);
    if (maker.dims != 3)
      for (const Shape& n : planes) check(maker, n);
    if (maker.dims != 2)
      for (const Shape& n : volumes) check(maker, n);
  }
}

const double* sample(const Trajectory& k, Index m, double* at) {
  for (int d = 0; d < k.dims(); ++d) at[d] = k.axis(d)[m];
  return at;
}

TEST(Trajectories, StayWithinHalfTheMatrixAndTheSupport) {
  for_each_case([](const Maker& maker, const Shape& n) {
    const Readouts r = maker.make(n);
    SCOPED_TRACE(to_string(n));
    for (int d = 0; d < r.trajectory->dims(); ++d)
      for (const double k : r.trajectory->axis(d))
        ASSERT_LE(std::abs(k), 0.5 * double(n[static_cast<std::size_t>(d)]));
    double at[3];
    for (Index m = 0; m < r.trajectory->samples(); ++m)
      ASSERT_TRUE(inside(r.support, n, sample(*r.trajectory, m, at))) << m;
  });
}

TEST(Trajectories, CountTheirSamples) {
  for_each_case([](const Maker& maker, const Shape& n) {
    const Readouts r = maker.make(n);
    EXPECT_GT(r.readouts, 0);
    EXPECT_EQ(r.trajectory->samples(), r.readouts * r.samples_per_readout);
    EXPECT_EQ(r.readouts % r.partitions, 0);
  });
}

TEST(Trajectories, RepeatTheirBits) {
  for_each_case([](const Maker& maker, const Shape& n) {
    const Readouts a = maker.make(n), b = maker.make(n);
    EXPECT_EQ(std::memcmp(a.trajectory->view().data, b.trajectory->view().data,
                          sizeof(double) * static_cast<std::size_t>(a.trajectory->view().size())),
              0);
  });
}

TEST(Trajectories, ReachTheEdgeOfEveryAxis) {
  // The last sample may lie one readout step short of the rim, and no spoke need point along an axis.
  const Shape n{12, 20, 28};
  for (const Readouts& r : {radial3d(n), cones(n), stack_of_stars(n), cartesian(n)})
    for (int d = 0; d < 3; ++d)
      EXPECT_GT(extent(*r.trajectory)[static_cast<std::size_t>(d)],
                0.45 * double(n[static_cast<std::size_t>(d)]) - 1)
          << d;
}

TEST(Trajectories, RefuseWhatTheyCannotHonour) {
  EXPECT_THROW(radial2d({8, 8, 8}), ArgumentError);
  EXPECT_THROW(radial3d({8, 8}), ArgumentError);
  EXPECT_THROW(radial2d({0, 8}), ArgumentError);
  EXPECT_THROW(radial2d({8, 8}, {.spokes = -1}), ArgumentError);
  EXPECT_THROW(radial2d({8, 8}, {.tiny = 0}), ArgumentError);
  EXPECT_THROW(radial3d({8, 8, 8}, {.tiny = 2}), ArgumentError);
  EXPECT_THROW(radial2d({8, 8}, {.spokes = Index{1} << 40, .readout = Index{1} << 40}), ArgumentError);
  EXPECT_THROW(spiral2d({8, 8}, {.alpha = 0.5}), ArgumentError);
  EXPECT_THROW(spiral2d({8, 8}, {.alpha = NAN}), ArgumentError);
  EXPECT_THROW(spiral2d({8, 8}, {.oversampling = 0}), ArgumentError);
  EXPECT_THROW(cartesian({8, 8}, {.acceleration_z = 2}), ArgumentError);
  EXPECT_THROW(cartesian({8, 8}, {.acceleration_y = 0}), ArgumentError);
  EXPECT_THROW(random_samples({8, 8}, {.power = 2}), ArgumentError);
  EXPECT_THROW(random_samples({8}), ArgumentError);
}

TEST(Radial2d, SamplesTheCentreOncePerSpokeWhenAsked) {
  for (const SpokeSpan span : {SpokeSpan::diameter, SpokeSpan::half})
    for (const Index readout : {1, 2, 64, 65}) {
      const Readouts r =
          radial2d({32, 31}, {.spokes = 33, .readout = readout, .span = span, .centre = CentreSample::exact});
      Index centres = 0;
      for (Index m = 0; m < r.trajectory->samples(); ++m)
        centres += r.trajectory->axis(0)[m] == 0 && r.trajectory->axis(1)[m] == 0;
      EXPECT_EQ(centres, 33) << readout;
    }
}

TEST(Radial2d, IsSymmetricWithoutACentreSample) {
  const Readouts r = radial2d({16, 16}, {.spokes = 5, .readout = 12});
  for (Index s = 0; s < 5; ++s)
    for (Index i = 0; i < 12; ++i)
      for (int d = 0; d < 2; ++d)
        EXPECT_NEAR(r.trajectory->axis(d)[s * 12 + i], -r.trajectory->axis(d)[s * 12 + 11 - i], 1e-14);
}

TEST(Radial2d, TurnsByTheAnglesNamed) {
  const auto angle_of = [](const Readouts& r, Index s) {
    const Index last = (s + 1) * r.samples_per_readout - 1;
    return std::atan2(r.trajectory->axis(0)[last], r.trajectory->axis(1)[last]);
  };
  const auto turned = [](double a, double b, double turn) { return std::remainder(b - a, turn); };
  const Readouts even = radial2d({16, 16}, {.spokes = 6});
  const Readouts golden = radial2d({16, 16}, {.spokes = 6, .order = SpokeOrder::golden});
  const Readouts tiny = radial2d({16, 16}, {.spokes = 6, .order = SpokeOrder::golden, .tiny = 7});
  for (Index s = 0; s + 1 < 6; ++s) {
    EXPECT_NEAR(turned(angle_of(even, s), angle_of(even, s + 1), 2 * pi), pi / 6, 1e-12);
    EXPECT_NEAR(
        std::remainder(turned(angle_of(golden, s), angle_of(golden, s + 1), 2 * pi) - 111.2461 * pi / 180,
                       2 * pi),
        0, 1e-6);
    EXPECT_NEAR(turned(angle_of(tiny, s), angle_of(tiny, s + 1), 2 * pi), 23.6281 * pi / 180, 1e-6);
  }
}

TEST(Radial3d, SpreadsItsSpokesEvenly) {
  // The sum of u u^T over evenly spread directions is S / 3 times the identity; of u itself, for half spokes,
  // near 0.
  for (const SpokeOrder order : {SpokeOrder::uniform, SpokeOrder::golden})
    for (const SpokeSpan span : {SpokeSpan::diameter, SpokeSpan::half}) {
      const Readouts r = radial3d({8, 8, 8}, {.spokes = 500, .readout = 2, .order = order, .span = span});
      double tensor[3][3] = {}, mean[3] = {};
      for (Index s = 0; s < 500; ++s) {
        double u[3] = {};
        sample(*r.trajectory, 2 * s + 1, u);
        const double length = std::hypot(u[0], u[1], u[2]);
        for (int i = 0; i < 3; ++i) {
          mean[i] += u[i] / length / 500;
          for (int j = 0; j < 3; ++j) tensor[i][j] += u[i] * u[j] / (length * length) / 500;
        }
      }
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) EXPECT_NEAR(tensor[i][j], i == j ? 1.0 / 3 : 0.0, 0.01);
        if (span == SpokeSpan::half) {
          EXPECT_NEAR(mean[i], 0, 0.02);
        }
      }
    }
}

TEST(Spiral2d, MovesAtConstantSpeedWithinNyquist) {
  const Readouts r = spiral2d({64, 64}, {.interleaves = 4});
  for (Index i = 1; i < r.samples_per_readout; ++i) {
    const double step = std::hypot(r.trajectory->axis(0)[i] - r.trajectory->axis(0)[i - 1],
                                   r.trajectory->axis(1)[i] - r.trajectory->axis(1)[i - 1]);
    ASSERT_NEAR(step, 0.5, 0.06)
        << i;  // half a cycle; chords are shorter near the centre, where the curve is tight
  }
}

TEST(Spiral2d, TurnsLieWithinACycle) {
  // Archimedean: the radius grows by 0.8 interleaves per turn, so neighbouring arms are 0.8 cycles apart.
  const Readouts r = spiral2d({64, 64}, {.interleaves = 4});
  double unwrapped = 0, last = 0;
  for (Index i = 1; i < r.samples_per_readout; ++i) {
    const double y = r.trajectory->axis(0)[i], x = r.trajectory->axis(1)[i], angle = std::atan2(y, x);
    unwrapped += std::remainder(angle - last, 2 * pi);
    last = angle;
    ASSERT_NEAR(std::hypot(y, x), 0.8 * 4 * unwrapped / (2 * pi), 1e-9) << i;
  }
}

TEST(StackOfStars, HoldsEveryPlaneOnce) {
  for (const Index nz : {1, 4, 5}) {
    const Readouts r = stack_of_stars({nz, 8, 8}, {.spokes = 3, .readout = 4});
    std::set<double> planes;
    for (const double kz : r.trajectory->axis(0)) planes.insert(kz);
    EXPECT_EQ(r.partitions, nz);
    ASSERT_EQ(static_cast<Index>(planes.size()), nz);
    EXPECT_EQ(*planes.begin(), -double(nz / 2));
    EXPECT_EQ(*planes.rbegin(), double(nz - 1 - nz / 2));
  }
}

TEST(StackOfStars, IsTheRadialPlaneInTheFirstPartition) {
  const Readouts plane = radial2d({9, 12}), stars = stack_of_stars({3, 9, 12}, {}, PartitionRotation::golden);
  for (Index m = 0; m < plane.trajectory->samples(); ++m)
    for (int d = 0; d < 2; ++d)
      ASSERT_NEAR(stars.trajectory->axis(d + 1)[m], plane.trajectory->axis(d)[m], 1e-14);
}

TEST(Cartesian, LiesOnTheGrid) {
  const Readouts r = cartesian({3, 5, 6});
  EXPECT_EQ(r.readouts, 15);
  Index m = 0;
  for (Index z = 0; z < 3; ++z)
    for (Index y = 0; y < 5; ++y)
      for (Index x = 0; x < 6; ++x, ++m) {
        EXPECT_EQ(r.trajectory->axis(0)[m], double(z - 1));
        EXPECT_EQ(r.trajectory->axis(1)[m], double(y - 2));
        EXPECT_EQ(r.trajectory->axis(2)[m], double(x - 3));
      }
}

TEST(Cartesian, KeepsItsCalibrationLines) {
  const Readouts r = cartesian({16, 16}, {.acceleration_y = 4, .calibration = 4});
  std::set<double> lines(r.trajectory->axis(0).begin(), r.trajectory->axis(0).end());
  EXPECT_EQ(lines, (std::set<double>{-8, -4, -2, -1, 0, 1, 4}));
}

TEST(Random, FollowsItsDensity) {
  // Even in a square: mean |k| / half = 1 / 2 per axis. |k|^-1 in a disk: |k| itself is even, with mean 1
  // / 2.
  const Readouts box = random_samples({8, 8}, {.readouts = 100, .readout = 100});
  const Readouts disk = random_samples({8, 8}, {.readouts = 100, .readout = 100, .power = 1});
  double mean_box = 0, mean_disk = 0;
  for (Index m = 0; m < 10000; ++m) {
    mean_box += std::abs(box.trajectory->axis(0)[m]) / 4 / 10000;
    mean_disk += std::hypot(disk.trajectory->axis(0)[m], disk.trajectory->axis(1)[m]) / 4 / 10000;
  }
  EXPECT_NEAR(mean_box, 0.5, 0.012);  // four standard errors of 0.29 / sqrt(10000)
  EXPECT_NEAR(mean_disk, 0.5, 0.012);
}

TEST(Random, DiffersBySeed) {
  const Readouts a = random_samples({8, 8}, {.seed = 1}), b = random_samples({8, 8}, {.seed = 2});
  EXPECT_NE(a.trajectory->axis(0)[0], b.trajectory->axis(0)[0]);
}

}  // namespace
}  // namespace spinloom
