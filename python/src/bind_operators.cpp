#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "bind.hpp"
#include "calls.hpp"
#include "operators.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom::python {

GivenTrajectory::GivenTrajectory(nb::handle trajectory, nb::handle matrix_, const std::string& units)
    : k(take(trajectory, "trajectory")),
      matrix(to_shape(matrix_, "matrix")),
      unit(parse_trajectory_unit(units)) {
  require_dtype(k, {DType::f64, DType::f32});
}

Shape GivenTrajectory::samples() const {
  return k.shape.empty() ? Shape{} : Shape(k.shape.begin(), k.shape.end() - 1);
}

PlacedTrajectory GivenTrajectory::place(const Log& log) const {
  const Array<double> values = to_double(k);
  return place_trajectory({.values = values.view(),
                           .unit = unit,
                           .layout = PlainTrajectory::Layout::columns_last,
                           .order = PlainTrajectory::Order::zyx},
                          matrix, log);
}

std::string device_advice(const std::string& worker, Device works_on, const std::string& name,
                          Device device) {
  const bool on_gpu = works_on.kind == DeviceKind::cuda;
  return "expected " + (on_gpu ? to_string(works_on) : std::string("the host")) + ", where the " + worker +
         " works; " +
         (on_gpu ? "copy it there"
                 : "copy it there, for example with " + name + ".get() or " + name + ".cpu()") +
         ", or make the operator with device='" + to_string(device) + "'";
}

