#include <gtest/gtest.h>

#include <fstream>

#include "devices.hpp"
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "solve/cuda/cg_steps.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/recon/join_images.hpp"
#include "spinloom/recon/load_scan.hpp"
#include "spinloom/recon/plan.hpp"
#include "spinloom/recon/quality.hpp"
#include "spinloom/recon/verify.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

/// A few coils' smooth maps, an image and its exact k-space.
struct Scan {
  Measurement m;
  std::shared_ptr<Array<cfloat>> maps;
  Array<cfloat> image;

  Scan(const Shape& matrix, Index samples, Index coils)
      : maps(std::make_shared<Array<cfloat>>(prepend(coils, matrix))), image(random_array<float>(matrix, 1)) {
    const Index voxels = count(matrix);
    for (Index c = 0; c < coils; ++c)
      for (Index n = 0; n < voxels; ++n)
        (*maps)[c * voxels + n] =
            std::polar(0.4f + float(c + 1) * float(n % matrix.back()) / float(matrix.back()),
                       0.3f * float(c) * float(n) / float(voxels));
    m.trajectory = random_trajectory(matrix, samples, 3);
    m.matrix = m.recon_matrix = matrix;
    m.kspace = Array<cfloat>({coils, samples});
    make_encoding<float>(maps, [&](Index n) {
      return make_dft<float>(m.trajectory, matrix, n);
    })->forward(image.view(), m.kspace.view());
  }
  Reconstruction run(ReconstructionOptions o) const {
    o.maps = MapsSource::given;
    o.given_maps = maps;
    return Reconstructor(o).run(m);
  }
};

class CudaReconstruction : public ::testing::TestWithParam<FourierKind> {};

TEST_P(CudaReconstruction, MatchesTheHost) {
  SPINLOOM_NEEDS(gpu);
  for (const auto& [matrix, samples] : {std::pair<Shape, Index>{{17, 16}, 900}, {{9, 8, 11}, 2500}}) {
    SCOPED_TRACE(to_string(matrix));
    const Scan scan(matrix, samples, 5);
    for (const Regularisation kind :
         {Regularisation::none, Regularisation::tikhonov, Regularisation::laplacian}) {
      ReconstructionOptions o{.fourier = GetParam(), .tolerance = 1e-5, .iterations = 200, .stop = 1e-5};
      o.regularisation = kind;
      o.lambda = kind == Regularisation::none ? 0 : 1e-2;
      const auto here = scan.run(o);
      for (const Index batch : {0, 2}) {
        o.device = gpu;
        o.coil_batch = batch;
        const auto there = scan.run(o);
        EXPECT_TRUE(there.convergence.converged) << there.convergence.reason;
        // Each is off by the operator's error and the residual, times the condition.
        EXPECT_LT(relative_error(there.image, here.image), 3e-3) << to_string(kind) << ", batch " << batch;
        EXPECT_EQ(there.image.device(), Device{});
        if (batch == 0) {
          EXPECT_TRUE(same_bits(scan.run(o).image, there.image)) << "repeats";
          const Verification v = verify(scan.m, there);
          EXPECT_LE(v.relative_error_forward, 2e-5);
          EXPECT_LE(v.relative_error_adjoint, 2e-5);
          EXPECT_LE(v.relative_error_normal, 4e-5);
          EXPECT_LE(v.adjoint_gap, 1e-5);
        }
      }
      o.coil_batch = 0;
    }
  }
}

TEST_P(CudaReconstruction, GridsCombinesAndStartsThere) {
  SPINLOOM_NEEDS(gpu);
  const Scan scan({17, 16}, 900, 3);
  for (ReconstructionOptions o : {ReconstructionOptions{.method = Method::gridding},
                                  ReconstructionOptions{.iterations = 2, .start = StartingImage::gridding}}) {
    o.fourier = GetParam();
    o.tolerance = 1e-5;
    const auto here = scan.run(o);
    o.device = gpu;
    EXPECT_LT(relative_error(scan.run(o).image, here.image), 1e-3)
        << to_string(o.method);  // the weights' tolerance
  }
  ReconstructionOptions rss{
      .fourier = GetParam(), .tolerance = 1e-5, .iterations = 8, .combination = Combination::rss};
  const auto here = Reconstructor(rss).run(scan.m);
  rss.device = gpu;
  const auto there = Reconstructor(rss).run(scan.m);
  EXPECT_LT(relative_error(there.image, here.image), 1e-3);
  EXPECT_LT(verify(scan.m, there).relative_error_forward, 2e-5);
}

TEST_P(CudaReconstruction, ReachesTheHostsQualityOnAMeasuredScan) {
  SPINLOOM_NEEDS(gpu);
  const std::string data = SPINLOOM_SOURCE_DIR "/data/";
  if (!std::ifstream(data + "brain_radial_96spokes_8coils.mrd"))
    GTEST_SKIP() << "the scan is not here: " << data;
  const Assembled scan = load_scan(data + "brain_radial_96spokes_8coils.mrd");
  const Measurement& m = scan.measurements.front();
  const Image truth = load_image(data + "brain_truth.nii.gz");
  const auto psnr = [&](Device device) {
    const auto r = Reconstructor({.fourier = GetParam(), .device = device}).run(m);
    EXPECT_TRUE(r.convergence.converged);
    const auto image = crop_image(r.image, m.recon_matrix);
    return compare_images(Tensor::copy_of(image.view().reshaped(truth.data.shape)), truth.data,
                          {.fit_scale = true})
        .psnr_db;
  };
  const double here = psnr({}), there = psnr(gpu);
  EXPECT_NEAR(there, here, 0.1);
  EXPECT_GT(there, 38);
}

