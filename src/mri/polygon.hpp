#pragma once
#include "spinloom/mri/coils.hpp"

namespace spinloom::coils {

/// A loop cut into straight segments, ready for Biot-Savart at many points; see loop_field().
class Polygon {
 public:
  explicit Polygon(const CoilLoop& loop, Index segments = 200);
  std::array<double, 3> field(const std::array<double, 3>& r) const;

 private:
  std::vector<std::array<double, 3>> steps_, middles_;
};

}  // namespace spinloom::coils
