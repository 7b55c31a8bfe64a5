#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "spinloom/core/error.hpp"
#include "spinloom/io/tensor.hpp"

/// Where a mask's values are not 0. A value that is no number says neither, and is refused.
inline void to_mask(const std::string& path, const spinloom::Tensor& values, std::uint8_t* to) {
  for (const double v : values.to<double>()) {
    if (std::isnan(v))
      throw spinloom::ArgumentError(fmt::format(
          "{}: the mask holds values that are not numbers; expected 0 where nothing is done, else another",
          path));
    *to++ = v != 0;
  }
}
