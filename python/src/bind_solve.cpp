#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind.hpp"
#include "calls.hpp"
#include "operators.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/solve/power_iteration.hpp"

namespace spinloom::python {
namespace {

const char* word(CgStop stop) {
  switch (stop) {
    case CgStop::converged: return "converged";
    case CgStop::stagnated: return "stagnated";
    case CgStop::iteration_limit: return "iteration limit";
    case CgStop::observer: return "observer";
  }
  return "unknown";
}

nb::tuple solve(const Operator& a, nb::handle b, nb::handle start, const CgOptions& options,
                nb::handle observe) {
  return visit_operator(a, [&](const auto& pointer, auto real) {
    using Real = decltype(real);
    using Complex = std::complex<Real>;
    Input<Complex> rhs(b, "b", unless_taken_by(*pointer, "b"));
    require_shape("cg", "b", rhs.shape(), pointer->domain());
    require_shape("cg", "range of A", pointer->range(), pointer->domain());
    std::optional<Input<Complex>> x0;
    if (!start.is_none()) {
      x0.emplace(start, "x0", only_on(rhs.device(), "as b lies there"));
      require_shape("cg", "x0", x0->shape(), pointer->domain());
    }
    // On the GPU of A, but for a sum of which a term is of the host's.
    Device where = rhs.device();
    if (const Device its = pointer->device(); where.kind != DeviceKind::cuda && pointer->takes(its, its))
      where = its;
    Array<Complex> x;
    LongCall call;
    const CgObserver<Real> observer = [&](const CgStep<Real>& step) {
      bool stops = false;
      call.call_python([&] { stops = nb::cast<bool>(nb::bool_(observe(step.iteration, step.residual))); });
      return stops ? Next::stop : Next::go_on;
    };
    const auto work = [&] {
      x = x0 ? Array<Complex>::copy_of(x0->view(), where) : Array<Complex>::zeros(pointer->domain(), where);
      Array<Complex> storage;
      CgResult done = cg<Real>(*pointer, on_device(rhs.view(), where, storage), options, x.view(),
                               observe.is_none() ? CgObserver<Real>() : observer);
      if (!share_memory(rhs.device(), where)) x = Array<Complex>::copy_of(x.view(), rhs.device());
      return done;
    };
    const CgResult result = call.run([&] { return on_gpu_of(where, work); });
    return nb::make_tuple(to_python(std::move(x)), result.iterations, result.residual, result.converged,
                          word(result.stop), result.reason, result.history);
  });
}

}  // namespace

void bind_solve(nb::module_& m) {
  m.def(
      "cg",
      [](const Operator& a, nb::handle b, nb::handle x0, int iterations, double tolerance,
         int stagnation_window, double stagnation, nb::handle observe) {
        return solve(a, b, x0,
                     {.iterations = iterations,
                      .tolerance = tolerance,
                      .stagnation_window = stagnation_window,
                      .stagnation = stagnation},
                     observe);
      },
      nb::arg("a"), nb::arg("b").none(), nb::arg("x0").none(), nb::arg("iterations"), nb::arg("tolerance"),
      nb::arg("stagnation_window"), nb::arg("stagnation"), nb::arg("observe").none());
  m.def(
      "largest_eigenvalue",
      [](const Operator& a, int iterations, double tolerance, unsigned seed) {
        LongCall call;
        const PowerIterationResult r = call.run([&] {
          return visit_operator(a, [&](const auto& pointer, auto) {
            return power_iteration(*pointer,
                                   {.iterations = iterations, .tolerance = tolerance, .seed = seed});
          });
        });
        return nb::make_tuple(r.eigenvalue, r.iterations, r.converged);
      },
      nb::arg("a"), nb::arg("iterations"), nb::arg("tolerance"), nb::arg("seed"));
}

}  // namespace spinloom::python
