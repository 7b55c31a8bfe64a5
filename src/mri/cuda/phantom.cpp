#include "mri/cuda/phantom.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom::cuda {

extern const KernelSource phantom_source;

namespace {

constexpr Index threads = 128;  // as in phantom.cu
constexpr Index several = 8;    // coils that share one transform of the ball; more would spill registers
constexpr Index chunk = Index{1} << 20;

struct Placed {
  double to_unit[3][3], center[3];
};

const KernelInstance& instance(int dims, Index coils) {
  const auto make = [](int d, Index c) {
    return KernelInstance{&phantom_source, {fmt::format("DIMS={}", d), fmt::format("COILS={}", c)}};
  };
  static const KernelInstance all[2][2] = {{make(2, 1), make(2, several)}, {make(3, 1), make(3, several)}};
  return all[dims - 2][coils > 1];
}

template <class T>
Array<T> to_device(const std::vector<T>& values, Device device) {
  return Array<T>::copy_of(View<const T>(values.data(), {static_cast<Index>(values.size())}), device);
}

}  // namespace

void phantom_kspace(const std::vector<EllipsoidTerm>& ellipsoids, Index terms, const Trajectory& trajectory,
                    Device device, View<cdouble> y, const Progress& progress) {
  const Index coils = y.shape[0], samples = y.shape[1];
  if (y.empty()) return;
  std::vector<Placed> placed;
  std::vector<double> shifts, weights;
  for (const EllipsoidTerm& e : ellipsoids) {
    Placed one;
    std::copy(&e.to_unit[0][0], &e.to_unit[0][0] + 9, &one.to_unit[0][0]);
    std::copy(e.center, e.center + 3, one.center);
    placed.push_back(one);
    shifts.insert(shifts.end(), e.shifts.begin(), e.shifts.end());
    weights.insert(weights.end(), e.weights.begin(), e.weights.end());
  }
  const auto placed_there = to_device(placed, device);
  const auto shifts_there = to_device(shifts, device), weights_there = to_device(weights, device);
  const auto k = Array<double>::copy_of(trajectory.view(), device);
  const KernelInstance& kernel = instance(trajectory.dims(), coils);
  const Index group = coils > 1 ? several : 1;
  for (Index first = 0; first < samples; first += chunk) {
    check_interrupt();
    const Index length = std::min(chunk, samples - first);
    Array<cdouble> part({coils, length}, device);
    launch(context(device.index), kernel, "phantom",
           {static_cast<unsigned>((length + threads - 1) / threads),
            static_cast<unsigned>((coils + group - 1) / group)},
           {static_cast<unsigned>(threads)}, 0, placed_there.data(), static_cast<int>(placed.size()),
           shifts_there.data(), weights_there.data(), static_cast<int>(terms), static_cast<int>(coils),
           k.data(), samples, first, length, part.data());
    for (Index c = 0; c < coils; ++c)
      transfer<cdouble>(part.view().slice(c), View<cdouble>(y.data + c * samples + first, {length}));
    if (progress) progress("k-space", double(first + length) / double(samples), "");
  }
}

std::vector<KernelInstance> phantom_kernel_instances() {
  return {instance(2, 1), instance(2, 2), instance(3, 1), instance(3, 2)};
}

}  // namespace spinloom::cuda
