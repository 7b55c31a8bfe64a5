#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/kernel.hpp"
#include "stencil/cuda/stencil_pass.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// How a grid is cut into boxes of whole rows, one for each block, and how a block's threads share one.
struct ResidentShape {
  int boxes_z = 0, boxes_y = 0;  ///< 0: it does not fit
  int rows = 0, planes = 0;      ///< of the largest box
  int row = 0;                   ///< elements of a row in shared memory, with a cell at either end
  int threads = 0, items = 0;    ///< packs of a plane for each thread
  std::size_t shared_bytes = 0;
};
ResidentShape resident_shape(const stencil::GridLayout& layout, Index element_bytes,
                             const DeviceFacts& facts);

/// Why no grid that stays on the chip can take this chain; nothing when one can that is small enough.
std::optional<std::string> why_not_resident(const std::vector<stencil::Definition>& chain,
                                            const stencil::Schedule& schedule);

/// Steps of a grid that lies in the multiprocessors' shared memory from the first of a launch to the last.
template <class T>
class ResidentPass final : public SeveralLevels<T> {
 public:
  /// Compiles the kernel. Errors: ArgumentError for a grid that does not fit, or a GPU without cooperative launches.
  ResidentPass(Context& context, const stencil::Plan<T>& plan);
  bool suits(const stencil::Plan<T>& plan) const override;
  int levels() const override { return steps_; }
  void run(const StencilWork& work, int levels) override;
  void turn(StencilWork& work) const override;

 private:
  /// As in stencil_resident.cu.
  struct Work {
    int boxes_z = 0, boxes_y = 0, steps = 0, row = 0, plane = 0;
    int face[6] = {};
    double add[6] = {};
    int lowest[3] = {}, highest[3] = {};
    unsigned* done = nullptr;
  };

  Context& context_;
  int steps_ = 64;
  std::vector<stencil::Boundaries> faces_;
  int read_ = 0;
  ResidentShape shape_;
  const KernelInstance* instance_ = nullptr;
  Work work_;
  std::shared_ptr<std::byte> done_;
};

/// The kernel of a shape.
const KernelInstance& resident_instance(const stencil::Definition& definition, StencilNumbers numbers,
                                        const ResidentShape& shape);

}  // namespace spinloom::cuda
