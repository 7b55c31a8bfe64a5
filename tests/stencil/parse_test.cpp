#include "spinloom/stencil/parse.hpp"

#include <cctype>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/harness.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

/// The stencil as it prints itself, with its author's names in the place of u0, p0 ...
std::string printed(const ParsedStencil& parsed) {
  const std::string text = to_string(parsed.definition);
  const auto is_part = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  std::string named;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    const std::string word = text.substr(at, std::max<std::size_t>(1, end - at));
    const bool has_number = word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1]));
    named += !has_number      ? word
             : word[0] == 'u' ? parsed.fields[std::stoul(word.substr(1))]
             : word[0] == 'p' ? parsed.params[std::stoul(word.substr(1))]
                              : word;
    at += word.size();
  }
  return named;
}

TEST(Parse, ReadsWhatIsPrinted) {
  for (const BuiltinInfo& info : builtins())
    for (const auto& kernel : builtin_kernels<float>(info.name)) {
      const std::string text = to_string(*kernel.definition);
      const ParsedStencil parsed = parse_stencil(text);
      EXPECT_EQ(printed(parsed), text);
      EXPECT_EQ(parsed.definition.rank, kernel.view().rank);
      EXPECT_EQ(parsed.fields.size(), std::size_t(kernel.view().fields()));
    }
  for (const char* text :
       {"next(u) = u(0,0,0) + (dt * (((u(-1,0,0) + u(0,0,1)) - (2 * u(0,0,0))) / kappa(0,0,0)))",
        "next(u) = where(((u(0,1) < a) && !(u(1,0) <= 0.5)) || (u(0,0) == -1), -u(0,0), "
        "sqrt(abs(u(-1,2))))",
        "next(u) = fma(a, min(u(0,0), 1), prev(u)); next(v) = max(u(0,-16), v(0,0)); sum(u(0,0)); "
        "max(v(0,1))"})
    EXPECT_EQ(printed(parse_stencil(text)), text);
}

