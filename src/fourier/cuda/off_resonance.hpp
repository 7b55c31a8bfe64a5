#pragma once
#include <vector>

#include "fourier/cuda/dft.hpp"
#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom::cuda {

/// See make_dft() of fourier/off_resonance.hpp. `tolerance` is of the interpolation between snapshots; the direct method
/// has none.
template <class Real>
OperatorPtr<Real> make_off_resonance_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                         OffResonancePtr b0, Index coils, Device device, DftMethod method,
                                         double tolerance, DftProduct product = DftProduct::best);

/// The fastest method within `tolerance`, and what its interpolation may use of it.
struct OffResonanceMethod {
  DftMethod method;
  double interpolation;
};
template <class Real>
OffResonanceMethod choose_off_resonance_method(Device device, double tolerance);

std::vector<KernelInstance> time_segment_kernel_instances();
std::vector<KernelInstance> snapshot_kernel_instances();
std::vector<KernelInstance> off_resonance_kernel_instances();  ///< both

}  // namespace spinloom::cuda
