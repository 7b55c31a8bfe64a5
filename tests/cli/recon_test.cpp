#include <csignal>
#include <filesystem>
#include <thread>

#include "command_test.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/recon/quality.hpp"
#include "spinloom/runtime/cuda.hpp"

/// The command on real scans, from file to file.
namespace spinloom {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::Outcome;

const std::string data = SPINLOOM_TEST_DATA "/";
const std::string brain = SPINLOOM_SOURCE_DIR "/data/brain_radial_96spokes_8coils.mrd";
const std::string truth = SPINLOOM_SOURCE_DIR "/data/brain_truth.nii.gz";

using Recon = testing::CommandTest;

// As when a pager is closed, or the disk that a log goes to is full.
TEST_F(Recon, GoesOnWithoutAnyoneToTalkTo) {
  const auto code = [](const std::string& arguments) {
    return WEXITSTATUS(std::system((SPINLOOM_COMMAND " " + arguments + " >/dev/null").c_str()));
  };
  EXPECT_EQ(code("recon " + brain + " --iterations 1 -o " + (folder_ / "x.npy") + " 2>/dev/full"), 0);
  EXPECT_EQ(code("view " + (folder_ / "x.npy") + " -o " + (folder_ / "x.png") + " 2>&-"), 0);
  EXPECT_EQ(code("recon missing.mrd -o " + (folder_ / "y.npy") + " 2>/dev/full"), 1);
  EXPECT_EQ(code("nonsense 2>/dev/full"), 2);
}

TEST_F(Recon, ChecksTheReportBeforeTheWork) {
  const std::string image = " -o " + (folder_ / "x.nii") + " --report ";
  testing::write_bytes(folder_ / "given", "a file");
  expect_failure("recon " + brain + image + (folder_ / "given"), 1,
                 "cannot be made as a folder for the report");
  expect_failure("recon missing.mrd" + image + (folder_ / "report"), 1,
                 "missing.mrd");  // and no empty folder stays
  fs::create_directory(folder_ / "old");
  testing::write_bytes(folder_ / "old/index.html", "of another run");
  EXPECT_EQ(run("recon " + brain + image + (folder_ / "old")).code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "old/image.png"));
  EXPECT_FALSE(fs::exists(folder_ / "x.nii"));
}

TEST_F(Recon, MakesTheBrainFromAMeasuredRadialScan) {
  const std::string out = folder_ / "brain.nii.gz";
  const Json j = json_of("recon " + brain + " -o " + out + " --verify --report " + (folder_ / "report"));
  EXPECT_TRUE(j["converged"]);
  EXPECT_LE(j["residual"], 1e-3);
  EXPECT_EQ(j["operator"], "toeplitz");
  for (const char* key : {"read", "maps", "plan", "upload", "rhs", "solve", "download", "write"}) EXPECT_GE(j["seconds"][key], 0.0) << key;
  EXPECT_GT(j["memory_bytes"], 1000000);
  for (const char* key : {"relative_error_forward", "relative_error_adjoint"})
    EXPECT_LE(j["verify"][key], 2 * double(j["tolerance"])) << key;
  EXPECT_LE(j["verify"]["adjoint_gap"], 1e-5);

  const Image image = load_image(out), reference = load_image(truth);
  const Quality q = compare_images(image.data, reference.data, {.fit_scale = true});
  EXPECT_GT(q.psnr_db, 38);  // 39.2 when written; the peer's SENSE reaches 32.5
  EXPECT_GT(q.correlation, 0.998);
  EXPECT_EQ(Json::parse(testing::read_bytes(folder_ / "brain.json"))["iterations"], j["iterations"]);
  const std::string page = testing::read_bytes(folder_ / "report/index.html");
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("data:image/png;base64,"), std::string::npos);
}

TEST_F(Recon, MatchesTheBrainCloserCoilByCoil) {
  // The truth is a root sum of squares of noisy coils, and so is this: 41.8 dB when written.
  const std::string out = folder_ / "rss.nii.gz";
  json_of("recon " + brain + " -o " + out + " --combine rss --stop 1e-4");
  EXPECT_GT(compare_images(load_image(out).data, load_image(truth).data, {.fit_scale = true}).psnr_db, 41.5);
  fs::remove(out);
  fs::remove(folder_ / "rss.json");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --combine rss --maps ones", 2, "--maps");
}

