#pragma once
#include <cstring>
#include <vector>

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

/// Parameters as kernels take them, in the numbers that they compute with.
inline void put_params(const std::vector<double>& params, bool in_double, unsigned char* to) {
  for (std::size_t p = 0; p < params.size(); ++p) {
    const float narrow = static_cast<float>(params[p]);
    if (in_double)
      std::memcpy(to + p * 8, &params[p], 8);
    else
      std::memcpy(to + p * 4, &narrow, 4);
  }
}

/// As in stencil_ring.cu.
struct Boxes {
  TensorMap map[stencil::max_reads] = {};
  int x = 0, y = 0, z = 0;
};

}  // namespace spinloom::cuda
