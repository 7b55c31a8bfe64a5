#include "stencil/cuda/stencil_march.hpp"

#include <fmt/format.h>

#include "stencil/cuda/stencil_march_printer.hpp"

namespace spinloom::cuda {

using namespace stencil;

extern const KernelSource stencil_march_source;

std::optional<std::string> why_no_march(const ProgramView& p) {
  if (p.red_black) return "points of one colour do not lie beside one another: use cuda gather";
  if (p.reduction_count > 0) return "a sum that rides along is kept per row: use cuda gather";
  return std::nullopt;
}

std::string MarchPrinter::copies_start() {
  if (copied_ == 0) return "";
  const int stride = pack_bytes() * s_.block_x * s_.block_y;
  shared_bytes_ = static_cast<std::size_t>(stride * copied_ * (s_.ahead + 1));
  return fmt::format(
      "  extern __shared__ __align__(128) unsigned char shared[];\n"
      "  constexpr int COPIED = {}, STRIDE = {};\n"
      "  unsigned char* const own = shared + (threadIdx.y * BLOCK_X + threadIdx.x) * {};\n"
      "  int put = {}, get = 0;\n",
      copied_, stride, pack_bytes(), s_.ahead);
}

std::string MarchPrinter::copies_turn() const {
  if (copied_ == 0) return "";
  return fmt::format(
      "  commit_copies();\n  wait_for_copies<{0}>();\n{1}"
      "  put = put == {0} ? 0 : put + 1;\n  get = get == {0} ? 0 : get + 1;\n",
      s_.ahead, fetched_);
}

std::vector<std::string> march_constants(const MarchShape& s) {
  return {fmt::format("BLOCK_X={}", s.block_x), fmt::format("BLOCK_Y={}", s.block_y),
          fmt::format("ROWS={}", s.rows), fmt::format("POINTS={}", s.points),
          fmt::format("BLOCKS={}", s.blocks)};
}

MarchKernel march_kernel(const Definition& definition, StencilNumbers numbers, const MarchShape& s) {
  if (s.ring) return ring_kernel(definition, numbers, s);
  MarchPrinter printer(definition, numbers, s);
  const std::string text = printer.print();
  return {&stencil_instance(stencil_march_source, definition, text, march_constants(s),
                            printer.shared_bytes() > 0 ? 80 : 75),
          printer.shared_bytes(),
          {},
          4};
}

}  // namespace spinloom::cuda
