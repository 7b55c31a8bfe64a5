#pragma once
#include <complex>
#include <cstdint>

namespace spinloom {

using cfloat = std::complex<float>;
using cdouble = std::complex<double>;
using Index = std::int64_t;  ///< element counts and indices; arrays may exceed 2^31 elements

}  // namespace spinloom
