#include "stencil/multigrid/rows.hpp"

#include "spinloom/stencil/builtin.hpp"

namespace spinloom::stencil::multigrid {

#define SPINLOOM_DECLARE(target)   \
  namespace target {               \
  void fill_rows(Rows<float>& r);  \
  void fill_rows(Rows<double>& r); \
  }
SPINLOOM_DECLARE(baseline)
#if defined(__x86_64__)
SPINLOOM_DECLARE(avx2)
SPINLOOM_DECLARE(avx512)
#endif
#undef SPINLOOM_DECLARE

template <class T>
const Rows<T>& rows() {
  static const Rows<T> best = [] {
    const std::string target = builtin_targets().front();
    Rows<T> r;
#if defined(__x86_64__)
    if (target == "avx512")
      avx512::fill_rows(r);
    else if (target == "avx2")
      avx2::fill_rows(r);
    else
#endif
      baseline::fill_rows(r);
    return r;
  }();
  return best;
}
template const Rows<float>& rows();
template const Rows<double>& rows();

}  // namespace spinloom::stencil::multigrid