TEST(Parse, OperatorsBindAsInCpp) {
  const std::pair<const char*, const char*> cases[] = {
      {"next(u)=u(0,0)+a*u(0,1)-b/c*2", "next(u) = (u(0,0) + (a * u(0,1))) - ((b / c) * 2)"},
      {"next(u) = -u(0,0) * -a", "next(u) = (-u(0,0)) * (-a)"},
      {"next(u) = (1 - 2 * 3) * u(0,0) ;", "next(u) = -5 * u(0,0)"},  // numbers are done in double
      {"next(u) = 1/6 * u(+ 1,\n - 2)", "next(u) = 0.16666666666666666 * u(1,-2)"},
      {"next(u) = where(u(0,0) > 1 || u(0,0) >= a && ! (u(0,0) < 2), 1, 0)",
       "next(u) = where((1 < u(0,0)) || ((a <= u(0,0)) && !(u(0,0) < 2)), 1, 0)"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(printed(parse_stencil(text)), expected);
}

std::string refusal_of(const std::string& text) {
  try {
    parse_stencil(text);
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "";
}
TEST(Parse, ErrorsPointToThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "column 1, at its end: nothing is written, expected next(u) = ..."},
      {"next(u) = u(0,0,1 + u(0,0,0)", "column 19, at '+ u(0,0,0)': expected ')'"},
      {"next(u) = u(0,0,0) + u(0,1)",
       "column 22, at 'u(0,1)': u has 2 offsets, and what stands before has 3"},
      {"next(u) = u(0,0.5)", "column 15, at '0.5)': an offset of u is a whole number"},
      {"next(u) = u(0,17)", "column 15, at '17)': u is read further away than 16 cells"},
      {"next(u) = u(0,0) u(0,1)", "column 18, at 'u(0,1)': expected an operator, ';' or the end"},
      {"next(u) = kappa * u(0,0) + kappa(0,1)", "column 28, at 'kappa(0,1)': kappa is a field in one place"},
      {"next(u) = u(0,0); next(u) = u(0,1)", "column 19, at 'next(u) = u(0,1)': a field is written twice"},
      {"next(u) = u(0,0) < 1", "column 11, at 'u(0,0) < 1': a condition stands where a value is needed"},
      {"next(u) = where(u(0,0), 1, 2)",
       "column 17, at 'u(0,0), 1, 2)': a value stands where a condition is needed"},
      {"next(u) = (u(0,0) < 1) + 2", "column 11, at '(u(0,0) < 1) + 2': + takes values on both sides"},
      {"next(u) = fma(u(0,0), 2)", "column 24, at ')': expected ',' and 3 arguments of fma"},
      {"u = u(0,0)", "column 1, at 'u = u(0,0)': 'u' begins no statement"},
      {"next(v) = u(0,0) + prev(u)", "prev(u) is read, but next(u) is not written"},
      {"red_black(u = u(0,0,2))", "red-black needs neighbours of the other colour"},
      {"red_black(u = u(0,0,1)); sum(u(0,0,0))", "no sum rides along"},
      {"next(u) = 1e999 * u(0,0)", "column 11, at '1e999 * u(0,0)': a number in double"},
      {"next(u) = 2u(0,0)", "column 12, at 'u(0,0)': an operator was expected"},
      {"next(u) = max * u(0,0)", "column 15, at '* u(0,0)': expected '(' after max"},
      {"next(max) = u(0,0)", "column 6, at 'max) = u(0,0)': max is a word of the language"},
      {"next(u) = \xc3\xa9(0,0)", "column 11"},
      {"next(u) = 1", "no field is read at an offset"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string words = refusal_of(text);
    EXPECT_NE(words.find(expected), std::string::npos) << text << "\n" << words;
    EXPECT_EQ(words.find('\n'), std::string::npos) << text;
  }
  EXPECT_NE(refusal_of("next(u) = " + std::string(5000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal_of("next(u) = " + std::string(5000, '-')).find("nested too deeply"), std::string::npos);
  std::string many = "next(u) = u(0,0)";
  for (int i = 0; i < 2000; ++i) many += " + " + std::to_string(i) + " * u(0,0)";
  EXPECT_NE(refusal_of(many).find("more than 1024 operations"), std::string::npos);
}

TEST(Parse, BrokenTextsAreRefusedAndNothingElse) {
  const std::string good =
      "next(u) = where(u(0,1) < a && !(b == 2.5e-1), fma(2, u(-1,0), prev(u)), max(v(0,0), -1)); "
      "sum(abs(u(0,0)))";
  const std::string letters = "()=+-*/<>&|!,;. uvpe019_\n\xff";
  std::mt19937 random(17);
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = good;
    for (int change = 0; change < 1 + trial % 3; ++change) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 5);
      else if (random() % 2 == 0)
        text.insert(at, 1, letters[random() % letters.size()]);
      else
        text[at] = letters[random() % letters.size()];
    }
    refused += !refusal_of(text).empty();
  }
  EXPECT_GT(refused, 1000);
}

const std::vector<std::string> some_schedules = {"naive", "sweep rows=3 planes=4 stream prefetch",
                                                 "overlapped steps=3 rows=6 columns=16 planes=2",
                                                 "wavefront steps=2 rows=6", "diamond width=16 planes=4"};

/// By every one of these schedules that is legal: the bits of the reference, sums included. Returns how many were.
template <class T>
int check_schedules(const Problem<T>& p, const std::vector<std::string>& schedules, const std::string& what) {
  auto expected = p.make_grids();
  if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), {})) return 0;
  const auto sums = run_reference(p.definitions(), p.bind(expected), p.params, p.steps);
  int legal = 0;
  for (const std::string& text : schedules) {
    if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), parse_schedule(text))) continue;
    ++legal;
    set_thread_count(1 + legal % 3);
    auto grids = p.make_grids();
    Stepper<T> stepper(p.chain, p.bind(grids), parse_schedule(text));
    for (std::size_t i = 0; i < p.params.size(); ++i) stepper.set(int(i), p.params[i]);
    stepper.run(p.steps);
    expect_equal(grids, expected, what + " on " + spinloom::to_string(p.shape) + " by " + text);
    for (std::size_t r = 0; r < sums.size(); ++r)
      EXPECT_EQ(stepper.reduced(int(r)), sums[r]) << what << " by " << text;
    if (::testing::Test::HasFailure()) break;
  }
  set_thread_count(0);
  return legal;
}

