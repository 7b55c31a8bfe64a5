#pragma once
#include <vector>

#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/runtime/communicator.hpp"

/// Operators whose parts lie on several devices.
namespace spinloom {

/// x -> the sum over all ranks of their A x: each rank applies its own A to the same x, then the ranks add. Both
/// directions; shapes must be the same on every rank.
/// Threads  one application at a time on a rank, and the same ones on every rank in the same order: see Communicator
template <class Real>
OperatorPtr<Real> all_reduced(OperatorPtr<Real> a, Communicator ranks);

/// y = [A_0 x; A_1 x; ...], the parts' rows one behind the other along the first axis. Its images are on the first part's
/// device; its rows there, or on the host. Each part gets its share from there and works on its own device, one after
/// the other. Its normal operator is sum_of_parts() of theirs.
/// Errors   ArgumentError without parts; ShapeError when domains, or ranges beyond their first axis, differ
template <class Real>
OperatorPtr<Real> stacked(std::vector<OperatorPtr<Real>> parts);

/// y = sum_i A_i x in the order of the parts, x and y on the first part's device. Errors as for stacked().
template <class Real>
OperatorPtr<Real> sum_of_parts(std::vector<OperatorPtr<Real>> parts);

}  // namespace spinloom
