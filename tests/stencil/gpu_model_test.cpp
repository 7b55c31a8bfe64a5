#include "spinloom/stencil/gpu_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/tuner/gpu.hpp"

namespace spinloom::stencil {
namespace {

/// An H200 in round numbers.
GpuMachine round_gpu() {
  GpuMachine m;
  m.copy = 4e12, m.in_order = 4e12, m.marching = 3.6e12, m.level2 = 6e12;
  m.single_operations = 32e12, m.double_operations = 16e12;
  return m;
}

template <class T>
GpuModelInput input_of(const std::string& name, const Shape& shape, const std::string& schedule) {
  const auto kernels = builtin_kernels<T>(name);
  Halo halo(0);
  int fields = 0;
  for (const auto& k : kernels) {
    fields = std::max(fields, k.view().fields());
    for (std::size_t a = 0; a < 3; ++a) {
      halo.low[a] = std::max<Index>(halo.low[a], k.view().reach().low[a]);
      halo.high[a] = std::max<Index>(halo.high[a], k.view().reach().high[a]);
    }
  }
  const Boundary zero = dirichlet(0);
  Boundaries faces{{zero, zero, zero}, {zero, zero, zero}};
  if (shape.size() == 2) faces.low[1] = faces.high[1] = {};
  GpuModelInput in = gpu_model_input(kernels, make_layout(shape, halo, sizeof(T), {DeviceKind::cuda, 0}),
                                     std::vector<Boundaries>(static_cast<std::size_t>(fields), faces),
                                     parse_schedule(schedule), 0);
  in.machine = round_gpu();
  return in;
}
const Shape cube = {1024, 1024, 1024};
const char* const tall = "cuda tile block=64x8 rows=4 depth=2 shuffle";

TEST(StencilGpuModel, ATileAsksForItsRowsAndRimsOnce) {
  // 256 columns x 32 rows x 2 planes. A row is 32 sectors of 32 bytes, and with a point on either side 34: 64 of these, two
  // rows above and below in each plane, and 32 rows in the plane before and in the one behind.
  const GpuPrediction p = predict_gpu_traffic(input_of<float>("7-point", cube, tall));
  EXPECT_DOUBLE_EQ(p.level2.read, 32 * (64 * 34 + 4 * 32 + 64 * 32) / (256.0 * 32 * 2));
  EXPECT_DOUBLE_EQ(p.level2.write, 4);
  EXPECT_EQ(p.stages[0].blocks, 4 * 32 * 512);
  // Four planes read and two written are 24 MiB, which half of the cache holds until the next tiles come.
  EXPECT_DOUBLE_EQ(p.memory.read, 4);
  EXPECT_DOUBLE_EQ(p.bytes_per_update, 8);
  EXPECT_DOUBLE_EQ(p.redundancy, 1);
}

TEST(StencilGpuModel, PlanesThatNoCacheHoldsAreFetchedAgain) {
  // 96 MiB for six planes of 2048 x 2048: each tile's two outer planes come from memory, but for the grid's own faces.
  const Shape wide = {1024, 2048, 2048};
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(input_of<float>("7-point", wide, tall)).memory.read,
                   4 * (1 + 2 / 2.0 * (1 - 1 / 512.0)));
  // In bands of 512 rows they are 24 MiB again.
  EXPECT_DOUBLE_EQ(
      predict_gpu_traffic(input_of<float>("7-point", wide, std::string(tall) + " band=512")).memory.read, 4);
  // 37.5 MiB are half way from half of the cache to all of it.
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(input_of<float>("7-point", {1024, 1280, 1280}, tall)).memory.read,
                   4 * (1 + 0.5 * 2 / 2.0 * (1 - 1 / 512.0)));
  // What stays in the cache from step to step needs no memory.
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(input_of<float>("7-point", {128, 128, 128}, tall)).bytes_per_update,
                   0);
}

