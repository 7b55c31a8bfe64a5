#include "stencil/cuda/stencil_march.hpp"

#include <fmt/format.h>

#include "stencil/cuda/stencil_march_printer.hpp"

namespace spinloom::cuda {

using namespace stencil;

extern const KernelSource stencil_march_source, stencil_ring_source;

std::optional<std::string> why_no_march(const ProgramView& p) {
  if (p.red_black) return "points of one colour do not lie beside one another: use cuda gather";
  if (p.reduction_count > 0) return "a sum that rides along is kept per row: use cuda gather";
  return std::nullopt;
}

MarchKernel march_kernel(const Definition& definition, StencilNumbers numbers, const MarchShape& s) {
  MarchPrinter printer(definition, numbers, s);
  const std::string text = printer.print();
  std::vector<std::string> defines = {fmt::format("BLOCK_X={}", s.block_x),
                                      fmt::format("BLOCK_Y={}", s.block_y), fmt::format("ROWS={}", s.rows),
                                      fmt::format("POINTS={}", s.points),
                                      fmt::format("BLOCKS={}", s.ring ? std::max(1, s.blocks) : s.blocks)};
  return {&stencil_instance(s.ring ? stencil_ring_source : stencil_march_source, definition, text,
                            std::move(defines), s.ring ? 90 : 75),
          printer.shared_bytes()};
}

}  // namespace spinloom::cuda
