#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "common.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/recon/quality.hpp"

namespace {

using spinloom::Image;

struct Options : Common {
  std::string image, reference, mask, group, reference_group;
  bool scale = false;
};

/// NIfTI and cfl pad their shapes with axes of one element that say nothing; npy means the axes that it
/// names.
bool has_padded_axes(const Image& image) { return image.format != "npy"; }

void drop_padding(Image& a, Image& b) {
  if (!has_padded_axes(a) && !has_padded_axes(b)) return;
  a.data.reshape(spinloom::without_leading_ones(a.data.shape));
  b.data.reshape(spinloom::without_leading_ones(b.data.shape));
}

void warn_of_other_places(const Image& a, const Image& b, const Console& console) {
  if (!a.geometry.is_known || !b.geometry.is_known) return;
  const auto size = b.geometry.voxel_size();
  double gap = 0;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      gap = std::max(gap, std::abs(a.geometry.matrix[row][column] - b.geometry.matrix[row][column]));
  // A hundredth of a voxel is beyond what rounding in the headers explains.
  if (gap > 0.01 * std::min({size[0], size[1], size[2]}))
    console.warning(
        "the two images lie at different places or orientations in space; voxels are compared by index");
}

std::string number(double v, int digits) {
  return std::isnan(v) ? "undefined" : fmt::format("{:.{}g}", v, digits);
}

void run(const Options& o) {
  o.start();
  const Console console = o.console();
  const spinloom::LoadOptions load{.log = console.log()};
  Image image = spinloom::load_image(o.image, {.group = o.group, .log = load.log}),
        reference = spinloom::load_image(o.reference, {.group = o.reference_group, .log = load.log}), mask;
  warn_of_other_places(image, reference, console);
  drop_padding(image, reference);
  if (image.data.shape != reference.data.shape)
    throw spinloom::ShapeError(fmt::format("{} has shape {}, {} has {}; expected the same", o.image,
                                           spinloom::to_string(image.data.shape), o.reference,
                                           spinloom::to_string(reference.data.shape)));
  if (!o.mask.empty()) {
    mask = spinloom::load_image(o.mask, load);
    if (has_padded_axes(mask) || mask.data.shape.size() > image.data.shape.size())
      mask.data.reshape(spinloom::without_leading_ones(mask.data.shape));
  }
  const spinloom::Quality q = spinloom::with_context(o.image + " and " + o.reference, [&] {
    return compare_images(image.data, reference.data,
                          {.fit_scale = o.scale, .mask = o.mask.empty() ? nullptr : &mask.data});
  });
  if (q.is_magnitude) console.note("one image is real and the other complex: their magnitudes are compared");

  const Json json = {{"image", o.image},
                     {"reference", o.reference},
                     {"shape", image.data.shape},
                     {"elements", q.elements},
                     {"compared", q.is_magnitude ? "magnitude"
                                  : q.is_complex ? "complex"
                                                 : "real"},
                     {"nrmse", q.nrmse},
                     {"psnr_db", q.psnr_db},
                     {"ssim", q.ssim},
                     {"max_abs_difference", q.max_abs_difference},
                     {"correlation", q.correlation},
                     {"scale", {q.scale.real(), q.scale.imag()}}};
  std::string text =
      fmt::format("NRMSE        {}\nPSNR         {} dB\nSSIM         {}\nmax |A - B|  {}\ncorrelation  {}",
                  number(q.nrmse, 6), number(q.psnr_db, 5), number(q.ssim, 5),
                  number(q.max_abs_difference, 6), number(q.correlation, 7));
  if (o.scale)
    text += q.is_complex ? fmt::format("\nscale        {:.6g} {:+.6g}i", q.scale.real(), q.scale.imag())
                         : fmt::format("\nscale        {:.6g}", q.scale.real());
  console.result(json, text);
}

}  // namespace

Command add_compare(CLI::App& program) {
  auto* app = program.add_subcommand(
      "compare", "Compare an image with a reference: NRMSE, PSNR, SSIM, largest difference");
  auto o = std::make_shared<Options>();
  app->add_option("A", o->image, "image (NIfTI, npy, cfl, PNG, MRD images)")->required();
  app->add_option("B", o->reference, "reference; it sets the peak of PSNR and the norm of NRMSE")->required();
  app->add_option("--group", o->group, "image series of A when it is an MRD file with several");
  app->add_option("--reference-group", o->reference_group, "the same for B");
  app->add_option("--mask", o->mask, "image that is not 0 where voxels count");
  app->add_flag("--scale", o->scale, "first multiply A by the factor that brings it closest to B");
  declare_common(*app, *o, with_threads);
  app->footer(
      "In JSON, a value that is infinite (PSNR of equal images) or undefined is null. "
      "Example: spinloom compare recon.nii.gz truth.nii.gz --scale --json");
  return {app, [o] { run(*o); }};
}
