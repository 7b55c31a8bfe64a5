#pragma once
#include "runtime/cuda/driver.hpp"
#include "spinloom/core/types.hpp"
#include "spinloom/stencil/program.hpp"

namespace spinloom::cuda {

/// As in stencil_values.cuh: what every kernel of a stencil is given.
struct StencilWork {
  const void* in[stencil::max_reads] = {};
  void* out[stencil::max_outputs] = {};
  double* reduced[stencil::max_reductions] = {};
  Index row = 0, plane = 0;
  Index nz = 0, ny = 0, nx = 0;
  int colour = 0;
  alignas(8) unsigned char params[stencil::max_params * 8] = {};
};
static_assert(stencil::max_reads == 20 && stencil::max_outputs == 16 && stencil::max_reductions == 4 &&
              stencil::max_params == 16 && sizeof(StencilWork) == 20 * 8 + 16 * 8 + 4 * 8 + 5 * 8 + 8 + 128);

/// As in stencil_ring.cu.
struct Boxes {
  TensorMap map[stencil::max_reads] = {};
  int x = 0, y = 0, z = 0;
};

}  // namespace spinloom::cuda