TEST(StencilGpuModel, AThreadPerPointAsksForWhatItsBlockReads) {
  // 64 x 4 points: in their plane four rows of 10 sectors and two of 8, in the two beside it four rows of 8.
  const GpuPrediction p = predict_gpu_traffic(input_of<float>("7-point", cube, "cuda gather"));
  EXPECT_DOUBLE_EQ(p.level2.read, 32 * (4 * 10 + 2 * 8 + 8 * 8) / 256.0);
  // Doubles: a point on either side is a sector more, of 16.
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(input_of<double>("7-point", cube, "cuda gather")).level2.read,
                   32 * (4 * 18 + 2 * 16 + 8 * 16) / 256.0);
  // Either colour of a red-black sweep goes through u and f, and writes u.
  const GpuPrediction two = predict_gpu_traffic(input_of<float>("red-black", cube, "cuda gather"));
  EXPECT_DOUBLE_EQ(two.bytes_per_update, 2 * 12);
}

TEST(StencilGpuModel, ARingFetchesWholeBoxes) {
  // 128 x 36 points through 128 planes; boxes are four points wider on both sides, 18 sectors, and have four rows and
  // planes more on each.
  const GpuPrediction p =
      predict_gpu_traffic(input_of<float>("25-point", cube, "cuda ring rows=3 block=32x12 ahead=2"));
  EXPECT_DOUBLE_EQ(p.level2.read, 18 * 32 * 44 * 136 / (128.0 * 36 * 128));
  EXPECT_DOUBLE_EQ(p.memory.read, 4 * (1 + 8 / 128.0 * (1 - 1 / 8.0)));
  EXPECT_EQ(p.stages[0].blocks, 8 * 29 * 8);
  // A march asks for rows alone that are needed: rims of rows and columns in the planes that are computed, and none in the
  // eight around them.
  const GpuPrediction march =
      predict_gpu_traffic(input_of<float>("25-point", cube, "cuda march rows=2 depth=128 shuffle"));
  EXPECT_DOUBLE_EQ(march.level2.read, 32 * (128 * (16 * 18 + 8 * 16) + 8 * 16 * 16) / (128.0 * 16 * 128));
}

TEST(StencilGpuModel, OverlappedTilesReadAndComputeTheirRims) {
  // 128 columns x 32 rows with 4 steps keep 120 x 24: 9 x 43 tiles. Two planes of rims on each side of a block's depth.
  const GpuPrediction p =
      predict_gpu_traffic(input_of<float>("7-point", cube, "cuda overlapped steps=4 block=128x32"));
  const GpuStage& s = p.stages[0];
  EXPECT_EQ(s.block[1], 32);
  EXPECT_EQ(s.block[2], 128);
  const Index depth = s.block[0], layers = (1024 + depth - 1) / depth;
  EXPECT_EQ(s.blocks, 9 * 43 * layers);
  // At the lower face a block begins two planes early, else four; all end four planes late.
  const double planes = 1024.0 + 8 * double(layers) - 2;
  EXPECT_DOUBLE_EQ(p.redundancy, 9 * 43 * 128 * 32 * planes / std::pow(1024.0, 3));
  EXPECT_DOUBLE_EQ(p.level2.read, p.redundancy);  // four bytes, every fourth step
  EXPECT_DOUBLE_EQ(p.level2.write, 1);
  EXPECT_DOUBLE_EQ(p.memory.write, 1);
  EXPECT_DOUBLE_EQ(p.memory.read, 1 + 8.0 / double(depth) * (1 - 1 / double(layers)));
  // A run of six steps is two passes of three on the average.
  GpuModelInput six = input_of<float>("7-point", cube, "cuda overlapped");
  six.steps = 6;
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(six).memory.write, 4 / 3.0);
}

