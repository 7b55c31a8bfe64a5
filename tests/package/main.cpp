// Built outside the tree against the installed package: the adjoint of one sample at k = 0 is a constant image.
#include <cstdio>
#include <memory>
#include <utility>

#include "spinloom/fourier/dft.hpp"

int main() {
  using namespace spinloom;
  const auto k = std::make_shared<Trajectory>(Array<double>::zeros({2, 1}));
  const auto dft = make_dft<float>(k, {3, 5});
  auto y = Array<cfloat>::full({1, 1}, cfloat(2, 3));
  Array<cfloat> x({1, 3, 5});
  dft->adjoint(std::as_const(y).view(), x.view());
  for (const cfloat v : x)
    if (std::abs(v - cfloat(2, 3)) > 1e-6f) return 1;
  std::puts("the package works");
  return 0;
}
