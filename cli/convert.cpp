#include <fmt/format.h>

#include "commands.hpp"
#include "common.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"

namespace {

using spinloom::ComplexPart;
using spinloom::DType;
using spinloom::Image;

struct Options : Common {
  std::string input, output, group;
  std::optional<DType> type;
  bool magnitude = false, phase = false, real = false, imaginary = false;

  ComplexPart part() const {
    return magnitude   ? ComplexPart::magnitude
           : phase     ? ComplexPart::phase
           : real      ? ComplexPart::real
           : imaginary ? ComplexPart::imaginary
                       : ComplexPart::refuse;
  }
};

bool is_imaginary_part_zero(const spinloom::Tensor& values) {
  const auto parts = values.to<spinloom::cdouble>();
  return std::all_of(parts.begin(), parts.end(), [](const spinloom::cdouble& v) { return v.imag() == 0; });
}

bool changes_by_rounding(const spinloom::Tensor& before, const spinloom::Tensor& after) {
  const auto a = before.to<double>(ComplexPart::magnitude), b = after.to<double>(ComplexPart::magnitude);
  return !std::equal(a.begin(), a.end(), b.begin());
}

/// The values as asked for; complex ones become real only when asked, or when nothing is lost.
void convert_values(Image& image, const Options& o, const Console& console) {
  using spinloom::is_colour;
  if (is_colour(image.data.dtype)) {
    if (o.type || o.part() != ComplexPart::refuse)
      throw spinloom::ArgumentError(o.input + ": is in colour, which has no other type or complex part");
    return;
  }
  if (o.part() != ComplexPart::refuse) {
    if (!is_complex(image.data.dtype))
      throw spinloom::ArgumentError(fmt::format("{}: holds {}, so that it has no complex part to choose",
                                                o.input, to_string(image.data.dtype)));
    image.data = image.data.cast(image.data.dtype == DType::c64 ? DType::f32 : DType::f64, o.part());
  }
  const bool to_png = o.output.ends_with(".png");
  if (to_png && !o.type && image.data.dtype != DType::u8 && image.data.dtype != DType::u16)
    throw spinloom::ArgumentError(
        fmt::format("{}: a PNG cannot hold {} values; give --type uint8 or uint16, or draw it with "
                    "'spinloom view'",
                    o.output, to_string(image.data.dtype)));
  if (!o.type) return;
  if (is_complex(image.data.dtype) && !is_complex(*o.type)) {
    if (!is_imaginary_part_zero(image.data))
      throw spinloom::ArgumentError(
          fmt::format("{}: is complex, and {} would lose its imaginary part; add --magnitude, --phase, "
                      "--real or --imaginary",
                      o.input, to_string(*o.type)));
    console.note("the imaginary part is zero everywhere and is left out");
    image.data = image.data.cast(DType::f64, ComplexPart::real);
  }
  spinloom::Tensor converted = image.data.cast(*o.type);
  if (is_integer(*o.type) && !is_integer(image.data.dtype) && changes_by_rounding(image.data, converted))
    console.warning(fmt::format("values were rounded to {}", to_string(*o.type)));
  image.data = std::move(converted);
}

void run(const Options& o) {
  o.start();
  const Console console = o.console();
  Image image = spinloom::load_image(o.input, {.group = o.group, .log = console.log()});
  const bool keeps_values = !o.type && o.part() == ComplexPart::refuse;
  convert_values(image, o, console);
  if (o.output.ends_with(".png")) {
    image.data.reshape(spinloom::without_leading_ones(image.data.shape));
    while (image.data.shape.size() < 2) image.data.reshape(spinloom::prepend(1, image.data.shape));
  }
  spinloom::SaveOptions save{.log = console.log()};
  // From NIfTI to NIfTI the numbers in the file stay what they are, scaling included.
  if (keeps_values && image.nifti) save.nifti.type = spinloom::NiftiOptions::Type::stored;
  save_image(o.output, image, o.existing(), save);
  const Json json = {{"input", o.input},
                     {"output", o.output},
                     {"shape", image.data.shape},
                     {"type", to_string(image.data.dtype)}};
  console.result(json, fmt::format("{}: {} {}", o.output, to_string(image.data.dtype),
                                   spinloom::to_string(image.data.shape)));
}

}  // namespace

Command add_convert(CLI::App& program) {
  auto* app = program.add_subcommand("convert", "Convert an image between NIfTI, npy, cfl and PNG");
  auto o = std::make_shared<Options>();
  app->add_option("A", o->input, "image to read (NIfTI, npy, cfl, PNG, MRD images)")->required();
  app->add_option("B", o->output, "image to write, the format by its ending: " + spinloom::image_endings())
      ->required()
      ->check([](const std::string& name) {
        return spinloom::can_save_image(name)
                   ? std::string()
                   : "'" + name + "' names no image format, expected " + spinloom::image_endings();
      });
  app->add_option("--group", o->group, "image series of an MRD file, when there are several");
  app->add_option_function<std::string>(
         "--type",
         [o](const std::string& name) {
           try {
             o->type = spinloom::parse_dtype(name);
           } catch (const spinloom::Error& e) {
             throw CLI::ValidationError("--type", e.what());
           }
         },
         "element type: float32, float64, complex64, uint8, int16, ...; values that do not fit are refused")
      ->type_name("TYPE");
  auto* parts = app->add_option_group("part", "which part of a complex image to take");
  parts->add_flag("--magnitude", o->magnitude, "modulus");
  parts->add_flag("--phase", o->phase, "phase [radians]");
  parts->add_flag("--real", o->real, "real part");
  parts->add_flag("--imaginary", o->imaginary, "imaginary part");
  parts->require_option(0, 1);
  declare_common(*app, *o, with_force);
  app->footer("Example: spinloom convert recon.nii.gz recon.npy --magnitude");
  return {app, [o] { run(*o); }};
}
