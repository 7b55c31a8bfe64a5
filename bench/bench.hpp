#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "spinloom/core/device.hpp"
#include "spinloom/core/log.hpp"
#include "spinloom/core/shape.hpp"

using Json = nlohmann::ordered_json;

/// What the user asks of a benchmark; empty or 0 where the benchmark's own default is wanted.
struct BenchRequest {
  spinloom::Shape matrix;
  spinloom::Index samples = 0;
  std::string rung;
  spinloom::Index coils = 0;
  std::string stencil;
  int repetitions = 0;
  int ranks = 0;
  spinloom::Index patch_size = 0, patch_distance = 0;
  bool has_off_resonance = false;
  std::vector<double> tolerances;
  spinloom::Device device;
  std::vector<spinloom::Device> devices;  ///< several GPUs, of which `device` is the first; or that one alone
  spinloom::Progress progress;
};

/// Options beyond --repetitions that a benchmark honours, and whether it takes --device cuda, or several GPUs; the
/// command refuses the others.
enum BenchOptions : unsigned {
  takes_matrix = 1,
  takes_samples = 2,
  takes_rung = 4,
  runs_on_gpu = 8,
  takes_coils = 16,
  takes_stencil = 32,
  takes_patch = 256,
  takes_off_resonance = 512,
  takes_tolerances = 2048,
  shares_gpus = 1024,
  takes_ranks = 4096
};

struct BenchResult {
  Json figures = Json::array();      ///< one object each, with `name` and what measure() gives
  std::vector<std::string> columns;  ///< members of a figure that the table shows, in order
};

/// One program for one question. Each lives in a file of its own; benches() is the table.
struct Bench {
  std::string name;
  std::string description;
  unsigned options;
  std::function<BenchResult(const BenchRequest&)> run;
};
const std::vector<Bench>& benches();

BenchResult bench_cg(const BenchRequest& request);
BenchResult bench_dft(const BenchRequest& request);
BenchResult bench_fhd(const BenchRequest& request);
BenchResult bench_nlm(const BenchRequest& request);
BenchResult bench_normal(const BenchRequest& request);
BenchResult bench_normal_cuda(const BenchRequest& request);
BenchResult bench_nufft(const BenchRequest& request);
BenchResult bench_poisson(const BenchRequest& request);
BenchResult bench_ranks(const BenchRequest& request);
BenchResult bench_ranks_cuda(const BenchRequest& request);
BenchResult bench_stencil(const BenchRequest& request);
BenchResult bench_stencil_cuda(const BenchRequest& request);
std::vector<std::string> stencil_bench_names();  ///< what bench_stencil accepts as `stencil`
BenchResult bench_stream(const BenchRequest& request);
