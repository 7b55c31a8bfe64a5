#include "spinloom/ops/linear_operator.hpp"

#include <gtest/gtest.h>

#include "operator_suite.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

/// y[i] = sum of two neighbours with complex factors, from n + 1 to n elements.
class Pairs final : public LinearOperator<double> {
 public:
  explicit Pairs(Index n, cdouble factor = {1, 2}) : n_(n), factor_(factor) {}
  std::string name() const override { return "pairs"; }
  Shape domain() const override { return {n_ + 1}; }
  Shape range() const override { return {n_}; }

 private:
  void do_forward(View<const cdouble> x, View<cdouble> y) const override {
    for (Index i = 0; i < n_; ++i) y[i] = x[i] + factor_ * x[i + 1];
  }
  void do_adjoint(View<const cdouble> y, View<cdouble> x) const override {
    for (Index i = 0; i <= n_; ++i) x[i] = (i < n_ ? y[i] : 0) + (i > 0 ? std::conj(factor_) * y[i - 1] : 0);
  }
  Index n_;
  cdouble factor_;
};

/// Its adjoint forgets to conjugate.
class WrongAdjoint final : public LinearOperator<double> {
 public:
  std::string name() const override { return "wrong"; }
  Shape domain() const override { return {5}; }
  Shape range() const override { return {5}; }

 private:
  void do_forward(View<const cdouble> x, View<cdouble> y) const override {
    for (Index i = 0; i < 5; ++i) y[i] = cdouble(1, 0.01) * x[i];
  }
  void do_adjoint(View<const cdouble> y, View<cdouble> x) const override { do_forward(y, x); }
};

TEST(Operators, PassTheirSuite) {
  const OperatorPtr<double> pairs = std::make_shared<Pairs>(7);
  check_operator(pairs, 1e-13, 1e-13);
  check_operator(normal(pairs), 1e-13, 1e-13);
  check_operator(identity<double>({3, 4}), 1e-14, 1e-14);
  check_operator(sum<double>({pairs, std::make_shared<Pairs>(7, cdouble(0, 3))}, {2, -0.5}), 1e-13, 1e-13);
}

/// Claims to work on a GPU, and says whether it was called.
class ElsewhereOnly final : public LinearOperator<double> {
 public:
  std::string name() const override { return "elsewhere"; }
  Shape domain() const override { return {5}; }
  Shape range() const override { return {5}; }
  Device device() const override { return {DeviceKind::cuda, 3}; }

 private:
  void do_forward(View<const cdouble>, View<cdouble>) const override { ADD_FAILURE() << "was called"; }
  void do_adjoint(View<const cdouble>, View<cdouble>) const override { ADD_FAILURE() << "was called"; }
};

// The views' data is never looked at, so that no GPU is needed.
TEST(Operators, RefuseArraysOnAnotherDeviceInWords) {
  const Device gpu{DeviceKind::cuda, 3};
  const OperatorPtr<double> pairs = std::make_shared<Pairs>(5), elsewhere = std::make_shared<ElsewhereOnly>();
  auto five = random_array<double>({5}, 1), six = random_array<double>({6}, 2);
  const auto moved = [&](Array<cdouble>& a) { return View<cdouble>(a.data(), a.shape(), gpu); };
  const auto refusal = [](const auto& apply) -> std::string {
    try {
      apply();
    } catch (const ArgumentError& e) {
      return e.what();
    }
    return "";
  };
  for (const auto& a : {pairs, normal(pairs), sum<double>({pairs, pairs}, {1, 2}), conjugate_transpose(pairs),
                        sum<double>({normal(pairs), identity<double>({6})}, {1, 2})}) {
    auto& x = a->domain()[0] == 5 ? five : six;
    auto& y = a->range()[0] == 5 ? five : six;
    for (const auto& text : {refusal([&] { a->forward(moved(x), moved(y)); }),
                             refusal([&] { a->adjoint(y.view(), moved(x)); })}) {
      EXPECT_NE(text.find("cuda:3"), std::string::npos) << a->name() << ": " << text;
      EXPECT_NE(text.find("expected both on cpu"), std::string::npos) << a->name() << ": " << text;
    }
  }
  for (const auto& a :
       {elsewhere, normal(elsewhere), sum<double>({identity<double>({5}), elsewhere}, {1, 2})}) {
    EXPECT_EQ(a->device(), gpu);
    const std::string text = refusal([&] { a->forward(five.view(), five.view()); });
    EXPECT_NE(text.find("the input is on cpu"), std::string::npos) << a->name() << ": " << text;
    EXPECT_NE(text.find("expected both on cuda:3"), std::string::npos) << a->name() << ": " << text;
  }
}