TEST_P(CudaReconstruction, GivesTheSameBitsWhereMapsAndDataAreSentFromTheHost) {
  SPINLOOM_NEEDS(gpu);
  const Scan scan({33, 40, 20}, 9000, 7);
  ReconstructionOptions o{.fourier = GetParam(), .iterations = 12, .stop = 0, .coil_batch = 2, .device = gpu};
  o.maps = MapsSource::given;
  o.given_maps = scan.maps;
  const auto expected = scan.run(o);
  // Ever less, until the maps do not fit; it throws when that never is.
  const auto streams = [&] {
    std::string lines;
    for (const auto& line : plan_reconstruction(scan.m, o).lines) lines += line;
    return lines.find("sent from the host") != std::string::npos;
  };
  EXPECT_FALSE(streams());
  o.device_memory_bytes = 2 * plan_reconstruction(scan.m, o).device_bytes;
  while (!streams()) o.device_memory_bytes -= o.device_memory_bytes / 100;
  const auto there = scan.run(o);
  EXPECT_EQ(cuda::last_graph_refusal(), "");
  EXPECT_TRUE(same_bits(there.image, expected.image));
  EXPECT_TRUE(same_bits(scan.run(o).image, expected.image)) << "again";
}

TEST_P(CudaReconstruction, HoldsNoMoreMemoryAfterManyRuns) {
  SPINLOOM_NEEDS(gpu);
  const Scan scan({17, 16}, 900, 3);
  const ReconstructionOptions o{.fourier = GetParam(), .iterations = 3, .device = gpu};
  for (int i = 0; i < 5; ++i) scan.run(o);
  const auto held = held_memory_bytes(gpu);
  for (int i = 0; i < 100; ++i) scan.run(o);
  EXPECT_EQ(held_memory_bytes(gpu), held);
}

INSTANTIATE_TEST_SUITE_P(By, CudaReconstruction,
                         ::testing::Values(FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft),
                         [](const auto& which) { return to_string(which.param); });

TEST(CudaReconstructionPlan, ListsWhatTheGpuIsToHold) {
  SPINLOOM_NEEDS(gpu);
  const Scan scan({17, 16}, 900, 3);
  const Plan plan = plan_reconstruction(scan.m, {.device = gpu});
  EXPECT_GT(plan.device_bytes, 0);
  std::string all;
  for (const auto& line : plan.lines) all += line + "\n";
  for (const char* words : {"cuda:0", "maps", "k-space of a batch", "operators", "vectors"})
    EXPECT_NE(all.find(words), std::string::npos) << words << " in\n" << all;
}

TEST(CudaReconstructionPlan, RefusesWhatNoGpuHolds) {
  SPINLOOM_NEEDS(gpu);
  Measurement m;
  m.matrix = m.recon_matrix = {8192, 8192, 8192};
  m.trajectory = std::make_shared<Trajectory>(Array<double>::zeros({3, 10}));
  m.kspace = Array<cfloat>::zeros({2, 10});
  try {
    plan_reconstruction(m, {.fourier = FourierKind::dft, .device = gpu});
    FAIL() << "four terabytes were planned";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("would fit"), std::string::npos) << e.what();
  }
}

TEST(CudaReconstructionRuns, RefuseDataThatAreNotFinite) {
  SPINLOOM_NEEDS(gpu);
  for (const MapsSource maps : {MapsSource::ones, MapsSource::estimate}) {
    Scan scan({17, 16}, 900, 3);
    scan.m.kspace[901] = cfloat(0, INFINITY);
    try {
      Reconstructor({.maps = maps, .device = gpu}).run(scan.m);
      FAIL() << "it was reconstructed";
    } catch (const ArgumentError& e) {
      EXPECT_NE(std::string(e.what()).find("not finite; remove those lines"), std::string::npos) << e.what();
    }
  }
}

TEST(CudaReconstructionRuns, StopAtAnInterruptAndTellTheirProgress) {
  SPINLOOM_NEEDS(gpu);
  const Scan scan({17, 16}, 900, 3);
  ReconstructionOptions o{.iterations = 60, .stop = 0, .device = gpu};
  int told = 0;
  o.progress = [&](const std::string&, double, const std::string&) {
    if (++told == 4) request_interrupt();
  };
  EXPECT_THROW(scan.run(o), Interrupted);
  clear_interrupt();
  EXPECT_EQ(told, 4);
  o.progress = {};
  EXPECT_TRUE(all_finite<cfloat>(scan.run(o).image.view()));
}

}  // namespace
}  // namespace spinloom
