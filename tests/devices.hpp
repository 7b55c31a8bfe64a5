#pragma once
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "spinloom/core/device.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom {
/// How test listings show a device.
inline void PrintTo(Device device, std::ostream* out) { *out << to_string(device); }
}  // namespace spinloom

namespace spinloom::testing {

constexpr Device gpu{DeviceKind::cuda, 0};

/// Why a test on `device` cannot run here, empty when it can.
inline std::string missing(Device device) {
  return device.kind == DeviceKind::cuda ? cuda_status().problem : "";
}

/// A name for a parameterised test's instance: "cpu", "cuda".
inline std::string device_name(const ::testing::TestParamInfo<Device>& info) {
  return info.param.kind == DeviceKind::cuda ? "cuda" : to_string(info.param);
}

}  // namespace spinloom::testing

/// First line of a test that runs on `device`: without it, the test is skipped and says why.
#define SPINLOOM_NEEDS(device) \
  if (const std::string why = ::spinloom::testing::missing(device); !why.empty()) GTEST_SKIP() << why
