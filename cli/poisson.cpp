#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "commands.hpp"
#include "common.hpp"
#include "mask_values.hpp"
#include "output_set.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "spinloom/stencil/poisson.hpp"

namespace {

namespace st = spinloom::stencil;
using spinloom::Array;
using spinloom::Image;
using spinloom::Shape;

struct Options : Common {
  std::string input, output, mask, quality, initial;
  std::vector<std::string> boundary;
  std::vector<double> spacing;
  std::string method = "auto";
  st::PoissonOptions solver;
  double screening = 0;
};

/// "TEXT" for both faces of an axis, or "LOW | HIGH".
std::pair<st::Boundary, st::Boundary> parse_faces(const std::string& text) {
  const auto one = [](std::string word) {
    word.erase(0, word.find_first_not_of(' '));
    word.erase(word.find_last_not_of(' ') + 1);
    return st::parse_boundary(word);
  };
  const std::size_t bar = text.find('|');
  if (bar == std::string::npos) return {one(text), one(text)};
  return {one(text.substr(0, bar)), one(text.substr(bar + 1))};
}

/// What no image could make right is wrong usage; how many texts there may be depends on its axes.
std::string check_faces(const std::string& text) {
  using Kind = st::Boundary::Kind;
  try {
    const auto [low, high] = parse_faces(text);
    for (const auto& face : {low, high})
      if (face.kind != Kind::dirichlet && face.kind != Kind::neumann && face.kind != Kind::periodic)
        return fmt::format("'{}': expected dirichlet, neumann or periodic", text);
    if ((low.kind == Kind::periodic) != (high.kind == Kind::periodic))
      return fmt::format("'{}': an axis is periodic on both faces or on none; give 'periodic'", text);
    return {};
  } catch (const spinloom::ArgumentError& e) {
    return e.what();
  }
}

/// The image's values are numbers, and its shape without leading axes of one element is that of a grid.
Image load_values(const std::string& file, const Console& console, const Shape& like = {},
                  Shape* file_shape = nullptr) {
  Image image = spinloom::load_image(file, {.log = console.log()});
  if (is_complex(image.data.dtype) || is_colour(image.data.dtype))
    throw spinloom::FormatError(
        fmt::format("{}: holds {}, expected real numbers; 'spinloom convert' takes a part", file,
                    to_string(image.data.dtype)));
  Shape shape = image.data.shape;
  if (file_shape != nullptr) *file_shape = shape;
  while (shape.size() > 2 && shape[0] == 1 && shape.size() != like.size()) shape.erase(shape.begin());
  if (like.empty() && shape.size() != 2 && shape.size() != 3)
    throw spinloom::ShapeError(fmt::format("{}: has shape {}, and a Poisson problem has 2 or 3 axes", file,
                                           spinloom::to_string(image.data.shape)));
  if (!like.empty() && shape != like)
    throw spinloom::ShapeError(fmt::format("{}: has shape {}, the right side {}", file,
                                           spinloom::to_string(shape), spinloom::to_string(like)));
  image.data.reshape(shape);
  return image;
}

template <class T>
st::PoissonProblem<T> problem_of(const Options& o, const Shape& shape, const Console& console) {
  st::PoissonProblem<T> problem;
  problem.shape = shape;
  problem.screening = o.screening;
  const auto require_per_axis = [&](const char* option, std::size_t given) {
    if (given > 1 && given != shape.size())
      throw spinloom::ArgumentError(fmt::format(
          "{}: {} values for an image of {} axes; give one, or one for each", option, given, shape.size()));
  };
  require_per_axis("--spacing", o.spacing.size());
  require_per_axis("--boundary", o.boundary.size());
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (!o.spacing.empty()) problem.spacing.push_back(o.spacing[o.spacing.size() > 1 ? a : 0]);
    if (o.boundary.empty()) continue;
    const auto [low, high] = parse_faces(o.boundary[o.boundary.size() > 1 ? a : 0]);
    problem.low.push_back(low), problem.high.push_back(high);
  }
  if (!o.mask.empty()) {
    const Image mask = load_values(o.mask, console, shape);
    problem.mask.resize(static_cast<std::size_t>(mask.data.size()));
    to_mask(o.mask, mask.data, problem.mask.data());
  }
  if (!o.quality.empty()) {
    const Array<T> quality = load_values(o.quality, console, shape).data.to<T>();
    problem.weights = st::face_weights<T>(shape, quality.view());
  }
  return problem;
}

/// Cycles by the share of the way to the tolerance that the residual has gone.
std::function<bool(int, double)> observer(const spinloom::Progress& progress, double tolerance) {
  if (!progress) return {};
  return [=](int cycle, double residual) {
    const double share = residual > 0 && tolerance > 0 ? std::log(residual) / std::log(tolerance) : 1;
    progress("poisson", share > 0 ? std::min(share, 1.0) : 0,
             fmt::format("cycle {}, residual {:.2g}", cycle, residual));
    return true;
  };
}

