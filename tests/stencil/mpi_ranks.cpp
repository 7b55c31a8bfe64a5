// Run by mpirun: several processes give the bits of one, and their messages arrive.
#include <iostream>

#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/domain_harness.hpp"

namespace {
using namespace spinloom;
using namespace spinloom::stencil;
using namespace spinloom::stencil::testing;

int failures = 0;
void expect(bool holds, const std::string& claim) {
  if (holds) return;
  std::cerr << "failed: " << claim << "\n";
  ++failures;
}

void check_collectives(const Communicator& c) {
  double value = c.rank() == c.size() - 1 ? 42 : 0;
  c.broadcast(&value, sizeof value, c.size() - 1);
  expect(value == 42, "a broadcast reaches everyone");
  const auto all = c.gather(std::vector<double>(static_cast<std::size_t>(c.rank()), c.rank()));
  expect(static_cast<int>(all.size()) == (c.rank() == 0 ? c.size() * (c.size() - 1) / 2 : 0),
         "a gather takes as many as each rank has");
  Array<cfloat> x({5000});
  for (Index i = 0; i < x.size(); ++i) x[i] = {float(i) / 3, float(c.rank()) * 0.1f};
  Array<cfloat> sum({5000});
  for (Index i = 0; i < x.size(); ++i) {
    sum[i] = {x[i].real(), 0};
    for (int r = 1; r < c.size(); ++r) sum[i] += cfloat(x[i].real(), float(r) * 0.1f);
  }
  c.all_reduce_sum(x.view());
  expect(std::memcmp(x.data(), sum.data(), 5000 * sizeof(cfloat)) == 0, "sums are taken in the ranks' order");
  // A ring of large messages, each sent three times over the same ends.
  if (c.size() > 1) {
    const int next = (c.rank() + 1) % c.size(), before = (c.rank() + c.size() - 1) % c.size();
    std::vector<int> out(1 << 20), in(1 << 20);
    Message sending = c.sending(out.data(), out.size() * sizeof(int), next, 7),
            receiving = c.receiving(in.data(), in.size() * sizeof(int), before, 7);
    for (int turn = 0; turn < 3; ++turn) {
      std::fill(out.begin(), out.end(), 100 * c.rank() + turn);
      receiving.start();
      sending.start();
      receiving.wait();
      sending.wait();
      expect(in.front() == 100 * before + turn && in.back() == in.front(), "a ring of messages arrives");
    }
  }
  std::string words;
  try {
    c.agree([&] {
      if (c.rank() == c.size() - 1) throw ArgumentError("the last one fails");
    });
  } catch (const Error& e) {
    words = e.what();
  }
  expect(words.find("the last one fails") != std::string::npos, "all fail where one does");
  c.barrier();
}

template <class T>
void check(const Communicator& c, const char* name, const Shape& shape, const Sharing& how, bool wraps) {
  Problem<T> p;
  p.chain = builtin_kernels<T>(name);
  p.shape = shape;
  p.faces = {{{reflect(), clamp()}, {neumann(0.1), dirichlet(1)}, {none(), reflect()}}};
  if (wraps) p.faces[0] = p.faces[1] = {periodic(), periodic()};
  for (const auto& [_, value] : find_builtin(name).params) p.params.push_back(value);
  p.steps = 7;
  const std::string words = difference_on(c, p, how, p.by({}));
  expect(words.empty(), std::string(name) + ", " + to_string(how) + ": " + words);
}

}  // namespace

int main() {
  const Communicator c = make_mpi_communicator();
  set_thread_count(1);
  check_collectives(c);
  for (const bool wraps : {false, true})
    for (const Exchanging way : {Exchanging::overlapped, Exchanging::blocking}) {
      check<double>(c, "7-point", {34, 28, 70}, {{}, 1, "sweep rows=8 planes=4 stream prefetch", way}, wraps);
      check<float>(c, "27-point", {34, 28, 70}, {{}, 2, "naive", way}, wraps);
      check<double>(c, "wave", {34, 28, 70}, {{}, 1, "sweep planes=2", way}, wraps);
      check<double>(c, "red-black", {34, 28, 70}, {{}, 2, "sweep planes=2", way}, wraps);
      check<double>(c, "7-point", {34, 28, 70}, {{}, 4, "diamond width=8 planes=2", way}, false);
      check<float>(c, "5-point", {40, 70}, {{}, 3, "overlapped steps=3 rows=8", way}, false);
      check<float>(c, "lattice-boltzmann", {40, 70}, {{}, 1, "sweep", way}, wraps);
    }
  // All ranks on the first GPU, where there is one.
  if (cuda_status().is_usable())
    for (const bool wraps : {false, true})
      for (const Exchanging way : {Exchanging::overlapped, Exchanging::blocking}) {
        const std::vector<Device> gpu = {{DeviceKind::cuda, 0}};
        check<double>(c, "7-point", {34, 28, 70}, {{}, 1, "cuda", way, gpu}, wraps);
        check<float>(c, "27-point", {34, 28, 70}, {{}, 2, "cuda gather", way, gpu}, wraps);
        check<double>(c, "wave", {34, 28, 70}, {{}, 1, "cuda gather", way, gpu}, wraps);
        check<double>(c, "red-black", {34, 28, 70}, {{}, 2, "cuda gather", way, gpu}, wraps);
        check<float>(c, "5-point", {40, 140}, {{}, 3, "cuda overlapped steps=3", way, gpu}, wraps);
      }
  const std::vector<double> all = c.gather({double(failures)});
  if (c.rank() == 0) {
    for (const double f : all) failures += static_cast<int>(f) * (&f != all.data());
    std::cout << c.size() << " ranks through " << c.name() << ": " << failures << " failures\n";
  }
  c.barrier();
  return failures == 0 ? 0 : 1;
}
