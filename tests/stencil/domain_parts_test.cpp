#include <map>

#include "stencil/domain/domain_state.hpp"
#include "stencil/domain/exchange.hpp"
#include "stencil/domain_problems.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

/// A point of the whole grid that a stored one stands for, on a periodic axis that is split the one inside.
std::array<Index, 3> meant(const Domain& domain, const DomainPart& part, std::array<Index, 3> stored) {
  const auto n = make_layout(domain.shape(), {}, 1).n;
  for (std::size_t a = 0; a < 3; ++a) {
    stored[a] += part.stored_begin[a];
    if (domain.is_periodic(static_cast<int>(a)) && domain.parts()[a] > 1)
      stored[a] = (stored[a] + n[a]) % n[a];
  }
  return stored;
}
template <class F>
void for_each_point(const Box& box, const F& f) {
  for (Index z = box.begin[0]; z < box.end[0]; ++z)
    for (Index y = box.begin[1]; y < box.end[1]; ++y)
      for (Index x = box.begin[2]; x < box.end[2]; ++x) f(std::array<Index, 3>{z, y, x});
}

// Every cell of a rim comes once, from the rank whose own it is, who sends those very points in that order.
TEST(Domain, PassagesBringEachCellOfARimOnce) {
  std::mt19937 random(5);
  int done = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto few = [&](int least, int most) {
      return std::uniform_int_distribution<Index>(least, most)(random);
    };
    Rim rim;
    for (std::size_t a = 0; a < 3; ++a) {
      rim.reach.low[a] = few(0, 2), rim.reach.high[a] = few(0, 2);
      rim.depth.low[a] = 2 * rim.reach.low[a], rim.depth.high[a] = 2 * rim.reach.high[a];
    }
    const Shape shape{few(4, 14), few(4, 14), few(4, 14)};
    const auto ranks = make_communicators(std::vector<Device>(static_cast<std::size_t>(few(1, 8))));
    const DomainOptions options{{}, {random() % 2 == 0, random() % 2 == 0, random() % 2 == 0}};
    std::vector<Domain> domains;
    try {
      for (const auto& c : ranks) domains.emplace_back(shape, c, rim, options);
    } catch (const ArgumentError&) {
      continue;
    }
    ++done;
    // By receiver, sender and tag: what is sent, in order, as points of the whole grid.
    std::map<std::tuple<int, int, int>, std::vector<std::array<Index, 3>>> sent, received;
    for (const Domain& d : domains) {
      const DomainPart part = d.part();
      const GridLayout stored =
          make_layout({part.stored_end[0] - part.stored_begin[0], part.stored_end[1] - part.stored_begin[1],
                       part.stored_end[2] - part.stored_begin[2]},
                      rim.reach, 8);
      std::map<std::array<Index, 3>, int> times;
      for (const Passage& p : passages(d, stored)) {
        const int me = d.communicator().rank();
        for_each_point(p.send, [&](auto at) { sent[{p.peer, me, p.out_tag}].push_back(meant(d, part, at)); });
        for_each_point(p.receive, [&](auto at) {
          received[{me, p.peer, p.in_tag}].push_back(meant(d, part, at));
          ++times[at];
        });
      }
      for_each_point({{}, stored.n}, [&](auto at) {
        bool is_own = true;
        for (std::size_t a = 0; a < 3; ++a)
          is_own &=
              at[a] >= part.begin[a] - part.stored_begin[a] && at[a] < part.end[a] - part.stored_begin[a];
        ASSERT_EQ(times[at], is_own ? 0 : 1);
      });
    }
    ASSERT_EQ(sent, received);
  }
  EXPECT_GE(done, 50);
}

TEST(Domain, WhatIsAroundTheCoreIsEachPointOnce) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    Box box, core;
    for (std::size_t a = 0; a < 3; ++a) {
      box.end[a] = 3 + static_cast<Index>(random() % 5);
      core.begin[a] = static_cast<Index>(random() % 3);
      core.end[a] = box.end[a] - static_cast<Index>(random() % 3);
    }
    std::map<std::array<Index, 3>, int> times;
    for (const Box& slab : around(box, core)) for_each_point(slab, [&](auto at) { ++times[at]; });
    for_each_point(core, [&](auto at) { ++times[at]; });
    for_each_point(box, [&](auto at) { ASSERT_EQ(times[at], 1); });
    Index all = 0;
    for (const auto& [_, count] : times) all += count;
    EXPECT_EQ(all, points(box));
  }
}

}  // namespace
}  // namespace spinloom::stencil
