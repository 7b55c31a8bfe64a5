#pragma once
#include <vector>

#include "spinloom/stencil/definition.hpp"

namespace spinloom::stencil {

/// What one kernel touches of one field at one time level when it computes `planes` planes at once.
struct ReadFootprint {
  int field = 0;
  TimeLevel level = TimeLevel::current;
  int planes = 0;    ///< distinct planes
  int rows = 0;      ///< distinct rows, of all planes
  int row_span = 0;  ///< rows from the first to the last one read in each plane, summed over the planes
  int z_span = 0;    ///< planes beyond those computed, from the first to the last one
  int y_span = 0;    ///< rows beyond those computed
};
struct Footprint {
  std::vector<ReadFootprint> reads;
  int x_span = 0;  ///< columns beyond those computed
  struct Write {
    int field = 0;
    bool has_its_line = false;  ///< the array written was read too: a store loads nothing
  };
  std::vector<Write> writes;
};
Footprint footprint(const Definition& definition, int planes);

}  // namespace spinloom::stencil
