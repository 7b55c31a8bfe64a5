#include "simulate_trajectory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace {

struct Use {
  const char* option;
  std::vector<std::string> trajectories;
};

const std::vector<std::string>& names() {
  static const std::vector<std::string> list = {"radial2d",         "spiral2d", "radial3d",  "stack-of-stars",
                                                "stack-of-spirals", "cones",    "cartesian", "random"};
  return list;
}

const std::vector<Use>& uses() {
  static const std::vector<Use> list = {
      {"--spokes", {"radial2d", "radial3d", "stack-of-stars"}},
      {"--golden", {"radial2d", "radial3d", "stack-of-stars"}},
      {"--tiny", {"radial2d", "stack-of-stars"}},
      {"--half-spokes", {"radial2d", "radial3d", "stack-of-stars"}},
      {"--sample-centre", {"radial2d", "radial3d", "stack-of-stars"}},
      {"--rotate-partitions", {"stack-of-stars", "stack-of-spirals"}},
      {"--interleaves", {"spiral2d", "stack-of-spirals", "cones"}},
      {"--alpha", {"spiral2d", "stack-of-spirals"}},
      {"--turns", {"spiral2d", "stack-of-spirals"}},
      {"--oversampling", {"spiral2d", "stack-of-spirals", "cones"}},
      {"--cones", {"cones"}},
      {"--acceleration-y", {"cartesian"}},
      {"--acceleration-z", {"cartesian"}},
      {"--calibration", {"cartesian"}},
      {"--readouts", {"random"}},
      {"--power", {"random"}},
  };
  return list;
}

}  // namespace

void TrajectoryChoice::declare(CLI::App& app) {
  const char* group = "Trajectory";
  app.add_option("--trajectory", name, "how k-space is sampled")->required()->check(CLI::IsMember(names()));
  app.add_option("--spokes", spokes, "spokes (per partition of a stack); 0: the Nyquist number")
      ->group(group);
  app.add_option("--interleaves", interleaves, "spirals, per partition or on the widest cone; 0: N / 16")
      ->group(group);
  app.add_option("--readout", readout,
                 "samples per readout; 0: the Nyquist number, twice over for non-Cartesian ones")
      ->group(group);
  app.add_flag("--golden", golden, "order spokes by the golden angle instead of evenly")->group(group);
  app.add_option("--tiny", tiny, "with --golden: the n-th tiny golden angle; 1 is 111.25 degrees")
      ->group(group);
  app.add_flag("--half-spokes", half, "spokes from the centre outwards instead of diameters")->group(group);
  app.add_flag("--sample-centre", exact_centre, "every spoke samples k = 0 itself")->group(group);
  app.add_flag("--rotate-partitions", rotate, "turn each partition of a stack by one more golden angle")
      ->group(group);
  app.add_option("--alpha", alpha,
                 "spirals of radius t^alpha; 1 is Archimedean, above it the centre is denser")
      ->group(group);
  app.add_option("--turns", turns, "turns of one spiral; 0: arms 0.8 cycles apart at the rim")->group(group);
  app.add_option("--oversampling", oversampling, "samples per cycle along spirals")->group(group);
  app.add_option("--cones", cones, "polar angles; 0: the Nyquist number")->group(group);
  app.add_option("--acceleration-y", acceleration_y, "measure every n-th line")->group(group);
  app.add_option("--acceleration-z", acceleration_z, "measure every n-th plane")->group(group);
  app.add_option("--calibration", calibration, "central lines and planes that are always measured")
      ->group(group);
  app.add_option("--readouts", readouts, "random readouts; 0: one sample per voxel")->group(group);
  app.add_option("--power", power, "random density falling as |k|^-power; 0 is even")->group(group);
}

void TrajectoryChoice::check(const CLI::App& app) const {
  for (const Use& use : uses())
    if (app.count(use.option) > 0 &&
        std::find(use.trajectories.begin(), use.trajectories.end(), name) == use.trajectories.end())
      throw CLI::ValidationError(use.option, fmt::format("has no meaning for {}, only for {}", name,
                                                         fmt::join(use.trajectories, ", ")));
  if (app.count("--tiny") > 0 && !golden) throw CLI::ValidationError("--tiny", "needs --golden");
}

int TrajectoryChoice::dims(std::size_t matrix_axes) const {
  if (name == "cartesian" || name == "random") return static_cast<int>(matrix_axes);
  return name == "radial2d" || name == "spiral2d" ? 2 : 3;
}

spinloom::Readouts TrajectoryChoice::make(const spinloom::Shape& matrix, std::uint32_t seed) const {
  using namespace spinloom;
  const RadialOptions radial{.spokes = spokes,
                             .readout = readout,
                             .order = golden ? SpokeOrder::golden : SpokeOrder::uniform,
                             .span = half ? SpokeSpan::half : SpokeSpan::diameter,
                             .centre = exact_centre ? CentreSample::exact : CentreSample::between,
                             .tiny = tiny};
  const SpiralOptions spiral{.interleaves = interleaves,
                             .readout = readout,
                             .alpha = alpha,
                             .turns = turns,
                             .oversampling = oversampling};
  const PartitionRotation rotation = rotate ? PartitionRotation::golden : PartitionRotation::none;
  if (name == "radial2d") return radial2d(matrix, radial);
  if (name == "radial3d") return radial3d(matrix, radial);
  if (name == "stack-of-stars") return stack_of_stars(matrix, radial, rotation);
  if (name == "spiral2d") return spiral2d(matrix, spiral);
  if (name == "stack-of-spirals") return stack_of_spirals(matrix, spiral, rotation);
  if (name == "cones")
    return spinloom::cones(
        matrix,
        {.cones = cones, .interleaves = interleaves, .readout = readout, .oversampling = oversampling});
  if (name == "cartesian")
    return cartesian(matrix, {.readout = readout,
                              .acceleration_y = acceleration_y,
                              .acceleration_z = acceleration_z,
                              .calibration = calibration});
  return random_samples(matrix, {.readouts = readouts, .readout = readout, .power = power, .seed = seed});
}

std::string TrajectoryChoice::mrd_kind() const {
  if (name == "cartesian") return "cartesian";
  if (name == "spiral2d" || name == "stack-of-spirals") return "spiral";
  if (name == "radial2d" || name == "radial3d" || name == "stack-of-stars")
    return golden ? "goldenangle" : "radial";
  return "other";
}