TEST(StencilGpuModel, AFusedChainIsOnePass) {
  GpuModelInput in = input_of<float>("7-point", cube, "cuda separate");
  in.chain.push_back(in.chain[0]);
  const GpuPrediction two = predict_gpu_traffic(in);
  ASSERT_EQ(two.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(two.bytes_per_update, 8);
  // What the first one writes and the second one reads goes nowhere.
  in.schedule = parse_schedule("cuda fused tile block=32x4 rows=2 depth=2 band=256 shuffle");
  const GpuPrediction one = predict_gpu_traffic(in);
  ASSERT_EQ(one.stages.size(), 1u);
  EXPECT_EQ(one.stages[0].stencils, 2);
  EXPECT_DOUBLE_EQ(one.bytes_per_update, 4);
  EXPECT_GT(one.operations, 1.5 * two.operations);
  // Lanes at the ends of a warp compute for the others: more blocks, and each of them a whole one.
  in.schedule = parse_schedule("cuda fused ring rows=2 block=32x8 ahead=2");
  const GpuPrediction alone = predict_gpu_traffic(in);
  in.schedule = parse_schedule("cuda fused ring rows=2 block=32x8 ahead=2 shuffle");
  const GpuPrediction handing = predict_gpu_traffic(in);
  EXPECT_EQ(alone.stages[0].blocks, 8 * 64 * 8);
  EXPECT_EQ(handing.stages[0].blocks, 9 * 64 * 8);
  EXPECT_LT(handing.operations, alone.operations);
  // The last step of a run writes what the chain's own stencils alone read.
  GpuModelInput scratch = in;
  for (Output& o : scratch.chain[0].outputs) o.field = 1;
  for (Node& n : scratch.chain[1].code)
    if (n.op == Op::access) n.field = 1;
  scratch.fields.push_back(scratch.fields[0]);
  scratch.schedule = parse_schedule("cuda fused");
  EXPECT_EQ(predict_gpu_traffic(scratch).stages.size(), 1u);
  scratch.steps = 4;
  const GpuPrediction run = predict_gpu_traffic(scratch);
  ASSERT_EQ(run.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(run.stages[0].share + run.stages[1].share, 1);
  EXPECT_DOUBLE_EQ(run.memory.write, 4 * (1 + 0.25) / 2);
  // Where the library joins a chain by itself the model does too, and faces take kernels of their own.
  in.schedule = parse_schedule("cuda");
  const std::size_t chosen = predict_gpu_traffic(in).stages.size();
  in.schedule = parse_schedule(chosen == 1 ? "cuda fused" : "cuda separate");
  EXPECT_EQ(predict_gpu_traffic(in).stages.size(), chosen);
  in.schedule = parse_schedule("cuda fused");
  const double quick = predict_gpu(in).glups;
  in.machine.launch_seconds = 1e-4;
  EXPECT_NEAR(1e-9 * (1 / predict_gpu(in).glups - 1 / quick), 1e-4 * (1 + 1 + 6) / (2.0 * 1024 * 1024 * 1024),
              1e-4 / (2.0 * 1024 * 1024 * 1024));
}

TEST(StencilGpuModel, ArithmeticIsCountedOnceForAThread) {
  // Five additions, a product and an fma.
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(input_of<float>("7-point", cube, "cuda gather")).operations, 7);
  EXPECT_DOUBLE_EQ(predict_gpu_traffic(input_of<float>("7-point", cube, tall)).operations, 7);
  // Sums of the 27-point stencil that several points of a thread have in common are computed once.
  const double alone = predict_gpu_traffic(input_of<float>("27-point", cube, "cuda gather")).operations,
               shared = predict_gpu_traffic(input_of<float>("27-point", cube, "cuda ring rows=4")).operations;
  EXPECT_GE(alone, 27);
  EXPECT_LE(shared, alone);
  EXPECT_GT(shared, 7);
}

TEST(StencilGpuModel, TheSlowestPartSetsTheSpeed) {
  const GpuPrediction p = predict_gpu(input_of<float>("7-point", cube, tall));
  const GpuStage& s = p.stages[0];
  EXPECT_DOUBLE_EQ(s.memory_seconds, 8 / 4e12);
  EXPECT_DOUBLE_EQ(s.level2_seconds, 12.5 / 6e12);
  EXPECT_DOUBLE_EQ(s.arithmetic_seconds, 7 / 32e12);
  EXPECT_EQ(p.limit, "L2");
  EXPECT_DOUBLE_EQ(p.roofline_glups, 4e12 / 8 * 1e-9);
  const double together = std::pow(std::pow(8 / 4e12, 4) + std::pow(12.5 / 6e12, 4), 0.25);
  EXPECT_NEAR(p.glups, 1e-9 / together, 1e-9 * p.glups);  // the same formula, rounded elsewhere
  // A faster cache leaves memory, and a slow multiplier the arithmetic; what was rehearsed takes the place of both.
  GpuModelInput in = input_of<float>("7-point", cube, tall);
  in.machine.level2 = 60e12;
  EXPECT_EQ(predict_gpu(in).limit, "memory");
  in.machine.single_operations = 1e12;
  EXPECT_EQ(predict_gpu(in).limit, "arithmetic");
  in.on_chip = {1e-11};
  EXPECT_EQ(predict_gpu(in).limit, "arithmetic");
  in.on_chip = {2e-11};
  EXPECT_EQ(predict_gpu(in).limit, "instructions");
  EXPECT_NEAR(predict_gpu(in).glups, 50, 0.01);  // memory's part is a ten-thousandth of it
  // Blocks that march reach less of memory.
  EXPECT_DOUBLE_EQ(
      predict_gpu(input_of<float>("7-point", cube, "cuda march")).stages[0].memory_seconds,
      predict_gpu_traffic(input_of<float>("7-point", cube, "cuda march")).bytes_per_update / 3.6e12);
}

TEST(StencilGpuModel, TheLastWaveCosts) {
  // 8 x 29 x 8 blocks, two at once on 132 multiprocessors: 7.03 waves, and the rest of the eighth is as long as the chip
  // takes, here as long as all.
  GpuModelInput in = input_of<float>("25-point", cube, "cuda ring rows=3 block=32x12 ahead=2");
  in.kernels = {{384, 80, 0, 70000, 2}};
  in.on_chip = {1e-11};
  const GpuStage s = predict_gpu(in).stages[0];
  EXPECT_DOUBLE_EQ(s.waves, 1856 / 264.0);
  EXPECT_NEAR(s.tail, 8 / (1856 / 264.0), 1e-2);  // memory has a part in the sum of a few thousandths
  in.on_chip = {1e-15};
  EXPECT_NEAR(predict_gpu(in).stages[0].tail, 1, 5e-3);
}

TEST(StencilGpuModel, RefusesWhatIsNotForAGpu) {
  EXPECT_THROW(predict_gpu_traffic(input_of<float>("7-point", cube, "sweep rows=64")), ArgumentError);
  EXPECT_THROW(predict_gpu_traffic(input_of<float>("25-point", cube, "cuda overlapped")), ArgumentError);
  GpuModelInput in = input_of<float>("7-point", cube, "cuda");
  in.machine.level2 = 0;
  EXPECT_NO_THROW(predict_gpu_traffic(in));
  EXPECT_THROW(predict_gpu(in), ArgumentError);
  in = input_of<float>("7-point", cube, "cuda");
  in.on_chip = {1e-12, 1e-12};
  EXPECT_THROW(predict_gpu(in), ArgumentError);
  EXPECT_THROW(predict_gpu_traffic({}), ArgumentError);
  EXPECT_TRUE(is_modelled_on_gpu(parse_schedule("cuda overlapped")));
  EXPECT_FALSE(is_modelled_on_gpu(parse_schedule("diamond width=8")));
  EXPECT_THROW(report(GpuPrediction{}, round_gpu(), 0), ArgumentError);
}

TEST(StencilGpuModel, WhatIsTriedCanRun) {
  // Eight steps of doubles in strips of 256, and of red-black points in tiles of 64 x 64, are more than registers hold.
  for (const auto& [name, shape] :
       {std::pair{"5-point", Shape{8192, 8192}}, {"red-black", cube}, {"7-point", cube}}) {
    GpuModelInput in = input_of<double>(name, shape, "cuda");
    const auto tried = gpu_candidates(in.chain, in.layout, in.fields, 8);
    EXPECT_EQ(to_string(tried.at(0)), "cuda");
    for (const Schedule& s : tried) {
      in.schedule = s;
      EXPECT_NO_THROW(predict_gpu(in)) << to_string(s);
    }
  }
  EXPECT_THROW(predict_gpu(input_of<double>("5-point", {8192, 8192}, "cuda overlapped steps=8 block=256x1")),
               ArgumentError);
  EXPECT_NO_THROW(
      predict_gpu(input_of<float>("5-point", {8192, 8192}, "cuda overlapped steps=8 block=128x1")));
}

TEST(StencilGpuModel, EverySizeHasAnAnswer) {
  for (const char* schedule :
       {"cuda", "cuda gather", "cuda tile", "cuda march", "cuda ring", "cuda overlapped"})
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{0, 5, 7}, Shape{3, 1, 1000}, Shape{17, 63, 65}}) {
      const GpuPrediction p = predict_gpu(input_of<double>("7-point", shape, schedule));
      EXPECT_TRUE(std::isfinite(p.glups) && p.glups > 0) << schedule << " " << spinloom::to_string(shape);
    }
}

}  // namespace
}  // namespace spinloom::stencil
