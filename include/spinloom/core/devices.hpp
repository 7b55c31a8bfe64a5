#pragma once
#include <string>
#include <vector>

#include "spinloom/core/device.hpp"

namespace spinloom {

/// "cpu", "cuda:0,1"
std::string to_string(const std::vector<Device>& devices);

/// One device as parse_device() takes it, or several different GPUs in one word: cuda:0,1. Throws ArgumentError
/// otherwise.
std::vector<Device> parse_devices(const std::string& word);

}  // namespace spinloom
