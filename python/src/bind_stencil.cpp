#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>

#include "arrays.hpp"
#include "bind.hpp"
#include "calls.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/linear.hpp"
#include "spinloom/stencil/parse.hpp"
#include "spinloom/stencil/stepper.hpp"

namespace spinloom::python {
namespace {

namespace st = stencil;
using Term = std::tuple<int, int, int, double>;

/// A stencil before the type of its elements is known.
struct Source {
  enum class Kind { builtin, linear, expression };
  Kind kind = Kind::builtin;
  std::string name, description;
  std::vector<std::string> fields;
  std::vector<std::pair<std::string, double>> params;  ///< with defaults; NaN: must be given
  std::vector<st::Definition> chain;
  std::vector<st::LinearTerm> terms;
  bool has_complex = false;

  template <class T>
  std::vector<st::Kernel<T>> kernels() const {
    if constexpr (std::is_same_v<T, Half>) return as_half();
    constexpr bool is_complex = !std::is_same_v<T, st::real_of<T>>;
    if (is_complex && !has_complex)
      throw ArgumentError("stencil '" + name + "' is for real elements, and the fields are complex");
    if constexpr (!std::is_same_v<T, Half>) {
      if (kind == Kind::builtin) return st::builtin_kernels<T>(name);
      if (kind == Kind::linear) return {st::make_linear_kernel<T>(name, chain[0].rank, terms)};
      if constexpr (!is_complex) return {st::make_interpreted_kernel<T>(chain[0])};
    }
    return {};
  }
  /// Stored in sixteen bits, computed in float. Row kernels of the host are there for some of the built-in ones.
  std::vector<st::Kernel<Half>> as_half() const {
    if (kind == Kind::builtin) return st::builtin_kernels_as_half(name);
    std::vector<st::Kernel<Half>> kernels;
    for (const auto& kernel : this->kernels<float>()) kernels.push_back(st::stored_as_half(kernel));
    return kernels;
  }
  bool reads(int field, st::TimeLevel level) const {
    for (const auto& d : chain)
      if (d.view().reads(field, level)) return true;
    return false;
  }
  bool writes(int field) const {
    for (const auto& d : chain)
      if (d.view().writes(field)) return true;
    return false;
  }
};

Source from_builtin(const std::string& name) {
  const st::BuiltinInfo& info = st::find_builtin(name);
  Source s{Source::Kind::builtin, name, info.description, info.fields, info.params, {}, {}, info.has_complex};
  for (const auto& kernel : st::builtin_kernels<double>(name)) s.chain.push_back(*kernel.definition);
  return s;
}
Source from_terms(int rank, const std::vector<Term>& terms) {
  Source s{
      Source::Kind::linear, "linear", "a linear stencil of offsets and weights", {"u"}, {}, {}, {}, true};
  for (const auto& [z, y, x, weight] : terms) s.terms.push_back({z, y, x, weight});
  s.chain.push_back(*st::make_linear_kernel<double>(s.name, rank, s.terms).definition);
  return s;
}
Source from_expression(const std::string& text) {
  const st::ParsedStencil parsed = st::parse_stencil(text);
  Source s{Source::Kind::expression, "expression", text, parsed.fields, {}, {parsed.definition}, {}, false};
  for (const auto& param : parsed.params) s.params.push_back({param, std::nan("")});
  return s;
}

nb::dict describe(const Source& s) {
  nb::dict d;
  d["name"] = s.name;
  d["description"] = s.description;
  d["fields"] = s.fields;
  nb::dict params;
  for (const auto& [name, value] : s.params)
    params[name.c_str()] = std::isnan(value) ? nb::object(nb::none()) : nb::cast(value);
  d["params"] = params;
  std::vector<std::string> expressions, before, read;
  for (const auto& definition : s.chain) expressions.push_back(to_string(definition));
  for (std::size_t f = 0; f < s.fields.size(); ++f) {
    if (s.reads(int(f), st::TimeLevel::previous)) before.push_back(s.fields[f]);
    if (s.reads(int(f), st::TimeLevel::current)) read.push_back(s.fields[f]);
  }
  d["expressions"] = expressions;
  d["before"] = before;
  d["read"] = read;
  d["dims"] = s.chain[0].rank;
  return d;
}

/// What run() is asked for; arrays by the index of their field.
struct Job {
  const Source& source;
  std::map<int, Given> fields, previous;
  Shape shape;
  std::vector<double> params;
  std::vector<std::vector<std::pair<std::string, std::string>>> boundaries;  ///< [field][axis of the array]
  Device from, device;  ///< where the arrays lie, and where the work is done
  st::Schedule schedule;
  Index steps = 1;
};

template <class T>
struct Outcome {
  std::vector<std::pair<std::string, Array<T>>> fields, previous;
  std::vector<double> reductions;
};

st::Halo halo_of(const std::vector<st::Definition>& chain) {
  st::Halo halo;
  for (const auto& d : chain) {
    const st::Halo one(d.view().reach());
    for (std::size_t a = 0; a < 3; ++a) {
      halo.low[a] = std::max(halo.low[a], one.low[a]);
      halo.high[a] = std::max(halo.high[a], one.high[a]);
    }
  }
  return halo;
}

/// Nothing was said where the text is empty.
st::Boundary face(const std::string& text) {
  return text.empty() ? st::Boundary{} : st::parse_boundary(text);
}

template <class T>
Outcome<T> compute(const Job& job, const Progress& progress) {
  const Source& s = job.source;
  const auto kernels = s.template kernels<T>();
  if constexpr (std::is_same_v<T, Half>)
    for (const auto& kernel : kernels)
      if (job.device.kind != DeviceKind::cuda && kernel.rows.at[0][0] == nullptr)
        throw ArgumentError(
            "stencil '" + s.name +
            "' on float16 fields is compiled when it is run on a GPU, and the host has 7-point, "
            "27-point and laplacian alone; use float32 fields or device='cuda'");
  const st::Halo halo = halo_of(s.chain);
  std::vector<st::Grid<T>> grids, before;
  grids.reserve(s.fields.size());
  before.reserve(s.fields.size());
  std::vector<st::FieldGrids<T>> bound;
  // Without the GIL: what came is read, and not copied as an object of Python's.
  const auto fill = [](st::Grid<T>& grid, const std::map<int, Given>& all, int field) {
    const auto found = all.find(field);
    if (found == all.end()) return;
    const Given& given = found->second;
    if (given.is_packed())
      return grid.assign({reinterpret_cast<const T*>(given.data), given.shape, given.device});
    Array<T> packed(given.shape);
    given.pack(reinterpret_cast<std::byte*>(packed.data()));
    grid.assign(std::as_const(packed).view());
  };
  for (int f = 0; f < static_cast<int>(s.fields.size()); ++f) {
    grids.emplace_back(job.shape, halo, st::Boundary{}, job.device);
    const auto& faces = job.boundaries[static_cast<std::size_t>(f)];
    for (std::size_t a = 0; a < faces.size(); ++a)
      grids.back().set_boundary(static_cast<int>(a), face(faces[a].first), face(faces[a].second));
    fill(grids.back(), job.fields, f);
    if (s.reads(f, st::TimeLevel::previous)) {
      before.emplace_back(job.shape, halo, st::Boundary{}, job.device);
      fill(before.back(), job.previous, f);
      bound.push_back({grids.back(), before.back()});
    } else {
      bound.push_back({grids.back()});
    }
  }
  st::Stepper<T> stepper(kernels, bound, job.schedule);
  for (std::size_t p = 0; p < job.params.size(); ++p) stepper.set(static_cast<int>(p), job.params[p]);
  stepper.run(job.steps, progress);

  const auto taken_out = [&](const st::Grid<T>& grid) {
    Array<T> values(job.shape, job.from);
    grid.copy_to(values.view());
    return values;
  };
  Outcome<T> outcome;
  for (std::size_t f = 0; f < bound.size(); ++f) {
    if (!s.writes(static_cast<int>(f))) continue;
    outcome.fields.emplace_back(s.fields[f], taken_out(*bound[f].current));
    if (bound[f].previous != nullptr)
      outcome.previous.emplace_back(s.fields[f], taken_out(*bound[f].previous));
  }
  if (job.steps > 0)
    for (const auto& d : s.chain)
      if (d.view().reduction_count > 0) {
        outcome.reductions.clear();
        for (int r = 0; r < d.view().reduction_count; ++r) outcome.reductions.push_back(stepper.reduced(r));
      }
  return outcome;
}

nb::object out_to_python(Array<Half> values) {
  auto kept = std::make_shared<Array<Half>>(std::move(values));
  if (kept->device().kind == DeviceKind::cuda)
    return wrap_device(kept->data(), DType::f16, kept->shape(), kept->device(), kept);
  auto* owned = new std::shared_ptr<Array<Half>>(kept);
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::shared_ptr<Array<Half>>*>(p); });
  return wrap(kept->data(), DType::f16, kept->shape(), std::move(owner));
}
template <class T>
nb::object out_to_python(Array<T> values) {
  return to_python(std::move(values));
}

