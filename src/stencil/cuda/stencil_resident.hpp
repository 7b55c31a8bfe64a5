#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/cuda/stencil_pass.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// How planes are cut into tiles, one for each block, and what a block's warps do.
struct ResidentShape {
  int lanes = 8;              ///< of a warp along x
  int columns = 0, rows = 0;  ///< of a thread; 0: the planes are too large
  int levels = 1;             ///< steps of a pass, one for each computing warp
  int delay = 4;              ///< turns from one level's plane to the next level's
  int tiles_x = 1, tiles_y = 1;
  bool is_whole = true;  ///< tiles end where the grid does
  bool wraps = false;    ///< z is periodic

  int width() const { return lanes * columns; }
  int height() const { return 32 / lanes * rows; }
  int around() const { return 2 * (width() + height()); }
  int blocks() const { return tiles_x * tiles_y; }
  int threads() const { return 32 * (levels + 3); }
};
/// The tiles that leave least to each block; `levels` of 0: the library's choice.
ResidentShape resident_shape(const stencil::GridLayout& layout, const stencil::Boundaries& faces, int levels,
                             Index element_bytes, const DeviceFacts& facts);
std::size_t resident_bytes(const ResidentShape& shape, Index element_bytes);

/// Why blocks that stay cannot take this chain; nothing when they can where the planes are small enough.
std::optional<std::string> why_not_resident(const std::vector<stencil::Definition>& chain,
                                            const stencil::GridLayout& layout,
                                            const std::vector<stencil::Boundaries>& fields,
                                            const stencil::Schedule& schedule);

/// Whether a grid of floats or doubles is one of those.
bool resident_fits(const std::vector<stencil::Definition>& chain, const stencil::GridLayout& layout,
                   const std::vector<stencil::Boundaries>& fields, Index element_bytes,
                   const DeviceFacts& facts);

/// Many steps in one launch: see stencil_resident.cu.
template <class T>
class ResidentPass final : public SeveralLevels<T> {
 public:
  /// Compiles the kernel. Errors: ArgumentError for a grid that does not fit.
  ResidentPass(Context& context, const stencil::Plan<T>& plan);
  bool suits(const stencil::Plan<T>& plan) const override;
  int levels() const override { return shape_.levels * passes_at_once; }
  bool run(const StencilWork& work, int levels) override;
  void turn(StencilWork& work) const override;

 private:
  static constexpr int passes_at_once = 16;
  /// As in stencil_resident.cu.
  struct Work {
    OverlapWork grid;
    int passes = 0, last = 0;
    void* records = nullptr;
    unsigned* done = nullptr;
  };

  Context& context_;
  std::vector<stencil::Boundaries> faces_;
  int read_ = 0;
  ResidentShape shape_;
  std::size_t shared_bytes_ = 0;
  const KernelInstance* instance_ = nullptr;
  Work work_;
  std::shared_ptr<std::byte> records_, done_;
};

/// The kernel of a shape.
const KernelInstance& resident_instance(const stencil::Definition& definition, StencilNumbers numbers,
                                        const ResidentShape& shape,
                                        const std::vector<stencil::Boundaries>& faces);

}  // namespace spinloom::cuda
