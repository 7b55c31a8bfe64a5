#include "stencil/multigrid/rows.hpp"

#include "spinloom/stencil/builtin.hpp"
#include "stencil/builtin/targets.hpp"

namespace spinloom::stencil::multigrid {

#define SPINLOOM_DECLARE(target)   \
  namespace target {               \
  void fill_rows(Rows<float>& r);  \
  void fill_rows(Rows<double>& r); \
  }
SPINLOOM_STENCIL_TARGETS(SPINLOOM_DECLARE)
#undef SPINLOOM_DECLARE

template <class T>
const Rows<T>& rows() {
  static const Rows<T> best = [] {
    const std::string target = builtin_targets().front();
    Rows<T> r;
#define SPINLOOM_FILL(name) \
  if (target == #name) return name::fill_rows(r), r;
    SPINLOOM_STENCIL_TARGETS(SPINLOOM_FILL)
#undef SPINLOOM_FILL
    return r;
  }();
  return best;
}
template const Rows<float>& rows();
template const Rows<double>& rows();

}  // namespace spinloom::stencil::multigrid