template <class T>
nb::tuple finish(Job& job, LongCall& call) {
  Outcome<T> outcome = call.run([&] {
    if (job.device.kind != DeviceKind::cuda) return compute<T>(job, call.progress());
    return on_gpu_of(job.device, [&] { return compute<T>(job, call.progress()); });
  });
  const auto arrays = [](auto& list) {
    nb::dict d;
    for (auto& [name, values] : list) d[name.c_str()] = out_to_python(std::move(values));
    return d;
  };
  return nb::make_tuple(arrays(outcome.fields), arrays(outcome.previous), outcome.reductions);
}

nb::tuple run(const Source& s, const nb::dict& fields, const nb::dict& previous,
              const std::vector<double>& params,
              const std::vector<std::vector<std::pair<std::string, std::string>>>& boundaries,
              const std::string& schedule, Index steps, const std::string& device, nb::handle progress) {
  Job job{s, {}, {}, {}, params, boundaries, {}, {}, st::parse_schedule(schedule), steps};
  const Given* first = nullptr;
  const auto collect = [&](const nb::dict& arrays, std::map<int, Given>& into, const char* after) {
    for (std::size_t f = 0; f < s.fields.size(); ++f) {
      if (!arrays.contains(s.fields[f].c_str())) continue;
      const Refusal refusal = first == nullptr ? Refusal([](Device) { return std::string(); })
                                               : only_on(first->device, "as " + first->name + " lies there");
      const auto [it, _] =
          into.emplace(int(f), take(arrays[s.fields[f].c_str()], s.fields[f] + after, refusal));
      const Given& given = it->second;
      require_dtype(given, {DType::f64, DType::f32, DType::c128, DType::c64, DType::f16});
      if (first == nullptr) {
        first = &given;
        job.shape = given.shape;
        if (static_cast<int>(job.shape.size()) != s.chain[0].rank)
          throw ShapeError("stencil '" + s.name + "': " + given.name + " has shape " +
                           to_string(given.shape) + ", expected " + std::to_string(s.chain[0].rank) +
                           " axes");
        continue;
      }
      require_dtype(given, {first->dtype});
      require_shape("stencil '" + s.name + "'", given.name, given.shape, job.shape);
    }
  };
  collect(fields, job.fields, "");
  collect(previous, job.previous, " of the step before");
  if (first == nullptr) throw ArgumentError("stencil '" + s.name + "': no fields were given");
  LongCall call(progress);
  job.from = job.device = first->device;
  if (!device.empty()) job.device = call.run([&] { return choose_device(device, call.log()); });
  if (job.from.kind == DeviceKind::cuda && job.device != job.from)
    throw ArgumentError(first->name + " lies on " + to_string(job.from) + ", and device is '" + device +
                        "'; copy it there, or leave device away");
  switch (first->dtype) {
    case DType::f32: return finish<float>(job, call);
    case DType::f64: return finish<double>(job, call);
    case DType::c64: return finish<cfloat>(job, call);
    case DType::f16: return finish<Half>(job, call);
    default: return finish<cdouble>(job, call);
  }
}

}  // namespace

void bind_stencil(nb::module_& m) {
  nb::class_<Source>(m, "StencilSource")
      .def("describe", &describe)
      .def("run", &run, nb::arg("fields"), nb::arg("previous"), nb::arg("params"), nb::arg("boundaries"),
           nb::arg("schedule"), nb::arg("steps"), nb::arg("device"), nb::arg("progress").none());
  m.def("stencil_builtin", &from_builtin, nb::arg("name"));
  m.def("stencil_linear", &from_terms, nb::arg("dims"), nb::arg("terms"));
  m.def("stencil_expression", &from_expression, nb::arg("text"));
  m.def("stencil_names", [] {
    std::vector<std::string> names;
    for (const auto& info : st::builtins()) names.push_back(info.name);
    return names;
  });
}

}  // namespace spinloom::python
