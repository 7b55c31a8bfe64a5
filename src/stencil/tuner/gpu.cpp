#include "stencil/tuner/gpu.hpp"

#include <fmt/format.h>

#include "runtime/cuda/context.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"

namespace spinloom::stencil {

std::vector<Schedule> gpu_candidates(const std::vector<Definition>& chain, const GridLayout& layout,
                                     const std::vector<Boundaries>& fields, Index element_bytes) {
  std::vector<Schedule> found;
  const bool is_2d = layout.rank == 2;
  const auto add = [&](const std::string& text) {
    const Schedule s = parse_schedule(text);
    if (why_illegal(chain, layout, fields, s)) return;
    if (s.kind == Schedule::Kind::layered && cuda::why_no_room(s, chain[0].view(), element_bytes)) return;
    found.push_back(s);
  };
  add("cuda");
  if (is_2d)
    for (const char* text : {"tile block=128x1 depth=4", "tile block=256x1 shuffle",
                             "tile block=64x1 shuffle", "march block=128x1 depth=64", "march block=64x1"})
      add(std::string("cuda ") + text);
  else
    for (const char* text :
         {"tile block=64x8 rows=4 depth=2 shuffle blocks=1", "tile block=32x4 rows=4 depth=2",
          "tile block=64x2 rows=2 depth=2 shuffle", "tile depth=2", "tile block=64x2 rows=2",
          "tile block=32x4", "march rows=4 block=32x4 shuffle ahead=2", "march rows=2 shuffle",
          "march rows=2", "march", "ring rows=4 block=32x4 ahead=2 depth=6",
          "ring rows=4 block=32x8 ahead=2 depth=48", "ring rows=2 ahead=2", "ring rows=4 block=32x4 ahead=2",
          "ring rows=3 block=32x12 ahead=2", "ring rows=3 block=32x12 ahead=2 depth=256",
          "ring rows=2 block=32x16 ahead=2 depth=512", "ring rows=2 block=32x16 ahead=1",
          "ring rows=2 block=64x8 ahead=2 depth=96"})
      add(std::string("cuda ") + text);
  for (const char* text : {"", " steps=4 block=128x24", " steps=3 block=128x40", " steps=4 block=64x64",
                           " steps=4 block=64x48", " steps=4 block=64x32", " steps=2 block=64x64"})
    if (!is_2d) add(std::string("cuda overlapped") + text);
  for (const char* text : {"", " steps=8 block=64x1", " steps=8 block=256x1", " steps=4 block=128x1"})
    if (is_2d) add(std::string("cuda overlapped") + text);
  if (chain.size() > 1)
    for (const char* text :
         {"separate", "fused", "fused ring rows=2 block=32x8 ahead=2 unroll=4 shuffle",
          "fused ring rows=4 block=32x4 ahead=2 shuffle", "fused tile block=32x4 rows=1 depth=2 shuffle"})
      add(std::string("cuda ") + text);
  add("cuda gather");
  return found;
}

Hardware gpu_as_hardware(Device device) {
  Hardware h;
  h.cpu_name = fmt::format("{}, driver {}", cuda::read_facts(device.index).name, cuda::driver_version());
  h.caches.clear();
  return h;
}

}  // namespace spinloom::stencil
