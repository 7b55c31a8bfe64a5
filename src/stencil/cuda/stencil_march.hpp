#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// How threads go through the planes in stencil_march.cu.
struct MarchShape {
  int points = 4;                 ///< of a thread along x
  int rows = 1;                   ///< of a thread
  int block_x = 32, block_y = 8;  ///< threads
  int ahead = 1;        ///< planes fetched before they are used: 0 to 4, from 2 on by asynchronous copies
  bool shuffle = true;  ///< neighbours along x come from other lanes, else from the level 1 cache
  int unroll = 1;       ///< planes per turn of the loop
  bool ring = false;    ///< planes lie in shared memory: stencil_ring.cu
  std::vector<stencil::SameValue> handed;  ///< of a ring: values that go from lane to lane
  int edge = 0;                            ///< lanes at either end of a warp that compute for others alone
  int blocks = 0;  ///< of a multiprocessor, at least: bounds the registers of a thread; 0: as it comes
};

/// Why this stencil cannot be computed so; nothing when it can.
std::optional<std::string> why_no_march(const stencil::ProgramView& program);

/// The kernel, "march" of stencil_march.cu or "ring" of stencil_ring.cu, with the stencil's way through the planes, and the
/// shared memory that a block of it needs.
struct MarchKernel {
  const KernelInstance* instance;
  std::size_t shared_bytes;
  /// Of a ring: what is copied of each read's planes.
  struct Box {
    int read, words, rows;
  };
  std::vector<Box> boxes;
  int word_bytes = 4;  ///< of their words
};
/// Constants of both kernels.
std::vector<std::string> march_constants(const MarchShape& shape);
MarchKernel march_kernel(const stencil::Definition& definition, StencilNumbers numbers,
                         const MarchShape& shape);
MarchKernel ring_kernel(const stencil::Definition& definition, StencilNumbers numbers,
                        const MarchShape& shape);

}  // namespace spinloom::cuda
