#include "stencil/cuda/stencil_halo.hpp"

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/half.hpp"

namespace spinloom::cuda {

extern const KernelSource stencil_halo_source;

namespace {

constexpr Index threads = 256;  // as in stencil_halo.cu

template <class T>
const KernelInstance& instance() {
  constexpr bool is_half = std::is_same_v<T, stencil::Half>,
                 is_float = is_half || sizeof(stencil::real_of<T>) == 4;
  constexpr bool is_complex = !std::is_same_v<T, stencil::real_of<T>>;
  static const std::string real = is_float ? "float" : "double";
  static const KernelInstance one{&stencil_halo_source,
                                  {"REAL=" + real, "STORAGE=" + (is_half      ? "Half"
                                                                 : is_complex ? "Complex<" + real + ">"
                                                                              : real)}};
  return one;
}

template <class T, class... Arguments>
void start(const stencil::GridLayout& layout, const char* name, Index count, const Arguments&... arguments) {
  if (count == 0) return;
  launch(context(layout.device.index), instance<T>(), name,
         {static_cast<unsigned>((count + threads - 1) / threads)}, {static_cast<unsigned>(threads)}, 0,
         arguments...);
}

}  // namespace

template <class T>
DeviceHalo<T>::DeviceHalo(const stencil::GridLayout& g, const stencil::HaloRules<T>& rules) : layout_(g) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::size_t a = static_cast<std::size_t>(axis);
    work_.n[axis] = g.n[a];
    work_.low[axis] = static_cast<int>(g.halo.low[a]);
    work_.high[axis] = static_cast<int>(g.halo.high[a]);
    for (const stencil::HaloCell& c : rules.cells(axis)) {
      const bool is_value = c.kind == stencil::HaloCell::Kind::value;
      work_.rules[axis][c.at < 0 ? 0 : 1][c.at < 0 ? -c.at - 1 : c.at - g.n[a]] = {c.source, c.add,
                                                                                   is_value ? 1 : 2};
      if (!is_value && c.source >= 0 && c.source < g.n[a]) moving_ |= 1 << axis;
    }
  }
  work_.row = g.row_stride;
  work_.plane = g.plane_stride;
}

template <class T>
Index DeviceHalo<T>::cells(int regions) const {
  const auto& n = layout_.n;
  Index thickness[3];
  for (std::size_t a = 0; a < 3; ++a) thickness[a] = layout_.halo.low[a] + layout_.halo.high[a];
  const Index rows = n[1] + thickness[1], columns = n[2] + thickness[2];
  return ((regions & 1) != 0 ? thickness[0] * rows * columns : 0) +
         ((regions & 2) != 0 ? n[0] * thickness[1] * columns : 0) +
         ((regions & 4) != 0 ? n[0] * n[1] * thickness[2] : 0);
}

template <class T>
typename DeviceHalo<T>::Work DeviceHalo<T>::with(int regions) const {
  Work w = work_;
  w.regions = regions;
  return w;
}

template <class T>
void DeviceHalo<T>::fill(T* origin) const {
  if (layout_.n[0] * layout_.n[1] * layout_.n[2] == 0) return;
  start<T>(layout_, "fill_halo", cells(7), origin, with(7));
}

template <class T>
void DeviceHalo<T>::follow(T* origin) const {
  if (layout_.n[0] * layout_.n[1] * layout_.n[2] == 0) return;
  start<T>(layout_, "fill_halo", cells(moving_), origin, with(moving_));
}

template <class T>
void DeviceHalo<T>::copy_outside(const T* from, T* to) const {
  start<T>(layout_, "copy_outside", cells(7), from, to, with(7));
}

template <class T>
void spread(const T* dense, T* origin, const stencil::GridLayout& g) {
  start<T>(g, "spread", g.n[0] * g.n[1] * g.n[2], dense, origin, g.n[0], g.n[1], g.n[2], g.row_stride,
           g.plane_stride);
}
template <class T>
void collect(const T* origin, T* dense, const stencil::GridLayout& g) {
  start<T>(g, "collect", g.n[0] * g.n[1] * g.n[2], origin, dense, g.n[0], g.n[1], g.n[2], g.row_stride,
           g.plane_stride);
}

std::vector<KernelInstance> halo_kernel_instances() {
  return {instance<float>(), instance<double>(), instance<cfloat>(), instance<cdouble>(),
          instance<stencil::Half>()};
}

#define SPINLOOM_INSTANTIATE(T)                                   \
  template class DeviceHalo<T>;                                   \
  template void spread(const T*, T*, const stencil::GridLayout&); \
  template void collect(const T*, T*, const stencil::GridLayout&);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)
SPINLOOM_INSTANTIATE(cfloat)
SPINLOOM_INSTANTIATE(cdouble)
SPINLOOM_INSTANTIATE(stencil::Half)

}  // namespace spinloom::cuda
