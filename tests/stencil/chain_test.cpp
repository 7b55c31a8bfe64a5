#include "stencil/chain.hpp"

#include "spinloom/core/error.hpp"
#include "stencil/chain_suite.hpp"

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
  for (int i = 0; i < 40; ++i) {
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
    const Shape shape = chain[0].rank == 3 ? Shape{14, 13, 21} : Shape{18, 21};
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
  EXPECT_GT(compared, 10000);
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