template <class T>
void solve(const Options& o, Image image, const Shape& file_shape, spinloom::Device device) {
  const Console console = o.console();
  const Shape shape = image.data.shape;
  const st::Multigrid<T> multigrid(problem_of<T>(o, shape, console));
  Array<T> u =
      o.initial.empty() ? Array<T>::zeros(shape) : load_values(o.initial, console, shape).data.to<T>();
  OutputSet outputs(o.existing());
  const std::string to = o.output.ends_with(".cfl") ? outputs.add_cfl(o.output.substr(0, o.output.size() - 4))
                                                    : outputs.add(o.output);
  st::PoissonOptions options = o.solver;
  options.observe = observer(console.progress(), options.tolerance);
  st::PoissonResult done;
  const auto begin = std::chrono::steady_clock::now();
  {
    const Array<T> f = image.data.to<T>();
    Array<T> storage;
    Array<T> there =
        device.kind == spinloom::DeviceKind::cuda ? Array<T>::copy_of(u.view(), device) : std::move(u);
    done = multigrid.solve(spinloom::on_device<T>(f.view(), device, storage), options, there.view());
    u = device.kind == spinloom::DeviceKind::cuda ? Array<T>::copy_of(there.view(), {}) : std::move(there);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!done.converged)
    console.warning(fmt::format("{}: the residual is {:.3g} after {} cycles: {}", o.output, done.residual,
                                done.cycles, done.reason));
  if (done.removed > 1e-12)
    console.note(
        fmt::format("{:.3g} of the right side was its mean over parts that no fixed face holds; it was taken "
                    "away, and the mean of the result there is 0",
                    done.removed));
  image.data = spinloom::Tensor::copy_of(u);
  image.data.reshape(file_shape);
  const spinloom::Log renamed = [&](spinloom::Severity severity, const std::string& text) {
    console.log()(severity, outputs.by_final_names(text));
  };
  try {
    save_image(to, image, spinloom::OutputFile::Existing::replace, {.log = renamed});
  } catch (const spinloom::FileError& e) {
    throw spinloom::FileError(outputs.by_final_names(e.what()));
  }
  outputs.commit();
  console.result({{"input", o.input},
                  {"output", o.output},
                  {"device", to_string(device)},
                  {"size", shape},
                  {"dtype", sizeof(T) == 4 ? "float32" : "float64"},
                  {"cycles", done.cycles},
                  {"residual", done.residual},
                  {"converged", done.converged},
                  {"reason", done.reason},
                  {"removed", done.removed},
                  {"history", done.history},
                  {"seconds", seconds}},
                 fmt::format("{}: residual {:.3g} after {} cycles, {:.3g} s", o.output, done.residual,
                             done.cycles, seconds));
}

void run(Options& o) {
  const spinloom::Device device = o.start(Common::Gpu::accepted);
  using Method = st::PoissonOptions::Method;
  o.solver.method = o.method == "cycles" ? Method::cycles
                    : o.method == "cg"   ? Method::conjugate_gradients
                                         : Method::automatic;
  Shape file_shape;
  Image image = load_values(o.input, o.console(), {}, &file_shape);
  if (image.data.dtype == spinloom::DType::f64)
    solve<double>(o, std::move(image), file_shape, device);
  else
    solve<float>(o, std::move(image), file_shape, device);
}

}  // namespace

Command add_poisson(CLI::App& program) {
  auto* app = program.add_subcommand("poisson", "Solve the Poisson equation on an image by multigrid");
  auto o = std::make_shared<Options>();
  app->add_option("RHS", o->input, "right side f, an image of real numbers in 2D or 3D (NIfTI, npy, cfl)")
      ->required();
  app->add_option("-o,--output", o->output,
                  "the solution u, float64 where RHS is, else float32 (.npy, .nii, .nii.gz, .cfl)")
      ->required()
      ->check([](const std::string& name) {
        return spinloom::can_save_image(name) && !name.ends_with(".png")
                   ? std::string()
                   : "'" + name + "': expected a name that ends in .npy, .nii, .nii.gz or .cfl";
      });
  app->add_option("--mask", o->mask, "image: cells where it is 0 take no part, and become 0");
  app->add_option(
      "--quality", o->quality,
      "image: a face between two cells weighs the smaller of their squares, as in weighted unwrapping");
  app->add_option("--start", o->initial, "image of u to begin with; zeros without it");
  app->add_option("--screening", o->screening, "s in -div(w grad u) + s u = f")
      ->check(from(0))
      ->capture_default_str();
  app->add_option("--boundary", o->boundary,
                  "faces: 'neumann SLOPE' (per unit of length, outwards), 'dirichlet VALUE' or periodic; one "
                  "text for all, or "
                  "one for each axis Z Y X, of which each may be 'LOW | HIGH'. Without it no flux")
      ->expected(1, 3)
      ->check(check_faces);
  app->add_option("--spacing", o->spacing, "size of a cell, for all axes or Z,Y,X; 1 without it")
      ->delimiter(',')
      ->expected(1, 3)
      ->check(above(0));
  app->add_option("--tolerance", o->solver.tolerance, "stops at |f - A u| <= tolerance |f|")
      ->check(within(0, 1))
      ->capture_default_str();
  app->add_option("--cycles", o->solver.cycles, "at most so many V-cycles")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app->add_option("--method", o->method,
                  "cycles, or cg: they precondition conjugate gradients; auto: cg with a mask or weights")
      ->check(CLI::IsMember({"auto", "cycles", "cg"}))
      ->capture_default_str();
  declare_common(*app, *o, with_device | with_threads | with_force);
  app->footer(
      "-div(w grad u) + s u = f on cells, by V-cycles (docs/multigrid.md). Where nothing fixes the level of "
      "u, its mean is made "
      "0, and f's mean taken away. A result that did not reach the tolerance is written with a warning.\n"
      "Example: spinloom poisson laplacian.nii.gz -o phase.nii.gz --mask brain.nii.gz");
  return {app, [o] { run(*o); }};
}
