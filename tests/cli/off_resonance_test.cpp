#include <cmath>

#include "cli/command_test.hpp"
#include "spinloom/io/image_file.hpp"

/// A scan in an uneven field, simulated and reconstructed by the commands.
namespace spinloom {
namespace {

using Json = nlohmann::json;

class FieldMap : public testing::CommandTest {
 protected:
  static constexpr Index ny = 40, nx = 36;
  void SetUp() override {
    Array<float> object({ny, nx}), map({ny, nx});
    for (Index n = 0; n < object.size(); ++n) {
      const double y = double(n / nx - ny / 2) / (ny / 2), x = double(n % nx - nx / 2) / (nx / 2);
      object[n] = float(std::exp(-5 * (x * x + y * y)) -
                        0.6 * std::exp(-40 * ((x - 0.3) * (x - 0.3) + (y + 0.2) * (y + 0.2))));
      map[n] = float(100 * (1 - x * x - y * y) + 30 * x);
    }
    save("object.npy", object);
    save("map.npy", map);
    for (float& f : map) f = -f;
    save("negative.nii.gz", map);
  }
  void save(const std::string& name, const Array<float>& values) {
    Image image;
    image.data = Tensor::copy_of(values);
    save_image(folder_ / name, image, OutputFile::Existing::replace);
  }
  /// Simulated by spirals of about 20 ms.
  void simulate(const std::string& output) {
    json_of(
        "simulate --phantom object.npy --trajectory spiral2d --interleaves 4 --coils 4 --field-map map.npy "
        "--dwell 40 --force -o " +
        output);
  }
  /// Of the reconstruction against the object, in dB.
  double error_db(const std::string& arguments) {
    // One thread: small transforms gain nothing from more.
    json_of("recon " + arguments + " -o image.npy --stop 1e-4 --iterations 80 --threads 1 --force");
    const auto got = load_image(folder_ / "image.npy").data.to<cdouble>();
    const auto expected = load_image(folder_ / "object.npy").data.to<double>();
    double gap = 0, size = 0;
    for (Index n = 0; n < expected.size(); ++n) {
      gap += std::norm(got[n] - std::sqrt(double(ny * nx)) * expected[n]);
      size += ny * nx * std::norm(expected[n]);
    }
    return 10 * std::log10(gap / size);
  }
};

TEST_F(FieldMap, IsWorthTenDecibelsInEveryMethod) {
  simulate("scan.mrd");
  const std::string scan = "scan.mrd --maps scan_maps.npy ";
  const double without = error_db(scan);
  for (const std::string how : {"--operator toeplitz", "--operator nufft", "--operator dft"})
    EXPECT_LT(error_db(scan + how + " --field-map map.npy"), without - 10) << how;
  EXPECT_LT(error_db(scan + "--field-map negative.nii.gz --b0-sign -"), without - 10);
  EXPECT_GT(error_db(scan + "--field-map negative.nii.gz"), without) << "the wrong sign makes it worse";
  EXPECT_LT(error_db(scan + "--method gridding --field-map map.npy"), error_db(scan + "--method gridding"));
}

TEST_F(FieldMap, IsNamedInTheFactsWithItsCheckedError) {
  simulate("scan.mrd");
  const Json facts = json_of(
      "recon scan.mrd --maps scan_maps.npy --field-map map.npy -o image.npy --verify --tolerance 1e-4 "
      "--threads 1");
  const Json& b0 = facts.at("off_resonance");
  EXPECT_GT(b0.at("time_segments").get<int>(), 3);
  EXPECT_LE(b0.at("largest_error").get<double>(), 1e-4);
  EXPECT_GT(b0.at("normal_convolutions").get<int>(), b0.at("time_segments").get<int>());
  EXPECT_NEAR(b0.at("highest_hz").get<double>(), 102, 1);
  EXPECT_LT(facts.at("verify").at("relative_error_forward").get<double>(), 5e-4);
  EXPECT_LT(facts.at("verify").at("relative_error_normal").get<double>(), 5e-4);
  const testing::Outcome talk =
      run("recon scan.mrd --maps scan_maps.npy --field-map map.npy -o image.npy --force --threads 1");
  EXPECT_NE(talk.err.find("time segments, largest error"), std::string::npos) << talk.err;
}

TEST_F(FieldMap, NeedsTimesThatTheScanOrTheUserSays) {
  simulate("scan.npy");  // npy has no place for them
  const std::string scan =
      "recon scan_ksp.npy --traj scan_traj.npy --matrix 40,36 --maps scan_maps.npy --field-map map.npy -o "
      "image.npy ";
  expect_failure(scan, 1, "--dwell");
  simulate("scan.mrd");
  expect_failure("recon scan.mrd --maps scan_maps.npy --field-map map.npy -o image.npy --dwell 40", 1,
                 "leave --dwell out");
  expect_failure("recon scan.mrd --maps scan_maps.npy -o image.npy --dwell 40", 2, "--field-map");
  expect_failure("recon scan.mrd --maps scan_maps.npy -o image.npy --b0-sign -", 2, "--field-map");
}

TEST_F(FieldMap, IsRefusedInWordsWhenItDoesNotFit) {
  simulate("scan.mrd");
  const std::string recon = "recon scan.mrd --maps scan_maps.npy -o image.npy --field-map ";
  save("small.npy", Array<float>::zeros({20, 18}));
  expect_failure(recon + "small.npy", 1, "the field map is [20, 18], expected [40, 36]");
  auto bad = Array<float>::zeros({ny, nx});
  bad[7] = NAN;
  save("bad.npy", bad);
  expect_failure(recon + "bad.npy", 1, "voxel 7");
  expect_failure(recon + "scan_maps.npy", 1, "scan_maps.npy");
  expect_failure(
      "simulate --phantom shepp-logan --matrix 40,36 --trajectory spiral2d --field-map map.npy -o x.mrd", 2,
      "needs an image to scan");
  expect_failure("simulate --phantom object.npy --trajectory spiral2d --field-map small.npy -o x.mrd", 1,
                 "[20, 18]");
  expect_failure("simulate --phantom object.npy --trajectory spiral2d --dwell 10 -o x.npy", 2, "--dwell");
}

}  // namespace
}  // namespace spinloom
