#include "nlm/cuda/nlm_pairs.hpp"

#include <array>
#include <atomic>
#include <bit>

#include "spinloom/nlm/tiers.hpp"

namespace spinloom {
namespace {
std::atomic<NlmDouble> asked_for{NlmDouble::by_card};
}
void set_nlm_double(NlmDouble how) { asked_for = how; }

namespace cuda {

template <class Real>
bool takes_pairs(const DeviceFacts& card, const NlmProblem& problem) {
  if (std::is_same_v<Real, float> || problem.compares_nothing()) return false;
  // An operation on pairs of floats takes some ten of theirs, of which half a dozen hide behind loads and shuffles.
  const NlmDouble how = asked_for;
  return how == NlmDouble::pairs || (how == NlmDouble::by_card && card.single_to_double >= 16);
}

double as_pair(double v) {
  const auto high = static_cast<float>(v);
  return std::bit_cast<double>(std::array<float, 2>{high, static_cast<float>(v - static_cast<double>(high))});
}

template <class Real>
std::string real_define(bool in_pairs) {
  return std::is_same_v<Real, float> ? "REAL=float" : in_pairs ? "REAL=Two" : "REAL=double";
}

template bool takes_pairs<float>(const DeviceFacts&, const NlmProblem&);
template bool takes_pairs<double>(const DeviceFacts&, const NlmProblem&);
template std::string real_define<float>(bool);
template std::string real_define<double>(bool);

}  // namespace cuda
}  // namespace spinloom
