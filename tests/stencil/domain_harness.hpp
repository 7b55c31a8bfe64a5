#pragma once
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/domain_stepper.hpp"
#include "stencil/harness.hpp"

/// A problem as several ranks run it, compared bit by bit with one rank: for ranks that are threads and for processes.
namespace spinloom::stencil::testing {

/// How a grid is shared, apart from what is computed.
struct Sharing {
  Shape split;
  int steps_between = 1;
  std::string schedule = "naive";
  Exchanging exchanging = Exchanging::overlapped;
  std::vector<Device> devices = {Device{}};  ///< taken by the ranks in turn
};
inline std::string to_string(const Sharing& s) {
  return "split " + spinloom::to_string(s.split) + ", " + std::to_string(s.steps_between) +
         " steps between exchanges, '" + s.schedule + "'" +
         (s.exchanging == Exchanging::blocking ? ", blocking" : "");
}

/// What a rank knows of `whole`: its own points, and what lies outside of the grid's faces beside them; NaN elsewhere.
template <class T>
void take_own(const Grid<T>& whole, DomainGrid<T>& mine) {
  mine.stored().fill(T(std::numeric_limits<real_of<T>>::quiet_NaN()));
  mine.stored().poison_outside();
  const DomainPart& p = mine.part();
  const Halo& halo = whole.layout().halo;
  std::array<Index, 3> begin = p.begin, end = p.end;
  for (std::size_t a = 0; a < 3; ++a) {
    if (!p.has_low[a]) begin[a] -= halo.low[a];
    if (!p.has_high[a]) end[a] += halo.high[a];
  }
  for (Index z = begin[0]; z < end[0]; ++z)
    for (Index y = begin[1]; y < end[1]; ++y)
      for (Index x = begin[2]; x < end[2]; ++x) mine(z, y, x) = whole(z, y, x);
}

/// Runs the problem on this rank of a communicator. On rank 0: where it differs from the grids of one rank, in words;
/// nothing elsewhere. All ranks call it together.
template <class T>
std::string difference_on(const Communicator& communicator, const Problem<T>& problem, const Sharing& how,
                          const std::vector<Grid<T>>& expected) {
  DomainOptions options{how.split, {}};
  for (std::size_t a = 0; a < problem.shape.size(); ++a)
    options.is_periodic[a] = problem.faces[a].first.kind == Boundary::Kind::periodic;
  const Domain domain(problem.shape, communicator, rim_of(problem.chain, how.steps_between), options);
  const auto whole = problem.make_grids();
  std::vector<DomainGrid<T>> grids;
  for (const Grid<T>& g : whole) {
    grids.emplace_back(domain);
    for (std::size_t a = 0; a < problem.shape.size(); ++a)
      grids.back().set_boundary(static_cast<int>(a), problem.faces[a].first, problem.faces[a].second);
    take_own(g, grids.back());
    const Device device = how.devices[static_cast<std::size_t>(communicator.rank()) % how.devices.size()];
    if (device.kind == DeviceKind::cuda) grids.back() = grids.back().on(device);
  }
  std::vector<DomainFields<T>> fields;
  std::vector<std::size_t> compared;
  const std::size_t half = grids.size() / 2;
  for (std::size_t f = 0; f < half; ++f) {
    bool previous = false;
    for (const auto& k : problem.chain) previous |= k.view().reads(static_cast<int>(f), TimeLevel::previous);
    fields.push_back(previous ? DomainFields<T>(grids[f], grids[half + f]) : DomainFields<T>(grids[f]));
    compared.push_back(f);
    if (previous) compared.push_back(half + f);
  }
  DomainStepper<T> stepper(problem.chain, fields, parse_schedule(how.schedule), how.exchanging);
  for (std::size_t p = 0; p < problem.params.size(); ++p) stepper.set(static_cast<int>(p), problem.params[p]);
  stepper.run(problem.steps / 2);
  stepper.run(problem.steps - problem.steps / 2);
  std::string words;
  for (const std::size_t g : compared) {
    const Array<T> got = grids[g].gather();
    if (communicator.rank() != 0 || !words.empty()) continue;
    const Array<T> wanted = expected[g].to_array();
    for (Index i = 0; i < wanted.size() && words.empty(); ++i)
      if (std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0) {
        std::ostringstream text;
        text << "array " << g << " at " << i << ": " << got[i] << " instead of " << wanted[i];
        words = text.str();
      }
  }
  return words;
}

}  // namespace spinloom::stencil::testing
