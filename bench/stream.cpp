#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace spinloom;

constexpr Index block = 1 << 16;  // values of a thread at a time, and of its first touch

Index array_length() {
  const Hardware h = detect_hardware();
  Index largest_cache = Index{32} << 20;
  for (const Index bytes : h.cache_bytes) largest_cache = std::max(largest_cache, bytes);
  // Four times the last cache hides what stays in it, and 256 MiB do for a cache of many cores' slices
  // together; three arrays must fit into a quarter of what is free.
  const Index wanted = std::min(4 * largest_cache, Index{256} << 20), free = h.memory_available_bytes / 12;
  const Index bytes = free > 0 ? std::min(wanted, free) : wanted;
  return std::max<Index>(bytes / Index{sizeof(float)} / block, 1) * block;
}

}  // namespace

BenchResult bench_stream(const BenchRequest& request) {
  if (request.device.kind != DeviceKind::cpu)
    throw BackendUnavailable(to_string(request.device),
                             "stream measures the CPU's memory; choose --device cpu");
  const Index length = array_length();
  const int repetitions = request.repetitions > 0 ? request.repetitions : 10;
  Array<float> a({length}), b({length}), c({length});
  const auto each_block = [&](const auto& body) {
    parallel_blocks(length, block, [&](Index begin, Index end, int) { body(begin, end - begin); });
  };
  each_block([&](Index i, Index n) {
    for (Index j = i; j < i + n; ++j) {
      a[j] = -1;
      b[j] = float(j % 1024);
      c[j] = float(j % 512);
    }
  });

  struct Case {
    const char* name;
    double arrays;  ///< read or written once, as counted: a write's own read of the line is not
    std::function<void(Index, Index)> body;
    std::function<float(Index)> expected;
  };
  const Case cases[] = {
      {"copy", 2, [&](Index i, Index n) { stream_copy(b.data() + i, n, a.data() + i); },
       [&](Index i) { return b[i]; }},
      {"triad", 3, [&](Index i, Index n) { stream_triad(b.data() + i, c.data() + i, 3.0f, n, a.data() + i); },
       [&](Index i) { return b[i] + 3.0f * c[i]; }},
      {"nontemporal", 2, [&](Index i, Index n) { stream_copy_past_caches(b.data() + i, n, a.data() + i); },
       [&](Index i) { return b[i]; }},
  };
  BenchResult result;
  result.columns = {"name", "bytes_per_second", "seconds", "spread", "array_bytes"};
  double best = 0;
  for (const Case& c_ : cases) {
    std::fill(a.begin(), a.end(), -1.0f);
    each_block(c_.body);
    for (Index i = 0; i < length; ++i)
      if (a[i] != c_.expected(i))
        throw NotConverged(std::string("bench stream: ") + c_.name + " gives wrong values");
    Json figure = {{"name", c_.name}};
    figure.update(measure(repetitions, [&] { each_block(c_.body); }));
    const double rate = c_.arrays * double(length) * sizeof(float) / figure["seconds"].get<double>();
    best = std::max(best, rate);
    figure["bytes_per_second"] = rate;
    figure["relative_error"] = 0;
    figure["array_bytes"] = length * Index{sizeof(float)};
    figure["dtype"] = "float32";
    result.figures.push_back(figure);
    if (request.progress) request.progress("stream", double(result.figures.size()) / 3, c_.name);
  }
  for (Json& figure : result.figures)
    figure["share_of_best"] = figure["bytes_per_second"].get<double>() / best;
  return result;
}
