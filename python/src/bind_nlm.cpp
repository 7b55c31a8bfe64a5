#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind.hpp"
#include "calls.hpp"
#include "options.hpp"
#include "spinloom/nlm/estimate_sigma.hpp"
#include "spinloom/nlm/front_end.hpp"
#include "spinloom/runtime/cuda.hpp"

#include "arrays.hpp"

namespace spinloom::python {
namespace {

/// work(View<const From>) on a tensor of any type that an image may have; float16 has been widened before.
template <class Work>
void with_elements(const Tensor& t, Work&& work) {
  switch (t.dtype) {
    case DType::b1: return work(View<const bool>(reinterpret_cast<const bool*>(t.bytes.data()), t.shape));
    case DType::i8: return work(t.as<std::int8_t>());
    case DType::u8: return work(t.as<std::uint8_t>());
    case DType::i16: return work(t.as<std::int16_t>());
    case DType::u16: return work(t.as<std::uint16_t>());
    case DType::i32: return work(t.as<std::int32_t>());
    case DType::u32: return work(t.as<std::uint32_t>());
    case DType::i64: return work(t.as<std::int64_t>());
    case DType::u64: return work(t.as<std::uint64_t>());
    case DType::f32: return work(t.as<float>());
    case DType::f64: return work(t.as<double>());
    default: throw ArgumentError("image has dtype " + to_string(t.dtype) + ", expected a real one");
  }
}

Tensor real_image(const Given& image) {
  if (is_complex(image.dtype)) require_dtype(image, {DType::f32, DType::f64});
  Tensor t = to_tensor(image);
  return t.dtype == DType::f16 ? t.cast(DType::f32) : std::move(t);
}

/// An array of float32 or float64 that goes with the image, in the image's own precision and place.
struct Companion {
  std::optional<Given> given;

  Companion(nb::handle array, const char* name, const Given& image) {
    if (array.is_none()) return;
    given = take(array, name, only_on(image.device, "as the image lies there"));
    if (image.device.kind == DeviceKind::cuda)
      require_dtype(*given, {image.dtype});
    else
      require_dtype(*given, {DType::f32, DType::f64});
  }
  template <class Real>
  View<const Real> view(Array<Real>& storage) const {
    if (!given) return {};
    storage = to_tensor(*given).to<Real>();
    return std::as_const(storage).view();
  }
  /// Where it lies, on a GPU.
  template <class Real>
  View<const Real> view() const {
    if (!given) return {};
    return {reinterpret_cast<const Real*>(given->data), given->shape, given->device};
  }
};

/// What denoise() is asked for.
struct Settings {
  NlmOptions options;
  NlmRange range = NlmRange::scale;
  std::optional<Index> channel_axis;
  std::optional<Given> mask;
  std::string device;
  Companion h, sigma, guide;

