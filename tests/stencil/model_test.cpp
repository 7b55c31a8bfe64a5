#include "spinloom/stencil/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "temporary_folder.hpp"

namespace spinloom::stencil {
namespace {

/// Two cores: 32 KiB and 1 MiB each, 32 MiB together.
Machine two_cores() {
  Machine m;
  m.caches = {{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 32 << 20, 2}};
  m.threads = 2;
  m.rates[0] = {{100e9, 160e9, 0}, {80e9, 128e9, 0}, {30e9, 60e9, 40e9}};
  m.rates[1] = {{200e9, 320e9, 0}, {160e9, 256e9, 0}, {40e9, 80e9, 50e9}};
  return m;
}

ModelInput input_of(const std::string& name, const Shape& shape, const std::string& schedule,
                    Index element = 8) {
  ModelInput in;
  Halo halo(0);
  for (const auto& k : builtin_kernels<double>(name)) {
    in.chain.push_back(*k.definition);
    for (std::size_t a = 0; a < 3; ++a) {
      halo.low[a] = std::max<Index>(halo.low[a], k.view().reach().low[a]);
      halo.high[a] = std::max<Index>(halo.high[a], k.view().reach().high[a]);
    }
  }
  in.layout = make_layout(shape, halo, element);
  in.element_bytes = element;
  in.schedule = parse_schedule(schedule);
  in.machine = two_cores();
  in.in_core.assign(in.chain.size(), 1e-10);
  return in;
}
const Shape cube = {512, 512, 512};

TEST(StencilModel, SevenPointLayerConditionsAreThoseByHand) {
  // A row is 8 (512 + 2) = 4112 bytes. Five rows are 20560 bytes, more than half of 32 KiB; three layers of 64 rows and
  // one on either side are 3 * 66 rows = 814176 bytes, more than half of 1 MiB and less than half of 16 MiB.
  const Prediction p = predict_traffic(input_of("7-point", cube, "sweep rows=64"));
  ASSERT_EQ(p.caches.size(), 3u);
  for (const auto& c : p.caches) {
    EXPECT_EQ(c.bytes_rows, 5 * 4112);
    EXPECT_EQ(c.bytes_layers, 3 * 66 * 4112);
    EXPECT_EQ(c.bytes_steps, 0);
  }
  EXPECT_EQ(p.caches[0].holds, Reuse::none);
  EXPECT_EQ(p.caches[1].holds, Reuse::rows);
  EXPECT_EQ(p.caches[2].holds, Reuse::layers);
  // 3 (rows + 2) 4112 <= 512 KiB up to 40 rows, <= 8 MiB up to 678, which are more than there are.
  EXPECT_EQ(p.caches[0].most_rows, 0);
  EXPECT_EQ(p.caches[1].most_rows, 40);
  EXPECT_EQ(p.caches[2].most_rows, 512);
  EXPECT_EQ(p.caches[2].share, 16 << 20);

  EXPECT_EQ(predict_traffic(input_of("7-point", cube, "sweep rows=40")).caches[1].holds, Reuse::layers);
  EXPECT_EQ(predict_traffic(input_of("7-point", cube, "sweep rows=41")).caches[1].holds, Reuse::rows);
}

TEST(StencilModel, SweepTrafficIsThatByHand) {
  // Past level 1 each of the five rows is loaded, past level 2 each of the three planes, past level 3 the value alone;
  // where something is kept, blocks of 64 rows load 66. The result is loaded before it is stored.
  const Prediction plain = predict_traffic(input_of("7-point", cube, "sweep rows=64"));
  EXPECT_DOUBLE_EQ(plain.traffic[0].read, 5 * 8 + 8);
  EXPECT_DOUBLE_EQ(plain.traffic[0].write, 8);
  EXPECT_DOUBLE_EQ(plain.traffic[1].read, 3 * 8 * 66 / 64.0 + 8);
  EXPECT_DOUBLE_EQ(plain.traffic[2].read, 8 * 66 / 64.0 + 8);
  EXPECT_DOUBLE_EQ(plain.bytes_per_update, 8 * 66 / 64.0 + 16);
  // Past the caches it is not, and four planes at once need six planes of rows: 1, 3, 3, 3, 3, 1.
  const Prediction streamed = predict_traffic(input_of("7-point", cube, "sweep rows=64 planes=4 stream"));
  EXPECT_DOUBLE_EQ(streamed.traffic[0].read, 14 / 4.0 * 8);
  EXPECT_DOUBLE_EQ(streamed.traffic[0].total(), streamed.traffic[0].read);
  EXPECT_DOUBLE_EQ(streamed.traffic[1].read, 6 / 4.0 * 8 * 66 / 64.0);
  EXPECT_DOUBLE_EQ(streamed.traffic[2].stream, 8);
  EXPECT_DOUBLE_EQ(streamed.bytes_per_update, 8 * 66 / 64.0 + 8);
  // Half the element, half the bytes; whole rows of planes have no edges.
  EXPECT_DOUBLE_EQ(predict_traffic(input_of("7-point", cube, "sweep planes=4 stream", 4)).bytes_per_update,
                   8);
}

TEST(StencilModel, WhatIsWrittenInPlaceLoadsNothing) {
  // The wave equation's u, prev(u) and speed are read, and prev(u)'s array is written: radius 4 in blocks of 32 rows.
  EXPECT_DOUBLE_EQ(predict_traffic(input_of("wave", cube, "sweep rows=32")).bytes_per_update,
                   8 * 40 / 32.0 + 8 + 8 + 8);
  // Each colour of red-black goes through u and f, and writes u.
  EXPECT_DOUBLE_EQ(predict_traffic(input_of("red-black", cube, "sweep rows=64")).bytes_per_update,
                   2 * (8 * 66 / 64.0 + 8 + 8));
}

TEST(StencilModel, TemporalTrafficIsThatByHand) {
  // Both arrays of a diamond of 24 rows are read and written once for 12 steps: 64 / 24 bytes.
  const Prediction diamond = predict_traffic(input_of("7-point", cube, "diamond width=24"));
  EXPECT_DOUBLE_EQ(diamond.bytes_per_update, 64.0 / 24);
  EXPECT_DOUBLE_EQ(diamond.caches[2].bytes_steps, 2 * 4112.0 * 26 * 25 / 2);
  EXPECT_EQ(diamond.caches[1].holds, Reuse::layers);  // of the 12 rows that a level has on the average
  EXPECT_EQ(diamond.caches[2].holds, Reuse::steps);
  // A run of three steps has no use for more; with a small last cache a diamond is a sweep.
  ModelInput few = input_of("7-point", cube, "diamond width=24");
  few.steps = 3;
  EXPECT_DOUBLE_EQ(predict_traffic(few).bytes_per_update, 4 * 8 / 3.0);
  few.steps = 0;
  few.machine.caches[2].bytes = 4 << 20;
  EXPECT_GE(predict_traffic(few).bytes_per_update, 24);
  // Blocks of 1024 columns that take 16 steps: read with a rim of 16 on both sides, written once, computed with rims
  // of 15, 14, .. 0.
  const Prediction overlapped =
      predict_traffic(input_of("5-point", {8192, 8192}, "overlapped steps=16 columns=1024 planes=4 stream"));
  EXPECT_DOUBLE_EQ(overlapped.bytes_per_update, 8 * (1 + 32 / 1024.0) / 16 + 8 / 16.0);
  EXPECT_DOUBLE_EQ(overlapped.redundancy, 1 + 2 * 7.5 / 1024);
  // All threads share a wavefront of 8 steps; it loads again what its skew cut off: 8 of 64 rows.
  const Prediction wavefront = predict_traffic(input_of("7-point", cube, "wavefront steps=8 rows=64"));
  EXPECT_EQ(wavefront.caches[2].holds, Reuse::steps);
  EXPECT_DOUBLE_EQ(wavefront.bytes_per_update, 2 * 8 * (1 + 8 / 64.0) / 8 + 2 * 8 / 8.0);
}

TEST(StencilModel, GridsThatFitACacheLeaveMemoryAlone) {
  const Prediction p = predict_traffic(input_of("7-point", {48, 48, 512}, "sweep rows=12"));
  EXPECT_EQ(p.caches[2].holds, Reuse::grids);
  EXPECT_EQ(p.bytes_per_update, 0);
  // Stores past the caches go to memory all the same.
  EXPECT_GE(predict_traffic(input_of("7-point", {48, 48, 512}, "sweep rows=12 stream")).bytes_per_update, 16);
}

TEST(StencilModel, SpeedFollowsFromGivenRates) {
  ModelInput in = input_of("7-point", {512, 256, 256}, "sweep planes=4 stream prefetch");
  in.in_cache = 2e-10;
  const Prediction p = predict(in);
  // 8 bytes read at 40 GB/s, 8 streamed: a pair costs 2 / 50, so the store 2 / 50 - 1 / 40; for each of two threads.
  const double memory = 2 * (8 / 40e9 + 8 * (2 / 50e9 - 1 / 40e9));
  EXPECT_NEAR(p.transfer.back(), memory, 1e-9 * memory);
  // Rows of 2 KiB: by p = 2.5 where they are fetched ahead, else nothing overlaps.
  EXPECT_NEAR(p.glups, 2e-9 / std::pow(std::pow(2e-10, 2.5) + std::pow(memory, 2.5), 0.4), 1e-9 * p.glups);
  ModelInput plain = input_of("7-point", {512, 256, 256}, "sweep planes=4");
  plain.in_cache = 2e-10;
  EXPECT_EQ(predict(plain).overlap, 1);
  EXPECT_EQ(p.limit, "memory");
  EXPECT_NEAR(p.roofline_glups, 2e-9 / memory, 1e-9 * p.roofline_glups);
  EXPECT_LT(p.glups, p.roofline_glups);
  // Rows of 16 KiB overlap half way, in the logarithm, rows of 64 KiB to p = 4; with blocks of columns those count.
  ModelInput longer = input_of("5-point", {8192, 2048}, "sweep planes=4 stream prefetch");
  longer.in_cache = 2e-10;
  EXPECT_NEAR(predict(longer).overlap, 3.25, 1e-12);
  EXPECT_NEAR(predict(longer).glups,
              2e-9 / std::pow(std::pow(2e-10, 3.25) + std::pow(memory, 3.25), 1 / 3.25), 1e-6);
  longer = input_of("5-point", {2048, 8192}, "sweep planes=4 stream prefetch");
  EXPECT_EQ(predict(longer).overlap, 4);
  longer.schedule.columns = 512;
  EXPECT_EQ(predict(longer).overlap, 2.5);

  const Report r = report(p, 2, 0.8 * p.glups);
  EXPECT_NEAR(r.predicted_over_measured, 1.25, 1e-9);
  EXPECT_NEAR(r.bandwidth, 16 / (memory / 2), 1);
  EXPECT_NEAR(r.implied_bytes_per_update * r.share_of_bandwidth, 16, 1e-9);
}

TEST(StencilModel, ManyThreadsSaturateMemory) {
  ModelInput in = input_of("7-point", cube, "sweep rows=16 planes=4 stream prefetch");
  in.machine.threads = 16;
  in.machine.caches[2].shared_by = 16;
  in.machine.rates[1] = {{1600e9, 2560e9, 0}, {1280e9, 2048e9, 0}, {90e9, 180e9, 120e9}};
  in.in_cache = 2e-10;
  const Prediction p = predict(in);
  ASSERT_EQ(p.glups_at.size(), 16u);
  for (std::size_t n = 1; n < 16; ++n) EXPECT_GE(p.glups_at[n], p.glups_at[n - 1]);
  EXPECT_LE(p.glups, p.roofline_glups);
  EXPECT_GE(p.saturation_threads, 3);  // three threads' worth of memory is there
  EXPECT_LT(p.saturation_threads, 12);
  EXPECT_EQ(predict(input_of("7-point", {16, 48, 256}, "sweep")).saturation_threads, 0);
}

TEST(StencilModel, RefusesWhatItCannotReckonWith) {
  ModelInput in = input_of("7-point", cube, "sweep");
  const auto says = [](const ModelInput& input, const char* words) {
    const std::string what = testing::message_of([&] { predict(input); });
    EXPECT_NE(what.find(words), std::string::npos) << what;
  };
  ModelInput bad = in;
  bad.chain.clear();
  bad.in_core.clear();
  says(bad, "empty");
  bad = in;
  bad.machine.rates[1].pop_back();
  says(bad, "rates");
  bad = in;
  bad.machine.rates[0][1].read = 0;
  says(bad, "above 0");
  bad = in;
  bad.in_core.clear();
  says(bad, "in-core");
  bad = in;
  bad.machine.caches.clear();
  for (auto& r : bad.machine.rates) r.clear();
  says(bad, "caches");
  EXPECT_THROW(report(predict(in), 2, 0), ArgumentError);
}

TEST(StencilModel, MeasuredRatesAreRates) {
  RateMeter meter;
  const Machine& m = meter.measure();
  for (const auto& rates : m.rates) {
    ASSERT_EQ(rates.size(), m.caches.size());
    for (const Rates& r : rates) {
      EXPECT_GT(r.read, 0);
      EXPECT_GT(r.update, 0);
    }
    EXPECT_GT(rates.back().stream, 0);
  }
  for (const char* name : {"7-point", "wave", "red-black", "gaussian"}) {
    ModelInput in = input_of(name, {20, 30, 40}, "sweep planes=2 prefetch");
    in.machine = m;
    const auto kernels = builtin_kernels<double>(name);
    in.schedule = effective(kernels, in.schedule);
    in.in_core = measure_in_core(kernels, 40, in.schedule);
    in.in_cache = measure_in_cache(kernels, in.layout, in.schedule, m);
    const Prediction p = predict(in);
    EXPECT_TRUE(std::isfinite(p.glups) && p.glups > 0) << name;
    EXPECT_GT(p.in_cache, 0) << name;
  }
}

TEST(StencilModel, KernelsAreTakenForWhatTheyCan) {
  // The blur was compiled for one plane at a time.
  const auto blur = builtin_kernels<float>("gaussian"), star = builtin_kernels<float>("7-point");
  EXPECT_EQ(effective(star, parse_schedule("sweep planes=4 stream prefetch")),
            parse_schedule("sweep planes=4 stream prefetch"));
  EXPECT_EQ(effective(blur, parse_schedule("sweep planes=4")).planes, 1);
}

TEST(Hardware, ReadsCachesAsTheSystemListsThem) {
  const testing::TemporaryFolder folder;
  const auto entry = [&](int index, const char* level, const char* type, const char* size,
                         const char* shared) {
    const std::string name = "index" + std::to_string(index);
    std::filesystem::create_directory(folder / name);
    folder.write(name + "/level", level);
    folder.write(name + "/type", type);
    folder.write(name + "/size", size);
    if (shared != nullptr) folder.write(name + "/shared_cpu_list", shared);
  };
  EXPECT_TRUE(read_caches(folder / "missing").empty());
  entry(0, "3\n", "Unified\n", "36M\n", "0-3,8-11\n");
  entry(1, "1\n", "Instruction\n", "32K\n", "0\n");
  entry(2, "1\n", "Data\n", "48K\n", "0,4\n");
  entry(3, "2\n", "Unified\n", "lots\n", "0\n");
  entry(4, "two\n", "Unified\n", "1024K\n", "0\n");
  entry(5, "4\n", "Unified\n", "8388608\n", nullptr);
  const std::vector<CacheFacts> expected = {{1, 48 << 10, 2}, {3, 36 << 20, 8}, {4, 8 << 20, 1}};
  EXPECT_EQ(read_caches(folder / ""), expected);
  Hardware silent;
  silent.cores = 3;
  EXPECT_EQ(usable_caches(silent).size(), 3u);
}

}  // namespace
}  // namespace spinloom::stencil
