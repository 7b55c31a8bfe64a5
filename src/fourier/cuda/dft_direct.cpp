#include "fourier/cuda/dft_direct.hpp"

#include <fmt/format.h>

#include <complex>
#include <type_traits>

namespace spinloom::cuda {

extern const KernelSource dft_direct_source;

namespace {

/// Coils that share one sine and cosine: more would spill registers.
constexpr Index coils_per_pass = 4;
constexpr Index threads = 128;  // as in dft_direct.cu

template <class Real>
const KernelInstance& instance(bool is_single_coil, bool has_off_resonance) {
  static const std::vector<KernelInstance> all = [] {
    std::vector<KernelInstance> made;
    for (const bool off : {false, true})
      for (const Index coils : {Index{1}, coils_per_pass})
        made.push_back({&dft_direct_source,
                        {std::is_same_v<Real, float> ? "REAL=float" : "REAL=double",
                         fmt::format("COILS={}", coils), fmt::format("OFF_RESONANCE={:d}", off)}});
    return made;
  }();
  return all[static_cast<std::size_t>(2 * has_off_resonance + !is_single_coil)];
}

}  // namespace

template <class Real>
void launch_direct_dft(const Context& context, const char* kernel, const Shape& matrix,
                       const std::uint64_t* k, Index samples, const Real* hz, const Real* times, Index coils,
                       const std::complex<Real>* in, std::complex<Real>* out, Index outputs) {
  struct Matrix {
    int n[3] = {1, 1, 1};
  } axes;
  for (std::size_t d = 0; d < matrix.size(); ++d) axes.n[3 - matrix.size() + d] = static_cast<int>(matrix[d]);
  const Index passes = coils == 1 ? 1 : (coils + coils_per_pass - 1) / coils_per_pass;
  launch(context, instance<Real>(coils == 1, hz != nullptr), kernel,
         {static_cast<unsigned>((outputs + threads - 1) / threads), static_cast<unsigned>(passes)}, {threads},
         0, axes, k, samples, hz, times, in, static_cast<int>(coils), out);
}

template void launch_direct_dft(const Context&, const char*, const Shape&, const std::uint64_t*, Index,
                                const float*, const float*, Index, const cfloat*, cfloat*, Index);
template void launch_direct_dft(const Context&, const char*, const Shape&, const std::uint64_t*, Index,
                                const double*, const double*, Index, const cdouble*, cdouble*, Index);

std::vector<KernelInstance> direct_kernel_instances() {
  std::vector<KernelInstance> all;
  for (const bool is_single : {true, false})
    for (const bool off : {false, true}) {
      all.push_back(instance<float>(is_single, off));
      all.push_back(instance<double>(is_single, off));
    }
  return all;
}

}  // namespace spinloom::cuda
