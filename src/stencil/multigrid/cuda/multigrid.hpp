#pragma once
#include <memory>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "stencil/multigrid/engine.hpp"

namespace spinloom::cuda {

/// Multigrid's work on a GPU. What a solver keeps there, the levels' operators and the memory for cycles, belongs to the
/// state and is made at first use; a cycle is one graph, its coarse levels one kernel.
template <class T>
std::unique_ptr<stencil::multigrid::Engine<T>> make_multigrid_engine(
    const typename stencil::Multigrid<T>::State& state, Device device, bool gradients);

/// How cycles are carried out, which changes no bit. For tests and measurements.
struct MultigridWays {
  Index coarse_cells = 512;  ///< levels of so many cells are done by one kernel
  bool use_graph = true;
};
MultigridWays& multigrid_ways();

std::vector<KernelInstance> multigrid_kernel_instances();

}  // namespace spinloom::cuda
