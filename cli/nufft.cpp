#include <fmt/format.h>

#include <chrono>

#include "commands.hpp"
#include "common.hpp"
#include "nufft_arrays.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/io/cfl.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom_version.hpp"

using namespace spinloom;

namespace {

struct Options : Common {
  std::string direction, trajectory, input, output, matrix, units = "cycles-per-fov", fft = "passes";
  NufftOptions nufft;
  bool exact = false, in_double = false;
};

constexpr const char* scaling = "none: plain sums; BART's nufft is this divided by sqrt(voxels)";

double seconds_since(std::chrono::steady_clock::time_point& start) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - start).count();
  start = now;
  return seconds;
}

void save(const Options& o, const Tensor& result) {
  if (o.output.ends_with(".npy"))
    write_npy(o.output, result, o.existing());
  else
    write_cfl(o.output, result, o.existing());
}

template <class Real>
void run(const Options& o) {
  using Complex = std::complex<Real>;
  const Device device = o.start(Common::Gpu::accepted);
  const Console console = o.console();
  const bool is_forward = o.direction == "forward";
  if (!o.output.ends_with(".npy") && !o.output.ends_with(".cfl"))
    throw CLI::ValidationError("-o", "'" + o.output + "' has no known ending, expected .npy or .cfl");
  if (o.output.ends_with(".npy")) OutputFile probe(o.output, o.existing());  // before the work, not after it

  auto clock = std::chrono::steady_clock::now();
  const Shape matrix = parse_matrix("--matrix", o.matrix);
  const NufftTrajectory t =
      read_nufft_trajectory(o.trajectory, matrix, parse_trajectory_unit(o.units), console.log());
  const Shape& in_shape = is_forward ? matrix : t.samples;
  const Shape& out_shape = is_forward ? t.samples : matrix;
  const DType type = sizeof(Real) == sizeof(float) ? DType::c64 : DType::c128;
  const CoilArray in =
      read_coil_array(o.input, in_shape, is_forward ? "image" : "k-space", !is_forward, type);
  Json seconds = {{"read", seconds_since(clock)}};

  NufftOptions options = o.nufft;
  options.log = console.log();
  if (o.fft == "fftw") options.transform = NufftOptions::GridTransform::fftw;
  const auto transform = o.exact ? make_dft<Real>(t.k, t.matrix, in.coils, device)
                                 : make_nufft<Real>(t.k, t.matrix, in.coils, options, device);
  seconds["plan"] = seconds_since(clock);
  Tensor result(type, result_shape(o.output, out_shape, in, is_forward));
  const View<const Complex> from = in.values.as<Complex>();
  const View<Complex> to = result.as<Complex>();
  if (is_forward)
    transform->forward(from.reshaped(transform->domain()), to.reshaped(transform->range()));
  else
    transform->adjoint(from.reshaped(transform->range()), to.reshaped(transform->domain()));
  seconds["apply"] = seconds_since(clock);
  if (!all_finite<Complex>(std::as_const(result).as<Complex>()))
    throw ArgumentError(fmt::format("{}: the result is beyond the range of {}; scale the input down{}",
                                    o.input, to_string(type), o.in_double ? "" : ", or use --double"));
  save(o, result);
  seconds["write"] = seconds_since(clock);

  const Index samples = t.k->samples();
  Json json = {{"direction", o.direction}, {"trajectory", o.trajectory},
               {"input", o.input},         {"output", o.output},
               {"matrix", matrix},         {"samples", samples},
               {"coils", in.coils},        {"operator", transform->name()}};
  if (!o.exact) json.update({{"tolerance", o.nufft.tolerance}, {"fft", o.fft}});
  json.update({{"precision", to_string(type)},
               {"units", o.units},
               {"scaling", scaling},
               {"shape", result.shape},
               {"device", to_string(device)},
               {"seconds", seconds},
               {"version", SPINLOOM_VERSION}});
  o.console().result(json,
                     fmt::format("{}: {} {}, {} samples, {} coil(s), {:.3g} s", o.output, transform->name(),
                                 o.direction, samples, in.coils, seconds["apply"].get<double>()));
}

}  // namespace

Command add_nufft(CLI::App& program) {
  auto* app = program.add_subcommand(
      "nufft", "Transform an image to samples along a trajectory, or back by the adjoint");
  auto o = std::make_shared<Options>();
  app->footer(
      "forward:  y[m] = sum_n x[n] exp(-2 pi i k[m].r[n]),  r[n] = (n - floor(N/2)) / N per axis\n"
      "adjoint:  x[n] = sum_m y[m] exp(+2 pi i k[m].r[n]),  the exact conjugate transpose, not an inverse\n"
      "Neither is scaled: BART's nufft is this divided by sqrt(voxels).\n\n"
      "FILES (.npy, or .cfl with its .hdr)\n"
      "  trajectory  npy [samples..., columns], columns as image axes: (kz, ky, kx), (ky, kx) or (kx)\n"
      "              cfl (3, samples, spokes): kx, ky, kz\n"
      "  image       npy [matrix] or [coils, matrix];       cfl (x, y, z, coils)\n"
      "  k-space     npy [samples...] or [coils, samples...]; cfl (1, samples, spokes, coils)\n"
      "Real input is complex with an imaginary part of 0. cfl files hold single precision.\n\n"
      "EXAMPLE\n"
      "  spinloom nufft adjoint --traj traj.npy --in kspace.npy -o image.npy --matrix 256,256 --tolerance "
      "1e-5");
  app->add_option("DIRECTION", o->direction, "forward or adjoint")
      ->required()
      ->check(CLI::IsMember({"forward", "adjoint"}));
  app->add_option("--traj", o->trajectory, "trajectory")->required();
  app->add_option("--in", o->input, "image (forward) or k-space (adjoint)")->required();
  app->add_option("-o,--output", o->output, "k-space (forward) or image (adjoint), .npy or .cfl")->required();
  app->add_option("--matrix", o->matrix, "image size in voxels: Z,Y,X or Y,X or X")->required();
  auto* exact = app->add_flag("--exact", o->exact, "sum directly, without gridding");
  app->add_option("--tolerance", o->nufft.tolerance,
                  "relative error aimed at; to 1e-6, with --double to 1e-12")
      ->check(above(0))
      ->capture_default_str()
      ->excludes(exact);
  app->add_option("--oversampling", o->nufft.oversampling, "grid size over image size, 1.15 to 4; 0: by cost")
      ->check([](const std::string& word) {
        double value = 0;
        const bool is_good =
            CLI::detail::lexical_cast(word, value) && (value == 0 || (value >= 1.15 && value <= 4));
        return is_good ? std::string() : "'" + word + "' is neither 0 nor a number from 1.15 to 4";
      })
      ->capture_default_str()
      ->excludes(exact);
  app->add_option("--fft", o->fft,
                  "what transforms the grid on the CPU: passes (the library's own, the same bits in every "
                  "process) or fftw "
                  "(measured plans, wisdom kept)")
      ->check(CLI::IsMember({"passes", "fftw"}))
      ->capture_default_str()
      ->excludes(exact);
  app->add_flag("--double", o->in_double, "compute in double precision");
  app->add_option("--traj-units", o->units, "unit of the trajectory")
      ->check(CLI::IsMember({"cycles-per-fov", "cycles-per-pixel", "radians"}))
      ->capture_default_str();
  declare_common(*app, *o, with_device | with_threads | with_force);
  return {app, [o] { o->in_double ? run<double>(*o) : run<float>(*o); }};
}
