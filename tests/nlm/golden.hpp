#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "spinloom/io/npy.hpp"
#include "spinloom/nlm/front_end.hpp"

namespace spinloom::testing {

/// One call of scikit-image's denoise_nl_means with its result, from tests/data/nlm.
struct Golden {
  std::string name;
  NlmOptions options;
  NlmRange range;
  std::optional<Index> channel_axis;
  Tensor in, out;
};

inline std::string golden_file(const std::string& name) { return SPINLOOM_TEST_DATA "/nlm/" + name; }

inline nlohmann::json golden_index() {
  return nlohmann::json::parse(std::ifstream(golden_file("index.json")));
}

inline std::vector<Golden> goldens() {
  std::vector<Golden> all;
  const auto index = golden_index();
  for (const auto& entry : index["cases"]) {
    const auto& p = entry["params"];
    Golden g;
    g.name = entry["name"];
    g.options.patch_size = {p["patch_size"].get<Index>()};
    g.options.patch_distance = {p["patch_distance"].get<Index>()};
    g.options.h = p["h"];
    g.options.sigma = p["sigma"];
    g.options.mode = p["fast_mode"].get<bool>() ? NlmMode::fast : NlmMode::classic;
    g.range = p["preserve_range"].get<bool>() ? NlmRange::preserve : NlmRange::scale;
    if (!p["channel_axis"].is_null()) g.channel_axis = p["channel_axis"].get<Index>();
    g.in = read_npy(golden_file(g.name + ".in.npy"));
    g.out = read_npy(golden_file(g.name + ".out.npy"));
    all.push_back(std::move(g));
  }
  return all;
}

/// The image as nlm() takes it.
template <class Real>
Array<Real> imported(const Golden& g) {
  Array<Real> values(nlm_working_shape(g.in.shape, g.channel_axis));
  const auto import = [&](const auto& typed) { nlm_import(typed, g.channel_axis, g.range, values.view()); };
  switch (g.in.dtype) {
    case DType::u8: import(g.in.as<std::uint8_t>()); break;
    case DType::i16: import(g.in.as<std::int16_t>()); break;
    case DType::f16: {
      const Array<float> wide = g.in.to<float>();
      import(wide.view());
      break;
    }
    case DType::f32: import(g.in.as<float>()); break;
    case DType::f64: import(g.in.as<double>()); break;
    case DType::b1:
      import(View<const bool>(reinterpret_cast<const bool*>(g.in.bytes.data()), g.in.shape));
      break;
    default: ADD_FAILURE() << g.name << ": a type that the test does not know";
  }
  return values;
}

}  // namespace spinloom::testing
