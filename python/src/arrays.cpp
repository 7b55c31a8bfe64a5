#include "arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct Known {
  DType type;
  Code code;
  int bits;
};
constexpr Known known[] = {
    {DType::b1, Code::Bool, 8},      {DType::i8, Code::Int, 8},         {DType::u8, Code::UInt, 8},
    {DType::i16, Code::Int, 16},     {DType::u16, Code::UInt, 16},      {DType::i32, Code::Int, 32},
    {DType::u32, Code::UInt, 32},    {DType::i64, Code::Int, 64},       {DType::u64, Code::UInt, 64},
    {DType::f16, Code::Float, 16},   {DType::f32, Code::Float, 32},     {DType::f64, Code::Float, 64},
    {DType::c64, Code::Complex, 64}, {DType::c128, Code::Complex, 128},
};

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

/// What the array says of its own element type, or an empty string.
std::string own_dtype(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return "";
  const nb::object dtype = object.attr("dtype");
  return nb::cast<std::string>(nb::str(nb::handle(dtype)));
}

[[noreturn]] void refuse(const std::string& text) { throw nb::type_error(text.c_str()); }

[[noreturn]] void refuse_object(nb::handle object, const std::string& name) {
  const std::string dtype = own_dtype(object);
  if (dtype.empty())
    refuse(fmt::format(
        "{} is of type {}, expected an array (NumPy's, or one that speaks DLPack); convert it, for "
        "example with numpy.asarray({})",
        name, class_name(object), name));
  const bool swapped = dtype.front() == '>';
  refuse(fmt::format(
      "{} is a {} of dtype {} that cannot be shared {}; convert it, for example with {}", name,
      class_name(object), dtype, swapped ? "(its bytes are swapped)" : "by DLPack or as a buffer",
      swapped ? fmt::format("{0}.astype({0}.dtype.newbyteorder('='))", name) : "numpy.ascontiguousarray()"));
}

bool is_instance(nb::handle object, const char* module, const char* name) {
  const nb::object loaded = nb::module_::import_("sys").attr("modules").attr("get")(module);
  return !loaded.is_none() && nb::isinstance(object, nb::object(loaded.attr(name)));
}

/// What the array's own library exports of it. A library says no for a reason (a conjugate that is still to be
/// taken, a gradient that is asked for), and its words are passed on; other ways to the memory would pass over it. Of an
/// array on a GPU it is told our stream, which it makes wait for what it has queued.
nb::object exported(nb::handle object, const std::string& name, Device device) {
  nb::dict arguments;
  if (device.kind == DeviceKind::cuda) {
    std::uintptr_t stream = 0;
    {
      nb::gil_scoped_release unlocked;  // the GPU is set up by its first use
      stream = cuda_stream(device);
    }
    arguments["stream"] = stream;
  }
  const auto complain = [&](nb::python_error& e) {
    refuse(fmt::format("{} is a {} that cannot be shared: {}", name, class_name(object),
                       nb::cast<std::string>(nb::str(e.value()))));
  };
  nb::dict with_version;
  with_version.update(arguments);
  with_version["max_version"] = nb::make_tuple(1, 1);
  try {
    return object.attr("__dlpack__")(**with_version);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) complain(e);
  }
  try {  // of before versions
    return object.attr("__dlpack__")(**arguments);
  } catch (nb::python_error& e) {
    complain(e);
  }
  return {};
}

void require_taken(const Refusal& refusal, const std::string& name, Device device) {
  const std::string why = refusal(device);
  if (why.empty()) return;
  const bool on_host = device.kind != DeviceKind::cuda;
  throw ArgumentError(
      fmt::format("{} lies {}, {}", name, on_host ? "on the host" : "on " + to_string(device), why));
}

/// Kernels read packed, aligned arrays, and a copy of one is for its owner to make.
void require_packed(const Given& given) {
  if (given.is_packed()) return;
  throw ArgumentError(
      fmt::format("{0} lies on {1} with strides [{2}] (in elements) from address {3:#x} on, expected a "
                  "packed array in C order, "
                  "aligned to its elements; make one, for example with {0}.copy() or {0}.contiguous()",
                  given.name, to_string(given.device), fmt::join(given.strides, ", "),
                  reinterpret_cast<std::uintptr_t>(given.data)));
}

/// Runs of `inner` equal steps, copied one element of `Word` at a time.
template <class Word>
void copy_line(const std::byte* from, Index stride, Index count, std::byte* to) {
  for (Index i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<Index>(sizeof(Word)),
                from + i * stride * static_cast<Index>(sizeof(Word)), sizeof(Word));
}

