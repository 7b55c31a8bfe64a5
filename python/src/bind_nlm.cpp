#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind.hpp"
#include "calls.hpp"
#include "options.hpp"
#include "spinloom/nlm/estimate_sigma.hpp"
#include "spinloom/runtime/cuda.hpp"

#include "arrays.hpp"
#include "converted_planes.hpp"

namespace spinloom::python {
namespace {

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
    if (given->dtype == Tensor::dtype_of<Real>() && given->is_packed())
      return {reinterpret_cast<const Real*>(given->data), given->shape};
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
void filter_there(const Given& given, const Settings& s, View<Real> result) {
  const Shape shape = nlm_working_shape(given.shape, s.channel_axis);
  NlmMaps<Real> maps{
      .h = s.h.view<Real>(), .sigma = s.sigma.view<Real>(), .guide = s.guide.view<Real>(), .mask = {}};
  complete(maps, shape);
  if (s.mask)
    maps.mask = {reinterpret_cast<const std::uint8_t*>(s.mask->data), s.mask->shape, s.mask->device};
  nlm<Real>({reinterpret_cast<const Real*>(given.data), shape, given.device}, s.options,
            result.reshaped(shape), maps);
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

/// Slabs of an image that has to be converted and is large: its conversion as a whole is not in memory then.
template <class Real>
bool filter_in_slabs(const Given& given, const Settings& s, const NlmOptions& options, const Shape& shape,
                     View<Real> result) {
  constexpr Index large = Index{64} << 20;  // bytes of working precision
  const bool has_maps = s.h.given || s.sigma.given || s.guide.given || s.mask;
  if (has_maps || options.compat != NlmCompat::none || options.device->kind == DeviceKind::reference ||
      !given.is_packed() || is_complex(given.dtype) || count(shape) * Index{sizeof(Real)} <= large)
    return false;
  Index planes = shape[0];
  while (planes > 1 && nlm_slab_bytes(shape, options, sizeof(Real), false, planes) > 2 * large)
    planes = (planes + 1) / 2;
  ConvertedPlanes<Real> source(given, s.range, s.channel_axis.has_value());
  PlanesInto<Real> sink(result.data, count(shape) / shape[0]);
  nlm_slabs<Real>(shape, source, options, sink, planes);
  return true;
}

/// The image as nlm() takes it: where it lies if it is so, else converted.
template <class Real>
View<const Real> working_image(const Given& given, const Settings& s, const Shape& shape,
                               Array<Real>& storage) {
  if (has_channels_last(given, s.channel_axis) && given.dtype == Tensor::dtype_of<Real>() &&
      given.is_packed())
    return {reinterpret_cast<const Real*>(given.data), shape};
  storage = Array<Real>(shape);
  with_elements(real_image(given),
                [&](const auto& elements) { nlm_import(elements, s.channel_axis, s.range, storage.view()); });
  return std::as_const(storage).view();
}

/// The maps of an image on the host, as nlm() takes them.
template <class Real>
struct HostMaps {
  Array<Real> h, sigma, guide;
  Tensor mask;
  NlmMaps<Real> maps;
  HostMaps(const Settings& s, const Shape& working_shape) {
    maps = {.h = s.h.view(h), .sigma = s.sigma.view(sigma), .guide = s.guide.view(guide), .mask = {}};
    complete(maps, working_shape);
    if (!s.mask) return;
    if (!s.mask->is_packed()) mask = to_tensor(*s.mask);
    maps.mask = {
        reinterpret_cast<const std::uint8_t*>(s.mask->is_packed() ? s.mask->data : mask.bytes.data()),
        s.mask->shape};
  }
};

Device device_of(const Settings& s, const Log& log) {
  return s.device == "reference" ? Device{DeviceKind::reference, 0} : choose_device(s.device, log);
}

/// From the host to the host.
template <class Real>
void filter(const Given& given, const Settings& s, const Log& log, View<Real> result) {
  NlmOptions options = s.options;
  options.device = device_of(s, log);
  const Shape shape = nlm_working_shape(given.shape, s.channel_axis);
  const bool keeps_order = has_channels_last(given, s.channel_axis);
  const bool is_ready = given.dtype == Tensor::dtype_of<Real>() && given.is_packed();
  if (keeps_order && !is_ready && filter_in_slabs(given, s, options, shape, result.reshaped(shape))) return;
  Array<Real> values;
  const View<const Real> image = working_image(given, s, shape, values);
  const HostMaps<Real> there(s, shape);
  if (keeps_order) return nlm<Real>(image, options, result.reshaped(shape), there.maps);
  Array<Real> filtered(shape);
  nlm<Real>(image, options, filtered.view(), there.maps);
  nlm_export<Real>(filtered.view(), s.channel_axis, result);
}

/// scikit-image's result, whose shape may be another one.
template <class Real>
Array<Real> filter_as_scikit_image(const Given& given, const Settings& s, const Log& log) {
  NlmOptions options = s.options;
  options.device = device_of(s, log);
  const Shape shape = nlm_working_shape(given.shape, s.channel_axis);
  Array<Real> values, filtered(shape);
  const HostMaps<Real> there(s, shape);
  nlm<Real>(working_image(given, s, shape, values), options, filtered.view(), there.maps);
  return nlm_export_squeezed<Real>(filtered.view(), s.channel_axis, options.mode);
}

template <class Real>
nb::object denoised(LongCall& call, const Given& given, const Settings& s, nb::handle out) {
  const bool is_there = given.device.kind == DeviceKind::cuda;
  if (s.options.compat == NlmCompat::scikit_image) {
    if (!out.is_none())
      throw ArgumentError(
          "out is given with compat='scikit-image', whose result may have another shape; leave one away");
    return to_numpy(call.run([&] { return filter_as_scikit_image<Real>(given, s, call.log()); }));
  }
  Output<Real> output(out, given.shape, given);
  call.run([&] {
    if (is_there)
      on_gpu_of(given.device, [&] { filter_there<Real>(given, s, output.view()); });
    else
      filter<Real>(given, s, call.log(), output.view());
  });
  return output.result();
}

nb::object denoise(nb::handle image_, const nb::dict& o, nb::handle out, nb::handle progress) {
  const auto device = option<std::string>(o, "device", "a device's name");
  const Given given = take(image_, "image", [&](Device found) { return unless_asked_for(device, found); });
  LongCall call(progress);
  const bool is_there = given.device.kind == DeviceKind::cuda;
  if (is_there || is_complex(given.dtype)) require_dtype(given, {DType::f32, DType::f64});
  Settings s(o, given);
  s.options.progress = call.progress();
  if (is_there) require_ready(given, s);
  return given.dtype == DType::f32 || given.dtype == DType::f16 ? denoised<float>(call, given, s, out)
                                                                : denoised<double>(call, given, s, out);
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
  m.def("denoise_nl_means", &denoise, nb::arg("image").none(), nb::arg("options"), nb::arg("out").none(),
        nb::arg("progress").none());
  m.def("estimate_sigma", &sigmas, nb::arg("image").none(), nb::arg("channel_axis").none());
}

}  // namespace spinloom::python