namespace {

Shape with_coils(std::optional<Index> coils, const Shape& rest) {
  return coils ? prepend(*coils, rest) : rest;
}

Index coil_count(std::optional<Index> coils) {
  if (coils && *coils < 1)
    throw ArgumentError("coils = " + std::to_string(*coils) + ", expected 1 or more, or None");
  return coils.value_or(1);
}

Operator make_fourier(nb::handle trajectory, nb::handle matrix, std::optional<Index> coils, double tolerance,
                      double oversampling, bool exact, const std::string& dtype, const std::string& units,
                      const std::string& device) {
  LongCall call;
  const GivenTrajectory given(trajectory, matrix, units);
  return call.run([&]() -> Operator {
    const Index n = coil_count(coils);
    const Device where = choose_device(device, call.log());
    const PlacedTrajectory t = given.place(call.log());
    return with_precision(dtype, [&](auto real) {
      using Real = decltype(real);
      const NufftOptions options{.tolerance = tolerance, .oversampling = oversampling, .log = call.log()};
      auto made = exact ? make_dft<Real>(t.trajectory, t.matrix, n, where)
                        : make_nufft<Real>(t.trajectory, t.matrix, n, options, where);
      return Operator(std::move(made), with_coils(coils, given.matrix), with_coils(coils, given.samples()));
    });
  });
}

Operator make_normal(nb::handle trajectory, nb::handle matrix, nb::handle weights, std::optional<Index> coils,
                     double tolerance, double oversampling, const std::string& dtype,
                     const std::string& units, const std::string& device) {
  LongCall call;
  const GivenTrajectory given(trajectory, matrix, units);
  std::optional<Given> w;
  if (!weights.is_none()) {
    w = take(weights, "weights");
    require_dtype(*w, {DType::f64, DType::f32});
    require_shape("NormalOperator", "weights", w->shape, given.samples());
  }
  return call.run([&]() -> Operator {
    const Index n = coil_count(coils);
    const Device where = choose_device(device, call.log());
    const PlacedTrajectory t = given.place(call.log());
    const Array<double> values = w ? to_double(*w) : Array<double>();
    const View<const double> list =
        w ? View<const double>(values.data(), {t.trajectory->samples()}) : View<const double>();
    const Shape shape = with_coils(coils, given.matrix);
    return with_precision(dtype, [&](auto real) {
      const NufftOptions options{.tolerance = tolerance, .oversampling = oversampling, .log = call.log()};
      return Operator(make_toeplitz<decltype(real)>(t.trajectory, t.matrix, list, n, options, where), shape,
                      shape);
    });
  });
}

template <class Real>
Operator make_encoding_of(LongCall& call, const GivenTrajectory& given, Input<std::complex<Real>>& maps,
                          double tolerance, const std::string& kind, Index coil_batch, Device device) {
  const PlacedTrajectory t = given.place(call.log());
  const auto view = maps.view();
  Shape shape = view.shape;
  if (shape.size() == given.matrix.size() + 1 && Shape(shape.begin() + 1, shape.end()) == given.matrix)
    shape = prepend(shape[0], t.matrix);
  require_coil_maps(shape, shape.empty() ? 0 : shape[0], t.matrix);
  auto kept = std::make_shared<Array<std::complex<Real>>>(
      Array<std::complex<Real>>::copy_of(view.reshaped(shape), device));
  // Operators of few coil counts are asked for again and again.
  const auto cached = [](CoilTransform<Real> make) -> CoilTransform<Real> {
    auto made = std::make_shared<std::map<Index, OperatorPtr<Real>>>();
    return [made, make = std::move(make)](Index coils) {
      auto& entry = (*made)[coils];
      if (!entry) entry = make(coils);
      return entry;
    };
  };
  // The operator outlives the call, whose log it may not keep; what there is to say of the tolerance is said now.
  const NufftOptions options{.tolerance = tolerance};
  make_nufft<Real>(t.trajectory, t.matrix, 1, {.tolerance = tolerance, .log = call.log()}, device);
  CoilTransform<Real> fourier, gram;
  if (kind == "dft")
    fourier = cached([=](Index coils) { return make_dft<Real>(t.trajectory, t.matrix, coils, device); });
  else
    fourier =
        cached([=](Index coils) { return make_nufft<Real>(t.trajectory, t.matrix, coils, options, device); });
  if (kind == "toeplitz")
    gram = cached(
        [=](Index coils) { return make_toeplitz<Real>(t.trajectory, t.matrix, {}, coils, options, device); });
  return Operator(make_encoding<Real>(kept, fourier, coil_batch, gram), given.matrix,
                  prepend(view.shape[0], given.samples()));
}

Operator make_encoding_operator(nb::handle trajectory, nb::handle maps, nb::handle matrix, double tolerance,
                                const std::string& kind, Index coil_batch, const std::string& units,
                                const std::string& device) {
  LongCall call;
  const GivenTrajectory given(trajectory, matrix, units);
  const Device where = call.run([&] { return choose_device(device, call.log()); });
  Given array = take(maps, "maps", [&](Device found) -> std::string {
    if (found.kind != DeviceKind::cuda || found == where) return "";
    return device_advice("encoding operator", where, "maps", found);
  });
  require_dtype(array, {DType::c64, DType::c128});
  const auto make = [&]<class Real>(Input<std::complex<Real>> input) {
    return call.run([&] {
      return on_gpu_of(where, [&] {
        return make_encoding_of<Real>(call, given, input, tolerance, kind, coil_batch, where);
      });
    });
  };
  return array.dtype == DType::c128 ? make(Input<cdouble>(std::move(array)))
                                    : make(Input<cfloat>(std::move(array)));
}

/// y = A x, or x = A^H y.
nb::object apply(const Operator& a, nb::handle in, nb::handle out, bool is_forward) {
  return visit_operator(a, [&](const auto& pointer, auto real) {
    using Complex = std::complex<decltype(real)>;
    const std::string name = is_forward ? "x" : "y";
    Input<Complex> input(in, name, unless_taken_by(*pointer, name));
    require_shape(pointer->name() + (is_forward ? " forward" : " adjoint"), "input", input.shape(),
                  is_forward ? pointer->domain() : pointer->range());
    Output<Complex> output(out, is_forward ? pointer->range() : pointer->domain(), input.given());
    // A sum of operators for the host may still work on a GPU, as the identity does.
    const Device busy = input.device().kind == DeviceKind::cuda ? input.device() : pointer->device();
    LongCall call;
    call.run(
        [&] { on_gpu_of(busy, [&] { apply_anywhere(*pointer, input.view(), output.view(), is_forward); }); });
    return output.result();
  });
}

Operator normal_of(const Operator& a) {
  LongCall call;
  return call.run([&] {
    return visit_operator(
        a, [](const auto& pointer, auto real) { return Operator(normal<decltype(real)>(pointer)); });
  });
}

Operator transposed(const Operator& a) {
  return visit_operator(a, [](const auto& pointer, auto real) {
    return Operator(conjugate_transpose<decltype(real)>(pointer));
  });
}

/// alpha A + beta B
Operator sum_of(const Operator& a, double alpha, const Operator& b, double beta) {
  if (a.a.index() != b.a.index())
    throw nb::type_error("sum of operators: one is complex64, the other complex128; make both of one dtype");
  return visit_operator(a, [&](const auto& pointer, auto real) {
    using Real = decltype(real);
    return Operator(sum<Real>({pointer, std::get<OperatorPtr<Real>>(b.a)}, {Real(alpha), Real(beta)}));
  });
}

Operator scaled(const Operator& a, double alpha) {
  return visit_operator(a, [&](const auto& pointer, auto real) {
    using Real = decltype(real);
    return Operator(sum<Real>({pointer}, {Real(alpha)}));
  });
}

Operator identity_on(nb::handle shape, const std::string& dtype) {
  const Shape s = to_shape(shape, "shape");
  count(s);
  return with_precision(dtype, [&](auto real) { return Operator(identity<decltype(real)>(s)); });
}

Shape domain_of(const Operator& a) {
  return visit_operator(a, [](const auto& pointer, auto) { return pointer->domain(); });
}
Shape range_of(const Operator& a) {
  return visit_operator(a, [](const auto& pointer, auto) { return pointer->range(); });
}

double gap(const Operator& a, unsigned seed) {
  LongCall call;
  return call.run([&] {
    return visit_operator(a, [&](const auto& pointer, auto) { return adjoint_mismatch(*pointer, seed); });
  });
}

}  // namespace

