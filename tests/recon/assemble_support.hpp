#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "example_scan.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/recon/assemble.hpp"
#include "temporary_folder.hpp"

namespace spinloom::testing {

constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();

struct Heard {
  std::string warnings, notes;
  Log log() {
    return [this](Severity severity, const std::string& text) {
      (severity == Severity::warning ? warnings : notes) += text + "\n";
    };
  }
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string error_of(const RawScan& scan, const AssembleOptions& options = {}) {
  return message_of([&] { assemble(scan, options); });
}

inline void expect_same(const Measurement& a, const Measurement& b, double tolerance = 0) {
  ASSERT_EQ(a.kspace.shape(), b.kspace.shape());
  ASSERT_EQ(a.trajectory->view().shape, b.trajectory->view().shape);
  EXPECT_TRUE(std::equal(a.kspace.begin(), a.kspace.end(), b.kspace.begin()));
  for (Index i = 0; i < a.trajectory->view().size(); ++i)
    ASSERT_NEAR(a.trajectory->view()[i], b.trajectory->view()[i], tolerance) << i;
}

inline void scale_trajectory(RawScan& scan, double factor) {
  for (Acquisition& a : scan.acquisitions)
    for (float& k : a.trajectory) k = static_cast<float>(k * factor);
}

}  // namespace spinloom::testing