TEST_F(Recon, GivesTheSameBitsForAnyThreadCount) {
  std::string first;
  for (const char* threads : {"1", "2", "3"}) {
    const std::string out = folder_ / (std::string("t") + threads + ".npy");
    json_of("recon " + brain + " -o " + out + " --iterations 3 --threads " + threads);
    const std::string bytes = testing::read_bytes(out);
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads << " threads";
  }
}

TEST_F(Recon, ReadsASpiralInItsStatedUnit) {
  const std::string out = folder_ / "spiral.nii";
  const Json j =
      json_of("recon " + data + "jemris_spiral_slc30.h5 -o " + out + " --traj-units cycles-per-fov");
  const Image image = load_image(out);
  ASSERT_EQ(without_leading_ones(image.data.shape), Shape({220, 220}));
  const Image reference = load_image(data + "jemris_spiral_slc30_reco.h5", {.group = "images/image_1"});
  Tensor expected = reference.data.clone();
  expected.reshape(image.data.shape);
  EXPECT_GT(compare_images(image.data, expected).correlation, 0.97);
}

TEST_F(Recon, ComparesAndDrawsASeriesOfAnMrdFile) {
  const std::string series = data + "jemris_spiral_slc30_reco.h5";
  const Json j = json_of("compare " + series + " " + series +
                         " --group images/image_1 --reference-group images/image_1");
  EXPECT_EQ(j["nrmse"], 0);
  EXPECT_EQ(run("view " + series + " --group images/image_1 -o " + (folder_ / "x.png")).code, 0);
  EXPECT_EQ(run("convert " + series + " " + (folder_ / "x.nii") + " --group images/image_2").code, 0);
  fs::remove(folder_ / "x.png");
  fs::remove(folder_ / "x.nii");
  expect_failure("view " + series + " -o " + (folder_ / "x.png"), 1, "--group");
}

TEST_F(Recon, RefusesATrajectoryInAnotherUnit) {
  expect_failure("recon " + data + "jemris_spiral_slc30.h5 -o " + (folder_ / "x.nii"), 1, "cycles-per-fov");
}

TEST_F(Recon, AgreesWithAnotherToolboxOnItsOwnRadialSet) {
  const std::string out = folder_ / "radial.cfl";
  json_of("recon " + data + "bart_radial_ksp --traj " + data + "bart_radial_traj --matrix 32,32 --maps " +
          data + "bart_sens --iterations 60 --stop 0 -o " + out);
  const Image image = load_image(out), reference = load_image(data + "bart_pics");
  Tensor expected = reference.data.clone(), got = image.data.clone();
  got.reshape({32, 32});
  expected.reshape({32, 32});
  EXPECT_GT(compare_images(got, expected).correlation, 0.999);
}

TEST_F(Recon, ReconstructsOneCoilWithMapsOfOnes) {
  const Outcome o = run("recon " + data + "pulseq_epi_ramp96_delaycorr.mrd -o " + (folder_ / "epi.nii.gz"));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("one coil"), std::string::npos) << o.err;
}

TEST_F(Recon, SurvivesAnotherWritersHeader) {
  EXPECT_EQ(run("recon " + data + "koma_epi_brain.mrd -o " + (folder_ / "koma.nii.gz")).code, 0);
  EXPECT_EQ(run("recon " + data + "ismrmrd_tool_32_noise_ktraj.h5 -o " + (folder_ / "tool.nii.gz")).code, 0);
}

