#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numbers>

#include "commands.hpp"
#include "common.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/mosaic.hpp"
#include "spinloom/io/png.hpp"

namespace {

using spinloom::Index;

struct Options : Common {
  std::string image, output, group, axis = "z", window_text;
  std::optional<spinloom::Window> window;
  Index slice = -1, columns = 0;
  bool phase = false;
};

spinloom::Window parse_window(const std::string& text) {
  const auto comma = text.find(',');
  spinloom::Window w;
  const auto number = [](const char* begin, const char* end, double& value) {
    const auto [stop, status] = std::from_chars(begin, end, value);
    return status == std::errc() && stop == end && std::isfinite(value);
  };
  const char* const start = text.data();
  if (comma == std::string::npos || !number(start, start + comma, w.low) ||
      !number(start + comma + 1, start + text.size(), w.high) || !(w.low < w.high))
    throw CLI::ValidationError("--window", "'" + text + "' is not LOW,HIGH with LOW below HIGH");
  return w;
}

void run(const Options& o) {
  o.start();
  const Console console = o.console();
  spinloom::Image image = spinloom::load_image(o.image, {.group = o.group, .log = console.log()});
  const spinloom::MosaicOptions options{.axis = o.axis == "z"   ? 0
                                                : o.axis == "y" ? 1
                                                                : 2,
                                        .slice = o.slice,
                                        .columns = o.columns,
                                        .phase = o.phase,
                                        .window = o.window};
  const spinloom::Mosaic mosaic =
      spinloom::with_context(o.image, [&] { return make_mosaic(image.data, options, console.log()); });
  write_png(o.output, mosaic.pixels, o.existing());
  const Index height = mosaic.pixels.shape[0], width = mosaic.pixels.shape[1];
  Json json = {{"image", o.image},
               {"output", o.output},
               {"shape", image.data.shape},
               {"width", width},
               {"height", height}};
  json["slices"] = mosaic.slices;
  json["window"] = {mosaic.window.low, mosaic.window.high};
  console.result(
      json, fmt::format("{}: {} x {} pixels, {} slice{} along {}, black at {:.4g}, white at {:.4g}", o.output,
                        width, height, mosaic.slices.size(), mosaic.slices.size() == 1 ? "" : "s", o.axis,
                        mosaic.window.low, mosaic.window.high));
}

}  // namespace

Command add_view(CLI::App& program) {
  auto* app = program.add_subcommand("view", "Draw slices of an image as a PNG");
  auto o = std::make_shared<Options>();
  app->add_option("IMAGE", o->image,
                  "image (NIfTI, npy, cfl, PNG, MRD images); complex ones show their magnitude")
      ->required();
  app->add_option("-o,--output", o->output, "PNG to write")->required()->check([](const std::string& name) {
    return name.ends_with(".png") ? std::string() : "'" + name + "' must end in .png";
  });
  app->add_option("--group", o->group, "image series of an MRD file, when there are several");
  app->add_option("--axis", o->axis, "cut across this axis")
      ->check(CLI::IsMember({"z", "y", "x"}))
      ->capture_default_str();
  app->add_option("--slice", o->slice, "this slice alone, counted from 0")->check(from(0));
  app->add_option("--columns", o->columns, "slices side by side; without it the mosaic is near a square")
      ->check(from(1));
  app->add_option_function<std::string>(
         "--window", [o](const std::string& text) { o->window = parse_window(text); },
         "values drawn black and white; without it the 1st and 99.5th percentile")
      ->type_name("LOW,HIGH");
  app->add_flag("--phase", o->phase, "phase of a complex image, from -pi to pi");
  declare_common(*app, *o, with_force);
  app->footer(
      "Rows are drawn as stored, the first on top. Example: spinloom view recon.nii.gz -o recon.png --axis "
      "y");
  return {app, [o] { run(*o); }};
}