void bind_operators(nb::module_& m) {
  nb::class_<Operator>(m, "Operator")
      .def_prop_ro("domain", [](const Operator& a) { return to_tuple(domain_of(a)); })
      .def_prop_ro("range", [](const Operator& a) { return to_tuple(range_of(a)); })
      .def_prop_ro("dtype", [](const Operator& a) { return a.a.index() == 0 ? "complex64" : "complex128"; })
      .def_prop_ro(
          "name",
          [](const Operator& a) { return visit_operator(a, [](const auto& p, auto) { return p->name(); }); })
      .def_prop_ro("device",
                   [](const Operator& a) {
                     return visit_operator(a, [](const auto& p, auto) { return to_string(p->device()); });
                   })
      .def("apply", &apply, nb::arg("x").none(), nb::arg("out").none(), nb::arg("is_forward"))
      .def("normal", &normal_of)
      .def("conjugate_transpose", &transposed)
      .def("plus", &sum_of, nb::arg("alpha"), nb::arg("other"), nb::arg("beta"))
      .def("scaled", &scaled, nb::arg("alpha"))
      .def("adjoint_gap", &gap, nb::arg("seed"));
  m.def("make_fourier", &make_fourier, nb::arg("trajectory").none(), nb::arg("matrix").none(),
        nb::arg("coils").none(), nb::arg("tolerance"), nb::arg("oversampling"), nb::arg("exact"),
        nb::arg("dtype"), nb::arg("units"), nb::arg("device"));
  m.def("make_normal", &make_normal, nb::arg("trajectory").none(), nb::arg("matrix").none(),
        nb::arg("weights").none(), nb::arg("coils").none(), nb::arg("tolerance"), nb::arg("oversampling"),
        nb::arg("dtype"), nb::arg("units"), nb::arg("device"));
  m.def("make_encoding", &make_encoding_operator, nb::arg("trajectory").none(), nb::arg("maps").none(),
        nb::arg("matrix").none(), nb::arg("tolerance"), nb::arg("kind"), nb::arg("coil_batch"),
        nb::arg("units"), nb::arg("device"));
  m.def(
      "place_of", [](nb::handle array, const std::string& name) { return to_string(place_of(array, name)); },
      nb::arg("array").none(), nb::arg("name"));
  m.def("make_identity", &identity_on, nb::arg("shape").none(), nb::arg("dtype"));
}

}  // namespace spinloom::python