  Settings(const nb::dict& o, const Given& image)
      : h(nb::object(o["h_map"]), "h", image),
        sigma(nb::object(o["sigma_map"]), "sigma", image),
        guide(nb::object(o["guide"]), "guide", image) {
    const auto number = [&](const char* name) { return option<double>(o, name, "a number or an array"); };
    const auto flag = [&](const char* name) { return option<bool>(o, name, "True or False"); };
    range = flag("preserve_range") ? NlmRange::preserve : NlmRange::scale;
    channel_axis = option<std::optional<Index>>(o, "channel_axis", "a whole number or None");
    device = option<std::string>(o, "device", "a device's name");
    options.patch_size = to_shape(nb::object(o["patch_size"]), "patch_size");
    options.patch_distance = to_shape(nb::object(o["patch_distance"]), "patch_distance");
    options.h = number("h");
    options.sigma = number("sigma");
    options.guide_sigma = number("guide_sigma");
    options.mode = flag("fast_mode") ? NlmMode::fast : NlmMode::classic;
    options.noise = flag("rician") ? NlmNoise::rician : NlmNoise::gaussian;
    options.compat = flag("scikit_image") ? NlmCompat::scikit_image : NlmCompat::none;
    if (const nb::object array = o["mask"]; !array.is_none()) {
      mask = take(array, "mask", only_on(image.device, "as the image lies there"));
      require_dtype(*mask, {DType::b1, DType::u8});
    }
  }
};

bool has_channels_last(const Given& image, std::optional<Index> channel_axis) {
  return !channel_axis || *channel_axis == -1 || *channel_axis == static_cast<Index>(image.shape.size()) - 1;
}

/// A grey guide has an axis of channels for nlm(), too.
template <class Real>
void complete(NlmMaps<Real>& maps, const Shape& working_shape) {
  const Shape spatial(working_shape.begin(), working_shape.end() - 1);
  if (maps.guide.data != nullptr && maps.guide.shape == spatial) maps.guide.shape.push_back(1);
}

/// All on the GPU that the image lies on, as it lies.
template <class Real>
Array<Real> filter_there(const Given& given, const Settings& s) {
  const Shape shape = nlm_working_shape(given.shape, s.channel_axis);
  NlmMaps<Real> maps{
      .h = s.h.view<Real>(), .sigma = s.sigma.view<Real>(), .guide = s.guide.view<Real>(), .mask = {}};
  complete(maps, shape);
  if (s.mask)
    maps.mask = {reinterpret_cast<const std::uint8_t*>(s.mask->data), s.mask->shape, s.mask->device};
  Array<Real> result(given.shape, given.device);
  nlm<Real>({reinterpret_cast<const Real*>(given.data), shape, given.device}, s.options,
            result.view().reshaped(shape), maps);
  return result;
}

/// What the host would convert first.
void require_ready(const Given& image, const Settings& s) {
  const std::string where = "image lies on " + to_string(image.device);
  if (!has_channels_last(image, s.channel_axis))
    throw ArgumentError(
        where + " with channels along axis " + std::to_string(*s.channel_axis) +
        ", expected them along the last; move them and make it packed, or copy it to the host");
  if (s.options.compat == NlmCompat::scikit_image)
    throw ArgumentError(
        where + ", where compat='scikit-image' has no path; leave compat away, or copy it to the host");
}

/// Of a GPU's array, whose place is the device to work on.
std::string unless_asked_for(const std::string& device, Device found) {
  if (found.kind != DeviceKind::cuda || device == "auto" || parse_device(device) == found) return "";
  return "expected " + std::string(parse_device(device).kind == DeviceKind::cuda ? device : "the host") +
         " as device='" + device + "' asks for; copy it there, or leave device away";
}

template <class Real>
Array<Real> filter(const Given& given, const Settings& s, const Log& log) {
  NlmOptions options = s.options;
  options.device = s.device == "reference" ? Device{DeviceKind::reference, 0} : choose_device(s.device, log);
  const Shape shape = nlm_working_shape(given.shape, s.channel_axis);
  const bool keeps_order = has_channels_last(given, s.channel_axis);
  // What is as nlm() takes it is read where it lies.
  const bool is_ready = keeps_order && given.dtype == Tensor::dtype_of<Real>() && given.is_packed();
  Array<Real> values, h, sigma, guide;
  if (!is_ready) {
    values = Array<Real>(shape);
    with_elements(real_image(given), [&](const auto& elements) {
      nlm_import(elements, s.channel_axis, s.range, values.view());
    });
  }
  const View<const Real> image = is_ready ? View<const Real>(reinterpret_cast<const Real*>(given.data), shape)
                                          : std::as_const(values).view();
  NlmMaps<Real> maps{
      .h = s.h.view(h), .sigma = s.sigma.view(sigma), .guide = s.guide.view(guide), .mask = {}};
  complete(maps, shape);
  Tensor mask;
  if (s.mask) {
    mask = to_tensor(*s.mask);
    maps.mask = {reinterpret_cast<const std::uint8_t*>(mask.bytes.data()), mask.shape};
  }
  Array<Real> result(given.shape);
  if (keeps_order && options.compat == NlmCompat::none) {
    nlm<Real>(image, options, result.view().reshaped(shape), maps);
    return result;
  }
  Array<Real> filtered(shape);
  nlm<Real>(image, options, filtered.view(), maps);
  if (options.compat == NlmCompat::scikit_image)
    return nlm_export_squeezed<Real>(filtered.view(), s.channel_axis, options.mode);
  nlm_export<Real>(filtered.view(), s.channel_axis, result.view());
  return result;
}

nb::object denoise(nb::handle image_, const nb::dict& o, nb::handle progress) {
  const auto device = option<std::string>(o, "device", "a device's name");
  const Given given = take(image_, "image", [&](Device found) { return unless_asked_for(device, found); });
  LongCall call(progress);
  const bool is_there = given.device.kind == DeviceKind::cuda;
  if (is_there) require_dtype(given, {DType::f32, DType::f64});
  Settings s(o, given);
  s.options.progress = call.progress();
  if (is_there) {
    require_ready(given, s);
    const auto work = [&]<class Real>(Real) {
      return to_python(
          call.run([&] { return on_gpu_of(given.device, [&] { return filter_there<Real>(given, s); }); }));
    };
    return given.dtype == DType::f32 ? work(float()) : work(double());
  }
  if (given.dtype == DType::f32 || given.dtype == DType::f16)
    return to_numpy(call.run([&] { return filter<float>(given, s, call.log()); }));
  return to_numpy(call.run([&] { return filter<double>(given, s, call.log()); }));
}

std::vector<double> sigmas(nb::handle image_, std::optional<Index> channel_axis) {
  const Given given = take(image_, "image");
  LongCall call;
  return call.run([&]() -> std::vector<double> {
    const Tensor image = real_image(given);
    // Channels go last; any number of spatial axes is allowed here.
    Shape shape = image.shape;
    if (!channel_axis) shape.push_back(1);
    if (image.dtype == DType::f32) return estimate_sigma<float>({image.as<float>().data, shape});
    const Array<double> values = image.to<double>();
    return estimate_sigma<double>({values.data(), shape});
  });
}

}  // namespace

void bind_nlm(nb::module_& m) {
  m.def("denoise_nl_means", &denoise, nb::arg("image").none(), nb::arg("options"),
        nb::arg("progress").none());
  m.def("estimate_sigma", &sigmas, nb::arg("image").none(), nb::arg("channel_axis").none());
}

}  // namespace spinloom::python
