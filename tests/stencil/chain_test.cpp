#include "stencil/chain.hpp"

#include "spinloom/core/error.hpp"
#include "stencil/chain_suite.hpp"
#include "stencil/cuda/stencil_fused.hpp"

namespace spinloom::stencil {
namespace {

using namespace stencil::testing;

std::vector<Definition> definitions_of(const std::vector<std::string>& texts) {
  std::vector<Definition> all;
  for (const auto& k : kernels_of<double>(texts)) all.push_back(*k.definition);
  return all;
}

/// Far from faces one joined stencil makes of a grid what its parts make of it one after the other, to the bit.
TEST(Chains, OneStencilHasTheBitsOfMany) {
  std::mt19937 random(3);
  int compared = 0;
  for (int i = 0; i < 10; ++i) {
    const int rank = 2 + i % 2, radius = 1 + i % 3 / 2;
    const auto texts = i == 0   ? total_variation()
                       : i == 1 ? blur()
                                : random_chain(random, i < 2 ? 3 : rank, radius);
    const auto chain = definitions_of(texts);
    const Link whole{0, static_cast<int>(chain.size())};
    const auto outputs = outputs_of(chain, {whole}, 0);
    const auto j = joined(chain, whole, outputs);
    if (!j) continue;
    const Reach reach = j->definition.view().reach();
    const Shape shape = chain[0].rank == 3 ? Shape{8, 7, 10} : Shape{12, 13};
    const auto make = [&](unsigned seed) {
      std::vector<Grid<double>> grids;
      for (int f = 0; f < 4; ++f) {
        grids.emplace_back(shape, Halo(max_joined_reach), none());
        randomise(grids.back(), seed + static_cast<unsigned>(f));
      }
      return grids;
    };
    auto expected = make(7), from = make(7), got = make(7);
    const std::vector<double> params{0.25, 0.125};
    run_reference<double>(chain, {expected.begin(), expected.end()}, params, 1);
    // The joined stencil writes fields of their own, so that nothing of what it reads is overwritten.
    Definition d = j->definition;
    std::vector<FieldGrids<double>> fields;
    for (const ChainSource& s : j->sources) fields.push_back(from[static_cast<std::size_t>(s.field)]);
    for (Output& o : d.outputs) {
      fields.push_back(got[static_cast<std::size_t>(o.field)]);
      o.field = static_cast<short>(fields.size() - 1);
    }
    run_reference<double>({d}, fields, params, 1);
    const auto& n = expected[0].layout().n;
    for (const LinkOutput& o : outputs)
      for (Index z = j->low[0]; z < n[0] - j->high[0]; ++z)
        for (Index y = j->low[1]; y < n[1] - j->high[1]; ++y)
          for (Index x = j->low[2]; x < n[2] - j->high[2]; ++x, ++compared)
            ASSERT_EQ(got[static_cast<std::size_t>(o.field)](z, y, x),
                      expected[static_cast<std::size_t>(o.field)](z, y, x))
                << texts[0] << ", reach " << reach.radius() << ", field " << o.field;
  }
  EXPECT_GT(compared, 500);
}

/// The gradient's fields have two arrays, as the shrinkage reads what it writes, and the gradient only writes them.
TEST(Chains, AFieldWrittenAnewIsWhatTheNextStencilReads) {
  const std::vector<std::string> coloured{
      "next(u0) = u1(0,0,1) - u1(0,0,-1)",
      "red_black(u0 = 0.5 * u0(0,0,0) + 0.125 * (u0(0,0,1) + u0(0,0,-1)))",
      "next(u0) = u0(0,0,0) + u0(0,1,0)", "next(u1) = p0 * u1(0,0,0) - p1 * u0(0,0,0)"};
  for (const auto& texts : {total_variation(), coloured})
    for (const char* schedule :
         {"naive", "sweep rows=4 planes=2", "wavefront steps=2 rows=6", "diamond width=8"}) {
      Problem<float> problem{kernels_of<float>(texts), {7, 9, 35}, {}, {0.25, 0.125}, 3, 5};
      problem.faces = {{{reflect(), clamp()}, {dirichlet(0.5), neumann(0.25)}, {clamp(), reflect()}}};
      expect_equal(problem.by(parse_schedule(schedule)), problem.by_reference(),
                   texts[0] + " .. by " + schedule);
    }
}

TEST(Chains, KnowWhatAStepLeavesBehind) {
  const auto chain = definitions_of(total_variation());
  const auto outputs = outputs_of(chain, {{0, 3}}, 0);
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_TRUE(outputs[0].is_read && outputs[0].turns && !outputs[0].is_scratch);
  for (std::size_t o = 1; o < 4; ++o)
    EXPECT_TRUE(outputs[o].is_scratch && !outputs[o].is_read && !outputs[o].turns && outputs[o].kernel == 1);
  // Cut after the gradient: it is read by the second pass, which is the one that says what becomes of it.
  const auto first = outputs_of(chain, {{0, 1}, {1, 3}}, 0), second = outputs_of(chain, {{0, 1}, {1, 3}}, 1);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_TRUE(first[0].is_read && !first[0].turns);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_TRUE(second[1].turns && second[1].is_scratch);
  const auto j = joined(chain, {0, 3}, {outputs[0]});
  ASSERT_TRUE(j);
  EXPECT_EQ(j->sources.size(), 1u);
  EXPECT_EQ(j->low[0], 1);
  EXPECT_EQ(j->high[0], 0);
}

TEST(Chains, RoundWhatPassesWhereGridsKeepFewerDigits) {
  const auto chain = definitions_of(blur());
  const auto outputs = outputs_of(chain, {{0, 3}}, 0);
  const auto kept = [](const Joined& j) {
    return std::count_if(j.definition.code.begin(), j.definition.code.end(), is_kept);
  };
  const auto exact = joined(chain, {0, 3}, outputs),
             rounded = joined(chain, {0, 3}, outputs, Between::as_kept);
  ASSERT_TRUE(exact && rounded);
  EXPECT_EQ(kept(*exact), 0);
  // The second stencil's five values for the third one, and the first one's for each of these. What a grid holds is rounded
  // already, and results are when they are stored.
  EXPECT_EQ(kept(*rounded), 5 + 25);
  EXPECT_EQ(rounded->definition.code.size(), exact->definition.code.size() + 30);
  EXPECT_FALSE(
      is_kept(rounded->definition.code[static_cast<std::size_t>(rounded->definition.outputs[0].root)]));
  EXPECT_EQ(rounded->handed.size(), exact->handed.size());
  EXPECT_EQ(rounded->definition.view().reach().radius(), 2);
}

std::string refusal(const std::vector<std::string>& texts, const std::vector<int>& sizes) {
  try {
    cut(definitions_of(texts), sizes);
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "";
}

TEST(Chains, AreCutWhereTheyBecomeTooMuch) {
  std::vector<std::string> heat(12,
                                "next(u0) = u0(0,0,0) + p0 * (u0(0,0,1) + u0(0,0,-1) + u0(0,1,0) + "
                                "u0(0,-1,0) + u0(1,0,0) + u0(-1,0,0) - 6 * u0(0,0,0))");
  const auto links = cut(definitions_of(heat), {0});
  EXPECT_GT(links.size(), 1u);
  EXPECT_LT(links.size(), 12u);
  EXPECT_EQ(links.back().end, 12);
  EXPECT_EQ(cut(definitions_of(blur()), {2, 1}).size(), 2u);
  EXPECT_NE(refusal(heat, {12}).find("operations"), std::string::npos);
  EXPECT_NE(refusal(blur(), {2, 2}).find("the chain has 3"), std::string::npos);
  EXPECT_NE(refusal({blur()[0]}, {0}).find("no chain"), std::string::npos);
  EXPECT_NE(refusal({blur()[0], "next(u0) = 2 * u0(0,0,0) - prev(u0)"}, {0}).find("prev(u)"),
            std::string::npos);
  EXPECT_NE(refusal({blur()[0], "red_black(u0 = u0(0,0,1))"}, {0}).find("colour"), std::string::npos);
  EXPECT_NE(refusal({blur()[0], "next(u0) = u0(0,0,0); sum(u0(0,0,0))"}, {0}).find("sums"),
            std::string::npos);
}

TEST(Chains, AreJoinedWhereMemoryIsTheLimit) {
  using Numbers = cuda::StencilNumbers;
  constexpr Index many = 256, few = 10;
  const auto chosen_fusing = [](const std::vector<Definition>& chain, Numbers numbers, Index n) {
    const GridLayout layout = make_layout({n, n, n}, Halo(2), 4, Device{DeviceKind::cuda, 0});
    return cuda::with_fusing(chain, numbers, layout, parse_schedule("cuda")).fused;
  };
  const std::vector<int> joined{0}, separate;
  EXPECT_EQ(chosen_fusing(definitions_of(total_variation()), Numbers::f32, many), joined);
  EXPECT_EQ(chosen_fusing(definitions_of(blur()), Numbers::f32, many), joined);
  EXPECT_EQ(chosen_fusing(definitions_of(blur()), Numbers::f32, few), separate);
  EXPECT_EQ(chosen_fusing(definitions_of({blur()[0]}), Numbers::f32, many), separate);
  // Twenty five times the roots of the second stencil, for 24 bytes.
  std::string roots = "next(u0) = u0(0,0,0)";
  for (int i = 0; i < 40; ++i) roots = "next(u0) = sqrt(abs(" + roots.substr(11) + " - 0.5))";
  EXPECT_EQ(chosen_fusing(definitions_of({roots, blur()[0], blur()[1]}), Numbers::f64, many), separate);
}

TEST(Chains, ScheduleTextsReadAsTheyWereWritten) {
  for (const char* text : {"cuda fused", "cuda separate", "cuda fused=2+1 scratch", "cuda ring rows=2 fused"})
    EXPECT_EQ(to_string(parse_schedule(text)), text);
  EXPECT_EQ(to_string(parse_schedule("cuda fused ring rows=2")), "cuda ring rows=2 fused");
  EXPECT_THROW(parse_schedule("cuda fused="), ArgumentError);
  EXPECT_THROW(parse_schedule("cuda fused=2+"), ArgumentError);
  EXPECT_THROW(parse_schedule("cuda fused=0"), ArgumentError);
}

}  // namespace
}  // namespace spinloom::stencil
