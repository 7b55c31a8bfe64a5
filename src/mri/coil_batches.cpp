#include "mri/coil_batches.hpp"

#include <cmath>

#include "spinloom/ops/vector_ops.hpp"

namespace spinloom {

std::string coil_axes(std::size_t rank) {
  switch (rank) {
    case 2: return " (coils, x)";
    case 3: return " (coils, y, x)";
    case 4: return " (coils, z, y, x)";
    default: return "";
  }
}

template <class Real>
void require_finite_coils(const char* who, const char* what, View<const std::complex<Real>> images) {
  if (all_finite(images)) return;
  if (images.device.kind == DeviceKind::cuda)
    return require_finite_coils<Real>(who, what, Array<std::complex<Real>>::copy_of(images, Device{}).view());
  for (Index c = 0; c < images.shape[0]; ++c) {
    const auto coil = images.slice(c);
    for (Index n = 0; n < coil.size(); ++n) {
      if (std::isfinite(coil[n].real()) && std::isfinite(coil[n].imag())) continue;
      Shape place(coil.shape.size());
      for (Index rest = n, d = Index(place.size()) - 1; d >= 0; --d) {
        place[std::size_t(d)] = rest % coil.shape[std::size_t(d)];
        rest /= coil.shape[std::size_t(d)];
      }
      throw ArgumentError(fmt::format("{}: {} of coil {} is {} + {}i at voxel {}, expected finite numbers",
                                      who, what, c, coil[n].real(), coil[n].imag(), to_string(place)));
    }
  }
}

template void require_finite_coils<float>(const char*, const char*, View<const cfloat>);
template void require_finite_coils<double>(const char*, const char*, View<const cdouble>);

}  // namespace spinloom
