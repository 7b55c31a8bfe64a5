#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "operator_suite.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/communicator.hpp"

/// What every group of ranks promises; the bodies of tests on the host, on one GPU and on several.
namespace spinloom::testing {

/// Sizes around those of a block, a message and a vector register; empty too.
inline const Index sum_sizes[] = {0, 1, 3, 4095, 4096, 4097, 100003};

/// Each rank's own array of this size, and what it is after the sum: all ranks', on the host.
template <class Real>
std::vector<Array<std::complex<Real>>> summed_on(const std::vector<Communicator>& ranks, Index size) {
  using Complex = std::complex<Real>;
  std::vector<Array<Complex>> results(ranks.size());
  run_ranks(ranks, [&](const Communicator& c) {
    const auto r = static_cast<unsigned>(c.rank());
    auto x = Array<Complex>::copy_of(random_array<Real>({size}, 100 + r).view(), c.device());
    c.all_reduce_sum(x.view());
    results[r] = on_host(std::move(x));
  });
  return results;
}

/// `by_rank`: the order of the terms is the ranks', and the bits are known.
template <class Real>
void check_sums(const std::vector<Communicator>& ranks, bool by_rank) {
  using Complex = std::complex<Real>;
  for (const Index size : sum_sizes) {
    SCOPED_TRACE(size);
    auto expected = random_array<Real>({size}, 100);
    for (unsigned r = 1; r < ranks.size(); ++r)
      axpy<Complex>(Complex(1), random_array<Real>({size}, 100 + r).view(), expected.view());
    const auto got = summed_on<Real>(ranks, size), again = summed_on<Real>(ranks, size);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      EXPECT_TRUE(same_bits(got[r], got[0])) << "rank " << r;
      EXPECT_TRUE(same_bits(again[r], got[0])) << "again, rank " << r;
    }
    if (by_rank) {
      EXPECT_TRUE(same_bits(got[0], expected));
    } else {
      // One rounding a rank, in any order.
      const double rounding = std::is_same_v<Real, float> ? 1e-7 : 3e-16;
      EXPECT_LE(relative_error(got[0], expected), rounding * double(ranks.size()));
    }
  }
}

inline std::string words_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// Sums `count` times.
inline void keep_summing(const Communicator& c, int count) {
  auto x = Array<cfloat>::zeros({1000}, c.device());
  for (int i = 0; i < count; ++i) c.all_reduce_sum(x.view());
}

inline void check_failures(const std::vector<Communicator>& ranks) {
  const int last = static_cast<int>(ranks.size()) - 1;
  for (const int bad : std::set<int>{0, last}) {
    const auto failing = [&](const Communicator& c) {
      keep_summing(c, 3);
      if (c.rank() == bad) throw ArgumentError("the failure itself");
      keep_summing(c, 1000000);
    };
    EXPECT_EQ(words_of([&] { run_ranks(ranks, failing); }), "the failure itself") << "rank " << bad;
    if (last == 0) continue;
    const auto leaving = [&](const Communicator& c) { keep_summing(c, c.rank() == bad ? 3 : 4); };
    EXPECT_NE(words_of([&] { run_ranks(ranks, leaving); }).find("another rank has ended"), std::string::npos)
        << "rank " << bad;
    EXPECT_NE(words_of([&] {
                run_ranks(ranks, [&](const Communicator& c) {
                  auto x = Array<cfloat>::zeros({c.rank() == bad ? 9 : 10}, c.device());
                  c.all_reduce_sum(x.view());
                });
              }).find("expected as many on every rank"),
              std::string::npos);
  }
  check_sums<float>(ranks, false);  // and the group is as good as before
}

inline void check_interrupts(const std::vector<Communicator>& ranks) {
  std::atomic<int> ended{0};
  const auto body = [&](const Communicator& c) {
    try {
      for (int i = 0;; ++i) {
        if (i == 5 && c.rank() == 0) request_interrupt();
        check_interrupt();
        keep_summing(c, 1);
      }
    } catch (...) {
      ++ended;
      throw;
    }
  };
  EXPECT_THROW(run_ranks(ranks, body), Interrupted);
  clear_interrupt();
  EXPECT_EQ(ended, static_cast<int>(ranks.size()));
  check_sums<float>(ranks, false);
}

}  // namespace spinloom::testing