void copy_line(Index bytes, const std::byte* from, Index stride, Index count, std::byte* to) {
  struct Wide {
    std::uint64_t parts[2];
  };
  switch (bytes) {
    case 1: return copy_line<std::uint8_t>(from, stride, count, to);
    case 2: return copy_line<std::uint16_t>(from, stride, count, to);
    case 4: return copy_line<std::uint32_t>(from, stride, count, to);
    case 8: return copy_line<std::uint64_t>(from, stride, count, to);
    default: return copy_line<Wide>(from, stride, count, to);
  }
}

}  // namespace

Refusal only_on_host(const std::string& name) {
  return [name](Device device) {
    return device.kind != DeviceKind::cuda
               ? std::string()
               : fmt::format(
                     "expected memory of the host; copy it there, for example with {0}.get() or {0}.cpu()",
                     name);
  };
}

Refusal only_on(Device device, const std::string& why) {
  return [=](Device found) {
    if (share_memory(found, device)) return std::string();
    return fmt::format("expected {} {}", device.kind == DeviceKind::cuda ? to_string(device) : "the host",
                       why);
  };
}

Given take(nb::handle object, const std::string& name) { return take(object, name, only_on_host(name)); }

Given take(nb::handle object, const std::string& name, const Refusal& refusal) {
  Given given;
  given.name = name;
  given.is_numpy = is_instance(object, "numpy", "ndarray");
  if (is_instance(object, "numpy.ma", "MaskedArray"))
    refuse(fmt::format(
        "{0} is a masked array, whose mask would be lost; fill it, for example with {0}.filled(0)", name));
  nb::object source = nb::borrow(object);
  if (!given.is_numpy && nb::hasattr(object, "__dlpack__")) {
    given.device = place_of(object, name);
    require_taken(refusal, name, given.device);
    source = exported(object, name, given.device);
  }
  // Of a Python scalar's own buffer (bytes, memoryview of them) nobody means the bytes as voxels.
  if (PyBytes_Check(object.ptr()) || PyByteArray_Check(object.ptr()) ||
      !nb::try_cast<nb::ndarray<nb::ro>>(source, given.array, false))
    refuse_object(object, name);
  const auto& a = given.array;
  const auto found = std::find_if(std::begin(known), std::end(known), [&](const Known& k) {
    return static_cast<int>(k.code) == a.dtype().code && k.bits == a.dtype().bits && a.dtype().lanes == 1;
  });
  if (found == std::end(known))
    refuse(fmt::format(
        "{} has dtype {}, which has no equal here; convert it to float32, float64, complex64 or complex128",
        name, own_dtype(object)));
  const Device said = given.device;
  given.device = place_of(a.device_type(), a.device_id(), name);
  require_taken(refusal, name, given.device);
  if (given.device != said &&
      given.device.kind == DeviceKind::cuda) {  // whose stream is it on? a bare capsule says not
    nb::gil_scoped_release unlocked;
    synchronize_all(given.device);
  }
  given.dtype = found->type;
  for (std::size_t d = 0; d < a.ndim(); ++d) {
    given.shape.push_back(static_cast<Index>(a.shape(d)));
    given.strides.push_back(a.stride(d));
  }
  given.data = static_cast<const std::byte*>(a.data());
  if (given.device.kind == DeviceKind::cuda) require_packed(given);
  return given;
}

bool Given::is_packed() const {
  if (count(shape) == 0) return true;
  const Index alignment =
      device.kind == DeviceKind::cuda ? item_size(dtype) : std::min<Index>(item_size(dtype), 8);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) != 0) return false;
  Index expected = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

void Given::pack(std::byte* to) const {
  const Index total = count(shape), bytes = item_size(dtype);
  if (total == 0) return;
  const Index length = shape.empty() ? 1 : shape.back(), step = shape.empty() ? 1 : strides.back();
  parallel_blocks(total / length, std::max<Index>(1, 4096 / length), [&](Index begin, Index end, int) {
    for (Index line = begin; line < end; ++line) {
      Index rest = line, offset = 0;
      for (std::size_t d = shape.empty() ? 0 : shape.size() - 1; d-- > 0;) {
        offset += rest % shape[d] * strides[d];
        rest /= shape[d];
      }
      copy_line(bytes, data + offset * bytes, step, length, to + line * length * bytes);
    }
  });
}

std::pair<const std::byte*, const std::byte*> Given::extent() const {
  if (count(shape) == 0) return {data, data};
  Index low = 0, high = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) (strides[d] < 0 ? low : high) += (shape[d] - 1) * strides[d];
  return {data + low * item_size(dtype), data + (high + 1) * item_size(dtype)};
}

