#pragma once
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "solve/cg_steps.hpp"

namespace spinloom::cuda {

/// The steps on a GPU, with alpha, beta and the residual there. Runs ahead of the host by one step unless somebody looks
/// at x; the GPU itself stands still where the host has to decide.
template <class Real>
std::unique_ptr<CgSteps<Real>> make_cg_steps(const CgProblem<Real>& problem);

/// Why the last run's iteration on this thread was not one graph; empty when it was, or when none was asked for.
const std::string& last_graph_refusal();

std::vector<KernelInstance> cg_kernel_instances();

}  // namespace spinloom::cuda
