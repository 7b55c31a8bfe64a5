#include "spinloom/core/device.hpp"

#include <fmt/format.h>

#include <charconv>

#include "spinloom/core/error.hpp"

namespace spinloom {

std::string to_string(Device device) {
  switch (device.kind) {
    case DeviceKind::reference: return "reference";
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::cuda: return fmt::format("cuda:{}", device.index);
  }
  throw ArgumentError("device of an unknown kind");
}

Device parse_device(const std::string& word) {
  if (word == "auto" || word == "cpu") return {};
  if (word == "reference") return {DeviceKind::reference, 0};
  if (word == "cuda") return {DeviceKind::cuda, 0};
  if (word.rfind("cuda:", 0) == 0) {
    int index = -1;
    const char* end = word.data() + word.size();
    const auto [stop, status] = std::from_chars(word.data() + 5, end, index);
    if (status == std::errc() && stop == end && index >= 0) return {DeviceKind::cuda, index};
  }
  throw ArgumentError(fmt::format("device '{}' is unknown, expected auto, cpu, reference, cuda or cuda:N", word));
}

}  // namespace spinloom
