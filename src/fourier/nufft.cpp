#include "spinloom/fourier/nufft.hpp"

#include <fmt/format.h>

#include "fourier/cpu/nufft.hpp"
#include "fourier/cuda/nufft.hpp"
#include "fourier/grid_choice.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {
namespace {

template <class Real>
GridChoice choose_grid_for(Device device, const Shape& matrix, Index samples, const NufftOptions& options) {
  return device.kind == DeviceKind::cuda
             ? choose_grid<Real>(matrix, samples, options, cuda::nufft_grid_costs<Real>())
             : choose_grid<Real>(matrix, samples, options);
}

}  // namespace

template <class Real>
OperatorPtr<Real> make_nufft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                             const NufftOptions& options, Device device) {
  trajectory->require_fits(matrix);
  if (coils < 1) throw ArgumentError(fmt::format("NUFFT: {} coils, expected at least 1", coils));
  const GridChoice choice = choose_grid_for<Real>(device, matrix, trajectory->samples(), options);
  if (options.transform != NufftOptions::GridTransform::passes && device.kind != DeviceKind::cpu)
    throw ArgumentError(fmt::format(
        "NUFFT: FFTW transforms on the CPU alone, the device is {}; choose the passes of the library",
        to_string(device)));
  if (device.kind == DeviceKind::reference)
    return make_dft<Real>(std::move(trajectory), std::move(matrix), coils, device);
  if (!choice.reached)
    warn(options.log,
         fmt::format(
             "NUFFT: tolerance {:g} is beyond {} precision{}; expect about {:.1g}", options.tolerance,
             sizeof(Real) == sizeof(float) ? "single" : "double",
             options.oversampling == 0 ? "" : fmt::format(" at oversampling {:g}", options.oversampling),
             choice.tolerance));
  if (device.kind == DeviceKind::cuda)
    return cuda::make_nufft<Real>(std::move(trajectory), std::move(matrix), coils, choice, options.tolerance,
                                  device);
  return std::make_shared<cpu::Nufft<Real>>(*trajectory, std::move(matrix), coils, choice, options.transform);
}

template <class Real>
std::int64_t nufft_memory_bytes(const Shape& matrix, Index samples, Index coils, const NufftOptions& options,
                                Device device) {
  const GridChoice choice = choose_grid_for<Real>(device, matrix, samples, options);
  return device.kind == DeviceKind::cuda
             ? cuda::nufft_memory_bytes<Real>(matrix, samples, coils, choice, options.tolerance, device)
             : cpu::Nufft<Real>::memory_bytes(matrix, samples, choice);
}

template std::int64_t nufft_memory_bytes<float>(const Shape&, Index, Index, const NufftOptions&, Device);
template std::int64_t nufft_memory_bytes<double>(const Shape&, Index, Index, const NufftOptions&, Device);
template OperatorPtr<float> make_nufft(std::shared_ptr<const Trajectory>, Shape, Index, const NufftOptions&,
                                       Device);
template OperatorPtr<double> make_nufft(std::shared_ptr<const Trajectory>, Shape, Index, const NufftOptions&,
                                        Device);

}  // namespace spinloom
