#include "spinloom/fourier/nufft.hpp"

#include <fmt/format.h>

#include "fourier/cpu/nufft.hpp"
#include "fourier/grid_choice.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {

template <class Real>
OperatorPtr<Real> make_nufft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                             const NufftOptions& options, Device device) {
  trajectory->require_fits(matrix);
  if (coils < 1) throw ArgumentError(fmt::format("NUFFT: {} coils, expected at least 1", coils));
  const GridChoice choice = choose_grid<Real>(matrix, trajectory->samples(), options);
  switch (device.kind) {
    case DeviceKind::reference:
      return make_dft<Real>(std::move(trajectory), std::move(matrix), coils, device);
    case DeviceKind::cuda:
      throw BackendUnavailable("cuda", "the NUFFT has no CUDA backend; choose --device cpu");
    case DeviceKind::cpu: break;
  }
  if (!choice.reached)
    warn(options.log,
         fmt::format(
             "NUFFT: tolerance {:g} is beyond {} precision{}; expect about {:.1g}", options.tolerance,
             sizeof(Real) == sizeof(float) ? "single" : "double",
             options.oversampling == 0 ? "" : fmt::format(" at oversampling {:g}", options.oversampling),
             choice.tolerance));
  return std::make_shared<cpu::Nufft<Real>>(*trajectory, std::move(matrix), coils, choice);
}

template <class Real>
std::int64_t nufft_memory_bytes(const Shape& matrix, Index samples, Index, const NufftOptions& options) {
  return cpu::Nufft<Real>::memory_bytes(matrix, samples, choose_grid<Real>(matrix, samples, options));
}

template std::int64_t nufft_memory_bytes<float>(const Shape&, Index, Index, const NufftOptions&);
template std::int64_t nufft_memory_bytes<double>(const Shape&, Index, Index, const NufftOptions&);
template OperatorPtr<float> make_nufft(std::shared_ptr<const Trajectory>, Shape, Index, const NufftOptions&,
                                       Device);
template OperatorPtr<double> make_nufft(std::shared_ptr<const Trajectory>, Shape, Index, const NufftOptions&,
                                        Device);

}  // namespace spinloom