TEST(ConjugateTranspose, SwapsForwardAndAdjoint) {
  const OperatorPtr<double> pairs = std::make_shared<Pairs>(7);
  const auto transposed = conjugate_transpose(pairs);
  check_operator(transposed, 1e-13, 1e-13);
  const auto y = random_array<double>(pairs->range(), 5);
  EXPECT_TRUE(same_bits(forward_of(*transposed, y), adjoint_of(*pairs, y)));
}

TEST(AdjointMismatch, SeesAMissingConjugate) {
  // <A x, y> - <x, A' y> = -0.02i <x, y>: about 0.02 of the typical size of <A x, y>.
  EXPECT_GT(adjoint_mismatch(WrongAdjoint()), 1e-3);
  EXPECT_LT(adjoint_mismatch(Pairs(5)), 1e-14);
}

TEST(Sum, AddsScaledTerms) {
  const auto a = sum<double>({identity<double>({2}), identity<double>({2})}, {2, 0.5});
  auto x = Array<cdouble>::full({2}, {1, -4});
  EXPECT_EQ(forward_of(*a, x)[1], cdouble(2.5, -10));
}

TEST(Sum, CarriesTheDotProductAndAddsToWhatIsThere) {
  const OperatorPtr<double> pairs = std::make_shared<Pairs>(40);
  const Shape shape = pairs->domain();
  const auto x = random_array<double>(shape, 7), before = random_array<double>(shape, 8);
  // Terms with and without a form of their own, one alone and several.
  const std::vector<OperatorPtr<double>> terms{normal(pairs), identity<double>(shape), normal(pairs)};
  for (const std::vector<double>& scales : {std::vector<double>{1}, {3, 0.5}, {1, 0.5, -2}}) {
    const auto a = sum<double>({terms.begin(), terms.begin() + std::ptrdiff_t(scales.size())}, scales);
    auto expected = Array<cdouble>::zeros(shape), y = poisoned<double>(shape);
    for (std::size_t i = 0; i < scales.size(); ++i)
      axpy<cdouble>(scales[i], forward_of(*terms[i], x), expected);
    const double dot_of_both = a->forward_with_dot(x, y.view());
    EXPECT_LT(relative_error(y, expected), 1e-15);  // the same sums, but for one product rounded with its sum
    EXPECT_EQ(dot_of_both, dot<cdouble>(x, y).real());

    axpy<cdouble>(-1.5, before, expected);
    auto added = before.clone();
    scale(-1.5, added.view());
    a->add_forward(1, x, added.view());
    EXPECT_LT(relative_error(added, expected), 1e-15);
  }
  Array<cdouble> wide(pairs->range());
  EXPECT_THROW(pairs->forward_with_dot(x, wide.view()), ShapeError);
}

TEST(Sum, RefusesTermsThatDoNotFit) {
  EXPECT_THROW(sum<double>({}, {}), ArgumentError);
  EXPECT_THROW(sum<double>({identity<double>({2})}, {1, 2}), ArgumentError);
  EXPECT_THROW(sum<double>({identity<double>({2}), identity<double>({3})}, {1, 2}), ShapeError);
}

TEST(Operators, NameWhatArrivedAndWhatWasExpected) {
  const Pairs a(3);
  Array<cdouble> x({3}), y({3});
  try {
    a.forward(x, y);
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "pairs forward: input has shape [3], expected [4]");
  }
  EXPECT_THROW(a.adjoint(y, x), ShapeError);
}

}  // namespace
}  // namespace spinloom
