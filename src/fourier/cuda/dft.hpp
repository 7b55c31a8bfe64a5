#pragma once
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom::cuda {

/// How the exact DFT is summed on a GPU.
enum class DftMethod {
  direct,      ///< term by term, in the arrays' own precision: any card, the only one for double
  fp16,        ///< matrix product, operands rounded to FP16: 3e-4; sm_80 and later
  split_fp16,  ///< matrix product, operands as pairs of FP16: 1e-6; sm_80 and later
};
/// Which matrix product: the one for sm_90a where the card has it, else, or when asked for, that for sm_80.
enum class DftProduct { best, mma };

/// See make_dft(). `method` must be direct for double.
template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                           Device device, DftMethod method, DftProduct product = DftProduct::best);

/// The fastest method for arrays of Real that the card has and whose relative error is below `tolerance`, or the most
/// exact one.
template <class Real>
DftMethod choose_method(Device device, double tolerance);

/// k / (2 N) per axis [z, y, x] as 64-bit fractions of a turn, [3, samples] on the host; missing axes are at zero.
Array<std::uint64_t> fixed_point_turns(const Trajectory& k, const Shape& matrix);

std::vector<KernelInstance> dft_kernel_instances();

}  // namespace spinloom::cuda