void require_dtype(const Given& given, const std::vector<DType>& expected) {
  if (std::find(expected.begin(), expected.end(), given.dtype) != expected.end()) return;
  std::vector<std::string> names;
  for (const DType type : expected) names.push_back(to_string(type));
  // Complex to real is a decision, not a conversion.
  const bool loses = is_complex(given.dtype) && !is_complex(expected.front());
  refuse(fmt::format(
      "{} has dtype {}, expected {}; {}", given.name, to_string(given.dtype), fmt::join(names, " or "),
      loses ? fmt::format("take abs({0}) or {0}.real", given.name)
      : given.is_numpy
          ? fmt::format("convert it, for example with {}.astype('{}')", given.name, names.front())
          : fmt::format("convert it to {}", names.front())));
}

template <class T>
Output<T>::Output(nb::handle out, const Shape& shape, const Given& input) {
  view_ = {nullptr, shape, input.device};
  if (out.is_none()) return;
  const Given given = take(out, "out", only_on(input.device, "as " + input.name + " lies there"));
  require_dtype(given, {Tensor::dtype_of<T>()});
  if (given.shape != shape)
    throw ShapeError(fmt::format("out has shape {}, expected {}", to_string(given.shape), to_string(shape)));
  const bool on_gpu = given.device.kind == DeviceKind::cuda;
  if (!nb::try_cast<nb::ndarray<>>(on_gpu ? exported(out, "out", given.device) : nb::borrow(out), kept_,
                                   false))
    throw ArgumentError("out is read-only, expected an array to write to");
  if (!given.is_packed())
    throw ArgumentError(
        fmt::format("out has strides [{}] (in elements), expected a packed array in C order; leave out away, "
                    "or make one with numpy.empty",
                    fmt::join(given.strides, ", ")));
  if (input.is_packed()) {
    const auto [a, b] = input.extent();
    const auto [c, d] = given.extent();
    if (a < d && c < b)
      throw ArgumentError(fmt::format("out shares memory with {}, expected an array of its own", input.name));
  }
  out_ = nb::borrow(out);
  view_.data = static_cast<T*>(kept_.data());
}

template <class T>
nb::object Output<T>::result() {
  return out_.is_valid() ? out_ : to_python(std::move(fresh_));
}

template class Output<float>;
template class Output<double>;
template class Output<cfloat>;
template class Output<cdouble>;

nb::dlpack::dtype dlpack_type(DType dtype) {
  const auto found =
      std::find_if(std::begin(known), std::end(known), [&](const Known& k) { return k.type == dtype; });
  if (found == std::end(known)) throw Error("no NumPy type for " + to_string(dtype));
  return {static_cast<std::uint8_t>(found->code), static_cast<std::uint8_t>(found->bits), 1};
}

nb::object wrap(const void* data, DType dtype, const Shape& shape, nb::capsule owner) {
  const std::vector<std::size_t> extents(shape.begin(), shape.end());
  nb::ndarray<nb::numpy> array(const_cast<void*>(data), extents.size(), extents.data(), owner, nullptr,
                               dlpack_type(dtype));
  return nb::cast(array);
}

nb::object to_numpy(Tensor values) {
  if (is_colour(values.dtype)) {  // [..., 3] or [..., 4] bytes
    Shape shape = values.shape;
    shape.push_back(item_size(values.dtype));
    values = Tensor(DType::u8, std::move(shape), std::move(values.bytes));
  }
  auto* kept = new Tensor(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return wrap(kept->bytes.data(), kept->dtype, kept->shape, std::move(owner));
}

Tensor to_tensor(const Given& given) {
  Tensor tensor(given.dtype, given.shape);
  given.pack(tensor.bytes.data());
  return tensor;
}

Array<double> to_double(const Given& given) {
  require_dtype(given, {DType::f64, DType::f32});
  Array<double> values(given.shape);
  if (given.dtype == DType::f64) {
    given.pack(reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  Array<float> narrow(given.shape);
  given.pack(reinterpret_cast<std::byte*>(narrow.data()));
  std::copy(narrow.begin(), narrow.end(), values.begin());
  return values;
}

Shape to_shape(nb::handle object, const std::string& name) {
  Shape shape;
  Index single = 0;
  if (nb::try_cast<Index>(object, single, false)) return {single};
  const auto complain = [&] {
    refuse(fmt::format("{} is {}, expected voxel counts as a tuple: (z, y, x), (y, x) or (x,)", name,
                       nb::cast<std::string>(nb::repr(object))));
  };
  if (!nb::isinstance<nb::tuple>(object) && !nb::isinstance<nb::list>(object)) complain();
  for (nb::handle item : object) {
    // numpy.int64 is no int, but says so by __index__.
    const nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) PyErr_Clear();
    if (!index.is_valid() || !nb::try_cast<Index>(index, single, false)) complain();
    shape.push_back(single);
  }
  return shape;
}

nb::tuple to_tuple(const Shape& shape) {
  nb::list list;
  for (const Index n : shape) list.append(n);
  return nb::tuple(list);
}

}  // namespace spinloom::python
