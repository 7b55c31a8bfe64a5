#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "bind.hpp"
#include "calls.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "spinloom/stencil/poisson.hpp"
#include "spinloom/stencil/program.hpp"

namespace spinloom::python {
namespace {

namespace st = stencil;
using Faces = std::vector<std::pair<std::string, std::string>>;

const char* word(st::PoissonStop stop) {
  switch (stop) {
    case st::PoissonStop::converged: return "converged";
    case st::PoissonStop::stagnated: return "stagnated";
    case st::PoissonStop::cycle_limit: return "cycle limit";
    case st::PoissonStop::observer: return "observer";
  }
  return "unknown";
}

/// What a problem consists of beside its right side, as Python gave it.
struct Parts {
  nb::handle start, mask, weights, quality;
  std::vector<double> spacing;
  double screening = 0;
  Faces faces;
  st::PoissonOptions options;
  std::string device;
  nb::handle observe;
};

/// Real values on the host, copied.
template <class Real>
std::optional<Input<Real>> optional_input(nb::handle array, const char* name, const Shape& shape) {
  std::optional<Input<Real>> input;
  if (array.is_none()) return input;
  input.emplace(array, name);
  require_shape("poisson", name, input->shape(), shape);
  return input;
}

template <class T>
nb::tuple solve(const Given& given, Parts& parts) {
  using Real = st::real_of<T>;
  Input<T> rhs{given};
  st::PoissonProblem<Real> problem;
  problem.shape = rhs.shape();
  problem.spacing = parts.spacing;
  problem.screening = parts.screening;
  for (const auto& [low, high] : parts.faces) {
    problem.low.push_back(st::parse_boundary(low));
    problem.high.push_back(st::parse_boundary(high));
  }
  if (!parts.mask.is_none()) {
    const Given mask = take(parts.mask, "mask");
    require_dtype(mask, {DType::b1, DType::u8});
    require_shape("poisson", "mask", mask.shape, problem.shape);
    problem.mask.resize(static_cast<std::size_t>(count(problem.shape)));
    mask.pack(reinterpret_cast<std::byte*>(problem.mask.data()));
  }
  Shape per_face = problem.shape;
  per_face.insert(per_face.begin(), static_cast<Index>(problem.shape.size()));
  std::optional<Input<Real>> weights = optional_input<Real>(parts.weights, "weights", per_face),
                             quality = optional_input<Real>(parts.quality, "quality", problem.shape);
  if (weights && quality)
    throw ArgumentError("poisson: weights and quality were given; quality becomes weights");
  std::optional<Input<T>> start;
  if (!parts.start.is_none()) {
    start.emplace(parts.start, "start", only_on(rhs.device(), "as rhs lies there"));
    require_shape("poisson", "start", start->shape(), problem.shape);
  }
  LongCall call;
  Device where = rhs.device();
  if (!parts.device.empty()) where = call.run([&] { return choose_device(parts.device, call.log()); });
  if (rhs.device().kind == DeviceKind::cuda && where != rhs.device())
    throw ArgumentError("rhs lies on " + to_string(rhs.device()) + ", and device is '" + parts.device +
                        "'; copy it there, or leave device away");
  if (!parts.observe.is_none())
    parts.options.observe = [&](int cycle, double residual) {
      bool stops = false;
      call.call_python([&] { stops = nb::cast<bool>(nb::bool_(parts.observe(cycle, residual))); });
      return !stops;
    };
  Array<T> u;
  const auto work = [&] {
    if (weights) {
      const View<const Real> w = weights->view();
      problem.weights.assign(w.begin(), w.end());
    }
    if (quality) problem.weights = st::face_weights<Real>(problem.shape, quality->view());
    u = start ? Array<T>::copy_of(start->view(), where) : Array<T>::zeros(problem.shape, where);
    Array<T> storage;
    const st::PoissonResult done =
        st::Multigrid<Real>(problem).solve(on_device<T>(rhs.view(), where, storage), parts.options, u.view());
    if (!share_memory(rhs.device(), where)) u = Array<T>::copy_of(u.view(), rhs.device());
    return done;
  };
  const st::PoissonResult r =
      call.run([&] { return where.kind == DeviceKind::cuda ? on_gpu_of(where, work) : work(); });
  return nb::make_tuple(to_python(std::move(u)), r.cycles, r.residual, r.converged, word(r.stop), r.reason,
                        r.history, r.removed, r.singular_parts);
}

}  // namespace

void bind_poisson(nb::module_& m) {
  m.def(
      "poisson",
      [](nb::handle rhs, nb::handle start, nb::handle mask, nb::handle weights, nb::handle quality,
         const std::vector<double>& spacing, double screening, const Faces& faces, double tolerance,
         int cycles, int smoothing, const std::string& method, const std::string& device,
         nb::handle observe) {
        Parts parts;
        parts.start = start, parts.mask = mask, parts.weights = weights, parts.quality = quality;
        parts.spacing = spacing;
        parts.screening = screening;
        parts.faces = faces;
        parts.device = device;
        parts.observe = observe;
        parts.options.tolerance = tolerance;
        parts.options.cycles = cycles;
        parts.options.smoothing = smoothing;
        using Method = st::PoissonOptions::Method;
        parts.options.method = method == "cycles" ? Method::cycles
                               : method == "cg"   ? Method::conjugate_gradients
                                                  : Method::automatic;
        const Given given = take(rhs, "rhs", [](Device) { return std::string(); });
        require_dtype(given, {DType::f32, DType::f64, DType::c64, DType::c128});
        switch (given.dtype) {
          case DType::f32: return solve<float>(given, parts);
          case DType::f64: return solve<double>(given, parts);
          case DType::c64: return solve<cfloat>(given, parts);
          default: return solve<cdouble>(given, parts);
        }
      },
      nb::arg("rhs"), nb::arg("start").none(), nb::arg("mask").none(), nb::arg("weights").none(),
      nb::arg("quality").none(), nb::arg("spacing"), nb::arg("screening"), nb::arg("faces"),
      nb::arg("tolerance"), nb::arg("cycles"), nb::arg("smoothing"), nb::arg("method"), nb::arg("device"),
      nb::arg("observe").none());
}

}  // namespace spinloom::python