TEST_F(Recon, BringsASimulatedScanBackToItsTruthFromEveryFormat) {
  // Three unequal axes, so that swapped columns or a transposed image would show.
  const std::string what =
      " --phantom shepp-logan --trajectory radial2d --matrix 24,40 --spokes 80 --coils 3";
  const struct {
    const char *scan, *arguments;
  } formats[] = {{"s.mrd", "s.mrd --maps s_maps.npy"},
                 {"c.cfl", "c.cfl --traj c_traj.cfl --maps c_maps.cfl --matrix 24,40"},
                 {"n.npy", "n_ksp.npy --traj n_traj.npy --maps n_maps.npy --matrix 24,40"}};
  Tensor first;
  for (const auto& format : formats) {
    const std::string in = "cd " + fs::path(folder_ / "x").parent_path().string() + " && ";
    const std::string stem(1, format.scan[0]);
    ASSERT_EQ(std::system(
                  (in + SPINLOOM_COMMAND + " simulate" + what + " --quiet -o " + format.scan + " >/dev/null")
                      .c_str()),
              0);
    ASSERT_EQ(
        std::system(
            (in + SPINLOOM_COMMAND + " recon " + format.arguments + " --quiet -o r.nii >/dev/null").c_str()),
        0);
    Tensor got = load_image(folder_ / "r.nii").data.clone();
    const Tensor expected = load_image((folder_ / stem + "_truth.nii.gz")).data.clone();
    got.reshape(expected.shape);
    // The truth ends at the edge of sampled k-space and SENSE extrapolates beyond it, which 24 x 40 voxels show.
    EXPECT_GT(compare_images(got, expected, {.fit_scale = true}).correlation, 0.93) << format.scan;
    if (first.size() == 0) first = got.clone();
    EXPECT_LT(compare_images(got, first).nrmse, 1e-3)
        << format.scan;  // positions in float or double, CG to 1e-3
    fs::remove(folder_ / "r.nii");
    fs::remove(folder_ / "r.json");
  }
}

TEST_F(Recon, FailsInOneLineAndLeavesNothing) {
  expect_failure("recon " + (folder_ / "missing.h5") + " -o " + (folder_ / "x.nii"), 1, "missing.h5");
  expect_failure("recon " + brain + " -o /nowhere/x.nii", 1, "does not exist");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.txt"), 2, "ending");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --lambda -1", 2, "--lambda");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --reg none --lambda 1", 2, "--lambda");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --method gridding --reg tikhonov", 2,
                 "--reg");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --matrix 0,256", 2, "--matrix");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --maps " + truth, 1, "maps");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --operator fast", 2,
                 "expected one of dft, nufft, toeplitz");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --operator 2", 2, "expected one of");
  for (const char* devices : {"cuda:all", "cuda:0,0", "cuda:0,", "cpu,cpu"})
    expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --device " + devices, 2, "--device");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --device cuda:0,1 --combine rss", 2,
                 "coil by coil");
  expect_failure("recon " + brain + " -o " + (folder_ / "x.nii") + " --device cuda:0,63", 1, "cuda");
  expect_failure("recon " + brain, 2, "--output");
  expect_failure("recon " + data + "jemris_spiral_slc30_reco.h5 -o " + (folder_ / "x.nii"), 1, "image");
}

TEST_F(Recon, SaysWhyThereIsNoGpuAndGoesOnWithoutOneOnlyWhenFreeTo) {
  const std::string why = cuda_status().problem;
  if (why.empty()) GTEST_SKIP() << "there is a GPU here";
  const std::string image = folder_ / "x.npy";
  expect_failure("recon " + brain + " -o " + image + " --device cuda", 1, why + "; choose --device cpu");
  const Outcome o = run("recon " + brain + " -o " + image + " --iterations 1 --device auto --json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("the CPU is used, no GPU: " + why), std::string::npos) << o.err;
  const Json j = Json::parse(o.out);
  EXPECT_EQ(j["device"], "cpu");
  EXPECT_EQ(j["gpu"], nullptr);
  EXPECT_EQ(j["device_memory_bytes"], 0);
  ASSERT_EQ(j["devices"].size(), 1u);
  EXPECT_EQ(j["devices"][0]["coils"], 8);
}

TEST_F(Recon, DoesNotReplaceAFileUnasked) {
  testing::write_bytes((folder_ / "given"), "precious");
  fs::create_directories(folder_ / "d");
  testing::write_bytes((folder_ / "d/brain.nii"), "precious");
  const Outcome o = run("recon " + brain + " -o " + (folder_ / "d/brain.nii") + " --iterations 1");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("--force"), std::string::npos) << o.err;
  EXPECT_EQ(testing::read_bytes(folder_ / "d/brain.nii"), "precious");
}

TEST_F(Recon, StopsAtAnInterruptAndLeavesNothing) {
  const testing::TemporaryFolder logs;
  const std::string log = logs / "stderr";
  const std::string command = "timeout --preserve-status -k 60 -s INT 0.5 " SPINLOOM_COMMAND " recon " + brain +
                              " -o " + (folder_ / "x.nii") +
                              " --operator dft --stop 0 --iterations 100000 2>" + log;
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_NE(testing::read_bytes(log).find("interrupted"), std::string::npos);
  EXPECT_EQ(folder_.count(), 0U);
}

}  // namespace
}  // namespace spinloom
