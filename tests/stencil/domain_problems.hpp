#pragma once
#include "stencil/domain_harness.hpp"

/// Problems that ranks share, on the host and on GPUs.
namespace spinloom::stencil::testing {

using Faces = std::array<std::pair<Boundary, Boundary>, 3>;

template <class Choices>
const auto& one_of(std::mt19937& random, const Choices& all) {
  return all[std::uniform_int_distribution<std::size_t>(0, std::size(all) - 1)(random)];
}

inline Faces random_faces(std::mt19937& random) {
  Faces faces;
  for (auto& [low, high] : faces) {
    const auto any = [&] {
      return one_of(random,
                    std::array{dirichlet(0.5), neumann(0.1), reflect(), clamp(), none(), dirichlet(-1)});
    };
    low = any();
    high = any();
    if (random() % 3 == 0) low = high = periodic();
  }
  return faces;
}

/// "" when all ranks together give the bits of one, else how they differ; "refused: .." when they say that they cannot.
template <class T>
std::string difference_over(const std::vector<Communicator>& ranks, const Problem<T>& problem,
                            const Sharing& how, const std::vector<Grid<T>>& expected) {
  std::string words;
  try {
    run_ranks(ranks, [&](const Communicator& c) {
      const std::string mine = difference_on(c, problem, how, expected);
      if (c.rank() == 0) words = mine;
    });
  } catch (const ArgumentError& e) {
    return std::string("refused: ") + e.what();
  }
  return words;
}

/// What was shared, and how.
template <class T>
std::string in_words(const Problem<T>& p, int ranks, const Sharing& how) {
  std::string words = p.chain[0].definition->name + " on " + spinloom::to_string(p.shape) + " by " +
                      std::to_string(ranks) + " ranks, " + to_string(how);
  for (std::size_t a = 0; a < 3; ++a)
    words += std::string(a == 0 ? "; " : ", ") + "zyx"[a] + " " + to_string(p.faces[a].first) + "/" +
             to_string(p.faces[a].second);
  return words;
}

/// Faces that all wrap, or of many kinds.
inline Faces faces_that_wrap(bool wrap) {
  return wrap ? Faces{{{periodic(), periodic()}, {periodic(), periodic()}, {periodic(), periodic()}}}
              : Faces{{{reflect(), none()}, {neumann(0.2), clamp()}, {none(), dirichlet(1)}}};
}
/// Calls f(split) for every split of three axes into at most 4 parts each and 8 in all.
template <class F>
void for_each_split(const F& f) {
  for (Index z = 1; z <= 4; ++z)
    for (Index y = 1; y <= 4; ++y)
      for (Index x = 1; x <= 4; ++x)
        if (z * y * x <= 8) f(Shape{z, y, x});
}

struct Summed {  // a sum and a maximum that ride along
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    const auto mean = 0.25 * ((u(0, -1) + u(0, 1)) + (u(-1, 0) + u(1, 0)));
    return together(next(u) = mean, sum(mean * mean), max(mean - u(0, 0)));
  }
};

}  // namespace spinloom::stencil::testing
