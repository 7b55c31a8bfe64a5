#include "stencil/tuner/key.hpp"

#include <fmt/format.h>

#include "stencil/tuner/store.hpp"

namespace spinloom::stencil {

Index extent_class(Index extent) {
  if (extent <= 16) return extent;
  Index unit = 1;
  while (extent / unit >= 8) unit *= 2;
  return (extent + unit / 2) / unit * unit;
}

std::string tuning_key(const std::string& expressions, const std::string& element,
                       const std::array<Index, 3>& extents, const std::vector<Boundaries>& fields,
                       Index steps, int threads, const Hardware& hardware) {
  std::string faces;
  for (const Boundaries& b : fields) {
    if (!faces.empty()) faces += '.';
    for (std::size_t a = 0; a < 3; ++a)
      for (const Boundary& face : {b.low[a], b.high[a]})
        faces += static_cast<char>('a' + static_cast<int>(face.kind));
  }
  std::string caches;
  for (const CacheFacts& c : hardware.caches)
    caches += fmt::format(" L{} {} {}", c.level, c.bytes, c.shared_by);
  // Runs of more than 64 steps are all long.
  const Index long_run = 64, depth = steps == 0 || steps > long_run ? 0 : extent_class(steps);
  return fmt::format(
      "1 stencil={} element={} points={}x{}x{} faces={} steps={} threads={} machine={} version={}",
      hash_of(expressions), element, extent_class(extents[0]), extent_class(extents[1]),
      extent_class(extents[2]), faces, depth, threads, hash_of(hardware.cpu_name + caches),
      SPINLOOM_LIBRARY_VERSION);
}

}  // namespace spinloom::stencil