template <class T>
void check_builtins() {
  for (const BuiltinInfo& info : builtins()) {
    std::vector<Kernel<T>> chain;
    for (const auto& kernel : builtin_kernels<T>(info.name))
      chain.push_back(make_interpreted_kernel<T>(*kernel.definition));
    std::vector<double> params;
    for (const auto& [_, value] : info.params) params.push_back(value);
    const bool is_2d = chain[0].view().rank == 2;
    for (const Shape& shape : is_2d ? std::vector<Shape>{{1, 1}, {9, 65}, {5, 1100}}
                                    : std::vector<Shape>{{1, 2, 3}, {10, 9, 37}, {4, 3, 600}}) {
      const Problem<T> p{
          chain,  shape, {{{clamp(), clamp()}, {reflect(), neumann(0.1)}, {dirichlet(0.3), reflect()}}},
          params, 3,     7};
      EXPECT_GE(check_schedules(p, some_schedules, info.name), 2);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST(Interpreter, HasTheReferenceBitsOfEveryBuiltin) {
  check_builtins<float>();
  check_builtins<double>();
}

/// A random stencil as its author would write it. Values stay bounded, so that no NaN hides a difference.
class RandomText {
 public:
  RandomText(std::mt19937& random, int rank) : random_(random), rank_(rank) {}

  std::string stencil() {
    const int kind = int(random_() % 6);
    if (kind == 0 && rank_ == 3) {
      is_red_black_ = true;
      return "red_black(u = " + bounded() + ")";
    }
    has_previous_ = kind == 1;
    std::string text = "next(u) = " + bounded() + (has_previous_ ? " - 0.5 * prev(u)" : "");
    if (kind == 2) text += "; next(v) = " + bounded();
    if (kind == 3) text += "; sum(" + value(2) + "); max(" + value(2) + ")";
    return text;
  }

 private:
  std::string bounded() { return "max(-2, min(2, " + read("u") + " * 0.5 + " + value(4) + "))"; }
  std::string read(const std::string& field) {
    // Of the other colour, or one's own point, where that matters.
    int offset[3] = {0, 0, 0};
    if (is_red_black_ && field == "u") {
      offset[random_() % 3] = random_() % 2 == 0 ? 1 : -1;
    } else {
      for (int& o : offset) o = int(random_() % 5) - 2;
      if (random_() % 3 == 0) offset[2] = int(random_() % 9) - 4;
    }
    const auto text = [](int o) { return std::to_string(o); };
    return field + "(" + (rank_ == 3 ? text(offset[0]) + "," : "") + text(offset[1]) + "," + text(offset[2]) +
           ")";
  }
  std::string condition(int depth) {
    const auto side = [&] { return value(depth - 1); };
    switch (random_() % 6) {
      case 0: return side() + " < " + side();
      case 1: return side() + " >= " + side();
      case 2: return side() + " == " + side();
      case 3: return "!(" + side() + " <= " + side() + ")";
      case 4: return side() + " > 0.1 && " + side() + " < 0.3";
      default: return side() + " > 0.2 || " + side() + " < -0.4";
    }
  }
  std::string value(int depth) {
    if (depth == 0 || random_() % 8 == 0) switch (random_() % 6) {
        case 0: return "a";
        case 1: return "0.25";
        case 2: return read("v");
        default: return read("u");
      }
    const auto part = [&] { return "(" + value(depth - 1) + ")"; };
    switch (random_() % 10) {
      case 0: return part() + " + " + part();
      case 1: return part() + " - " + part();
      case 2: return part() + " * " + part();
      case 3: return part() + " / (1.5 + abs(" + part() + "))";
      case 4: return "fma(" + part() + ", b, " + part() + ")";
      case 5: return "min(" + part() + ", " + part() + ")";
      case 6: return "max(" + part() + ", 0.1)";
      case 7: return "sqrt(abs(" + part() + "))";
      case 8: return "where(" + condition(depth) + ", " + part() + ", " + part() + ")";
      default: return "-" + part();
    }
  }
  std::mt19937& random_;
  int rank_;
  bool is_red_black_ = false, has_previous_ = false;
};

int check_random(unsigned seed) {
  std::mt19937 random(seed);
  const int rank = 2 + int(random() % 2);
  const std::string text = RandomText(random, rank).stencil();
  ParsedStencil parsed = parse_stencil(text);
  EXPECT_EQ(printed(parse_stencil(printed(parsed))), printed(parsed));
  Problem<float> p;
  p.chain = {make_interpreted_kernel<float>(parsed.definition)};
  constexpr std::array<Index, 8> sizes{1, 2, 5, 17, 9, 6, 12, 4}, rows{1, 17, 63, 65, 3, 40, 130, 31};
  for (int a = 0; a + 1 < rank; ++a) p.shape.push_back(sizes[random() % 8]);
  p.shape.push_back(rows[random() % 8]);
  for (auto& faces : p.faces) {
    const std::array all{none(), dirichlet(0.5), neumann(0.1), reflect(), clamp()};
    faces = random() % 4 == 0 ? std::pair(periodic(), periodic())
                              : std::pair(all[random() % 5], all[random() % 5]);
  }
  p.params = {0.37, -0.21};
  p.params.resize(std::max<std::size_t>(1, parsed.params.size()));
  p.steps = 1 + random() % 5;
  p.seed = seed;
  std::vector<std::string> schedules{"naive"};
  const auto number = [&](std::initializer_list<int> all) {
    return std::to_string(*(all.begin() + random() % all.size()));
  };
  for (int trial = 0; trial < 3; ++trial) {
    schedules.push_back("sweep rows=" + number({0, 1, 3, 8}) + " planes=" + number({1, 2, 4, 8}) +
                        (random() % 2 ? " stream" : ""));
    schedules.push_back("overlapped steps=" + number({1, 2, 4}) + " rows=" + number({0, 4, 9}) +
                        " columns=" + number({0, 16}));
    schedules.push_back("wavefront steps=" + number({2, 3}) + " rows=" + number({0, 5}));
    schedules.push_back("diamond width=" + number({4, 8, 10, 16}) + " planes=" + number({1, 4}));
  }
  return check_schedules(p, schedules, "seed " + std::to_string(seed) + ": " + text);
}
TEST(Interpreter, RandomExpressionsByRandomSchedulesHaveTheReferenceBits) {
  int legal = 0;
  for (unsigned seed = 1; seed <= 120 && !HasFailure(); ++seed) legal += check_random(seed);
  EXPECT_GT(legal, 500);
  const unsigned fresh = std::random_device{}() % 1000000000;
  RecordProperty("seed", std::to_string(fresh));
  std::printf("fresh seeds %u to %u\n", fresh, fresh + 19);
  for (unsigned seed = fresh; seed < fresh + 20 && !HasFailure(); ++seed) check_random(seed);
}

TEST(Grids, RefuseMirrorsOfCellsBeyondTheHalo) {
  const Kernel<double> kernel =
      make_interpreted_kernel<double>(parse_stencil("next(u) = u(2,0) + u(0,1)").definition);
  const auto with = [](const Halo& halo) {
    Grid<double> u({2, 3}, halo);
    u.set_boundary(0, none(), reflect()).set_boundary(1, clamp(), clamp());
    u.poison_outside();
    u.fill(1.0);
    return u;
  };
  // Two cells above y = 1 lies the mirror image of y = -1: the caller's own, and this halo has none below.
  Grid<double> u = with(Halo(kernel.view().reach()));
  EXPECT_THROW(Stepper<double>(kernel, {u}), ArgumentError);
  EXPECT_THROW(u.fill_halo(), ArgumentError);
  Grid<double> deep = with(Halo(2));
  for (Index x = -2; x < 5; ++x) deep(-1, 0, x) = 4.0;
  Stepper<double>(kernel, {deep}).run(1);
  EXPECT_EQ(deep(0, 0, 1), 2.0);
  EXPECT_EQ(deep(1, 0, 1), 5.0);
}

TEST(Interpreter, ACoefficientThatIsOneOverAFieldNeedsItsBoundary) {
  const Kernel<double> kernel = make_interpreted_kernel<double>(
      parse_stencil("next(u) = u(0,0) + (u(0,1) - u(0,-1)) / b(0,1) + u(1,0) / b(-1,0)").definition);
  Grid<double> u({5, 5}, Halo(1), dirichlet(0)), b({5, 5}, Halo(1));
  u.fill(1.0);
  b.fill(2.0);
  EXPECT_THROW(Stepper<double>(kernel, {u, b}), ArgumentError);
  b.set_boundary(0, clamp()).set_boundary(1, clamp());
  b.poison_outside();
  Stepper<double>(kernel, {u, b}).run(3);
  for (const double v : u.to_array()) EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace spinloom::stencil
