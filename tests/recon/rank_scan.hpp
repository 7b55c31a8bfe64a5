#pragma once
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/recon/plan.hpp"
#include "spinloom/recon/verify.hpp"

/// What a reconstruction on several ranks promises; the bodies of tests on the host and on GPUs.
namespace spinloom::testing {

/// Five coils' maps, an image and its exact k-space.
struct RankScan {
  static constexpr Index coils = 5;
  Measurement m;
  std::shared_ptr<Array<cfloat>> maps;
  Array<cfloat> image;

  explicit RankScan(const Shape& matrix = {17, 16}, Index samples = 900)
      : maps(std::make_shared<Array<cfloat>>(prepend(coils, matrix))), image(random_array<float>(matrix, 1)) {
    const Index voxels = count(matrix);
    for (Index i = 0; i < coils * voxels; ++i) {
      const Index c = i / voxels, n = i % voxels;
      (*maps)[i] = std::polar(0.4f + float(c + 1) * float(n % matrix.back()) / float(matrix.back()),
                              0.3f * float(c) * float(n) / float(voxels));
    }
    m.trajectory = random_trajectory(matrix, samples, 3);
    m.matrix = m.recon_matrix = matrix;
    m.kspace = Array<cfloat>({coils, samples});
    make_encoding<float>(maps, [&](Index n) {
      return make_dft<float>(m.trajectory, matrix, n);
    })->forward(image.view(), m.kspace.view());
  }
  Reconstruction run(ReconstructionOptions o, const std::vector<Device>& devices) const {
    o.devices = devices;
    o.maps = MapsSource::given;
    o.given_maps = maps;
    return Reconstructor(o).run(m);
  }
};

/// One device gives what the ranks give: to rounding in the first iterations, to the residual in the end.
inline void check_reconstruction(const std::vector<Device>& devices, FourierKind fourier) {
  const RankScan scan;
  for (const Regularisation kind :
       {Regularisation::none, Regularisation::tikhonov, Regularisation::laplacian}) {
    SCOPED_TRACE(to_string(fourier) + ", " + to_string(kind));
    ReconstructionOptions o{.fourier = fourier, .tolerance = 1e-5, .iterations = 5, .stop = 0};
    o.regularisation = kind;
    o.lambda = kind == Regularisation::none ? 0 : 1e-2;
    const auto early = scan.run(o, devices);
    const auto alone = scan.run(o, {devices.front()});
    // Sums of five coils in another order, and five iterations that amplify their rounding.
    EXPECT_LT(relative_error(early.image, alone.image), 1e-5);
    EXPECT_NEAR(early.largest_eigenvalue, alone.largest_eigenvalue, 1e-5 * alone.largest_eigenvalue);
    EXPECT_TRUE(same_bits(scan.run(o, devices).image, early.image)) << "repeats";

    o.iterations = 200;
    o.stop = 1e-5;
    const auto r = scan.run(o, devices), expected = scan.run(o, {devices.front()});
    EXPECT_TRUE(r.convergence.converged) << r.convergence.reason;
    EXPECT_LT(relative_error(r.image, expected.image), 3e-3);  // the residual, times the condition
    EXPECT_EQ(r.image.device(), Device{});
    const Verification v = verify(scan.m, r);
    EXPECT_LE(v.relative_error_forward, 2e-5);
    EXPECT_LE(v.relative_error_adjoint, 2e-5);
    EXPECT_LE(v.relative_error_normal, 4e-5);
    EXPECT_LE(v.adjoint_gap, 1e-5);
  }
}

inline void check_gridding_and_start(const std::vector<Device>& devices) {
  const RankScan scan;
  for (const ReconstructionOptions& o :
       {ReconstructionOptions{.method = Method::gridding, .tolerance = 1e-5},
        ReconstructionOptions{.tolerance = 1e-5, .iterations = 2, .start = StartingImage::gridding}})
    EXPECT_LT(relative_error(scan.run(o, devices).image, scan.run(o, {devices.front()}).image), 1e-5)
        << to_string(o.method);
}

/// A caller's callback that throws, and an interrupt, end all ranks; and the devices serve again.
inline void check_ends(const std::vector<Device>& devices) {
  const RankScan scan;
  ReconstructionOptions o{.iterations = 60, .stop = 0};
  const auto expected = scan.run({.iterations = 4, .stop = 0}, devices);
  int told = 0;
  o.progress = [&](const std::string&, double, const std::string&) {
    if (++told == 4) throw std::runtime_error("of the caller's own");
  };
  EXPECT_THROW(scan.run(o, devices), std::runtime_error);
  EXPECT_EQ(told, 4);
  told = 0;
  o.progress = [&](const std::string&, double, const std::string&) {
    if (++told == 4) request_interrupt();
  };
  EXPECT_THROW(scan.run(o, devices), Interrupted);
  clear_interrupt();
  EXPECT_TRUE(same_bits(scan.run({.iterations = 4, .stop = 0}, devices).image, expected.image));
}

}  // namespace spinloom::testing
