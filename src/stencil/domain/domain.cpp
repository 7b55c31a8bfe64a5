#include "spinloom/stencil/domain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "spinloom/core/error.hpp"

namespace spinloom::stencil {
namespace {

using Parts = std::array<int, 3>;
constexpr const char* axis_names[2][3] = {{"y", "", "x"}, {"z", "y", "x"}};

/// The axis of a shape that lies in the place of z, y or x; -1 for the y that 2D lacks.
int axis_of(std::size_t rank, std::size_t slot) {
  if (rank == 3) return static_cast<int>(slot);
  return slot == 0 ? 0 : slot == 2 ? 1 : -1;
}

Index least_part(Index n, int parts) { return n / parts; }

/// Cells that a part must have along an axis that is split: what its neighbours keep of it.
Index least_points(const Rim& rim, std::size_t slot) {
  return std::max<Index>({rim.depth.low[slot], rim.depth.high[slot], 1});
}

bool fits(const std::array<Index, 3>& n, const Parts& parts, const Rim& rim) {
  for (std::size_t a = 0; a < 3; ++a)
    if (parts[a] > 1 && least_part(n[a], parts[a]) < least_points(rim, a)) return false;
  return true;
}

/// Points beside the cuts. One across x counts twice: its rows are short, and its faces lie one element in each row.
double surface(const std::array<Index, 3>& n, const Parts& parts) {
  double sum = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    double area = a == 2 ? 2 : 1;
    for (std::size_t b = 0; b < 3; ++b)
      if (b != a) area *= static_cast<double>(n[b]);
    sum += area * (parts[a] - 1);
  }
  return sum;
}

std::optional<Parts> choose(const std::array<Index, 3>& n, int ranks, const Parts& wanted, const Rim& rim) {
  std::optional<Parts> best;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; ranks % x == 0 && y <= ranks / x; ++y) {
      const Parts parts{ranks / x / y, y, x};
      if (parts[0] * y * x != ranks || !fits(n, parts, rim)) continue;
      bool is_wanted = true;
      for (std::size_t a = 0; a < 3; ++a) is_wanted &= wanted[a] == 0 || wanted[a] == parts[a];
      // x grows in this loop, so of equal surfaces the one with longer rows stays.
      if (is_wanted && (!best || surface(n, parts) < surface(n, *best))) best = parts;
    }
  return best;
}

}  // namespace

Rim rim_of(const std::vector<Definition>& chain, int steps) {
  if (steps < 1) throw ArgumentError(fmt::format("rim: for {} steps, expected 1 or more", steps));
  Rim rim;
  for (const Definition& d : chain) {
    const Halo reach(d.view().reach());
    const Index times = Index{steps} * (d.red_black ? 2 : 1);
    for (std::size_t a = 0; a < 3; ++a) {
      rim.reach.low[a] = std::max(rim.reach.low[a], reach.low[a]);
      rim.reach.high[a] = std::max(rim.reach.high[a], reach.high[a]);
      rim.depth.low[a] += times * reach.low[a];
      rim.depth.high[a] += times * reach.high[a];
    }
  }
  return rim;
}

Domain::Domain(const Shape& shape, const Communicator& communicator, const Rim& rim,
               const DomainOptions& options)
    : shape_(shape), communicator_(communicator), rim_(rim) {
  make_layout(shape, rim.reach, 1);  // refuses what is no grid
  const std::size_t rank = shape.size();
  const int ranks = communicator.size();
  if (!options.split.empty() && options.split.size() != rank)
    throw ArgumentError(
        fmt::format("domain: a split over {} axes, the grid has {}", options.split.size(), rank));
  Parts wanted{};
  Index product = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const int axis = axis_of(rank, a);
    const std::size_t i = static_cast<std::size_t>(axis);
    n_[a] = axis < 0 ? 1 : shape[i];
    periodic_[a] = axis >= 0 && options.is_periodic[i];
    const Index parts = axis < 0 ? 1 : options.split.empty() ? 0 : options.split[i];
    if (parts < 0 || parts > ranks)
      throw ArgumentError(
          fmt::format("domain: {} parts along {}, expected 1 to {}, the number of ranks, or 0 to have "
                      "them chosen",
                      parts, axis_names[rank - 2][a], ranks));
    wanted[a] = static_cast<int>(parts);
    product *= parts;
  }
  if (product > 0 && product != ranks)
    throw ArgumentError(fmt::format("domain: a split into {} parts, and there are {} ranks", product, ranks));
  if (product > 0) {
    for (std::size_t a = 0; a < 3; ++a)
      if (const Index least = least_part(n_[a], wanted[a]); wanted[a] > 1 && least < least_points(rim, a))
        throw ArgumentError(
            fmt::format("domain: {} points along {} in {} parts leave {} to a part, whose neighbours "
                        "keep a rim of {} of them; split another axis, into fewer parts, or exchange "
                        "after fewer steps",
                        n_[a], axis_names[rank - 2][a], wanted[a], least, least_points(rim, a)));
    parts_ = wanted;
    return;
  }
  const auto chosen = choose(n_, ranks, wanted, rim);
  if (!chosen)
    throw ArgumentError(fmt::format(
        "domain: a grid of {} cannot be split over {} ranks so that a part has {} points "
        "along z, {} along y and {} along x, or the whole axis: its neighbours keep a rim of "
        "so many; start fewer ranks, or exchange after fewer steps",
        spinloom::to_string(shape), ranks, least_points(rim, 0), least_points(rim, 1), least_points(rim, 2)));
  parts_ = *chosen;
}

DomainPart Domain::part(int rank) const {
  DomainPart p;
  p.place = {rank / (parts_[1] * parts_[2]), rank / parts_[2] % parts_[1], rank % parts_[2]};
  for (std::size_t a = 0; a < 3; ++a) {
    p.begin[a] = n_[a] * p.place[a] / parts_[a];
    p.end[a] = n_[a] * (p.place[a] + 1) / parts_[a];
    const bool meets = periodic_[a] && parts_[a] > 1;
    p.has_low[a] = p.place[a] > 0 || meets;
    p.has_high[a] = p.place[a] < parts_[a] - 1 || meets;
    p.stored_begin[a] = p.begin[a] - (p.has_low[a] ? rim_.depth.low[a] : 0);
    p.stored_end[a] = p.end[a] + (p.has_high[a] ? rim_.depth.high[a] : 0);
  }
  return p;
}

Shape Domain::own_shape(int rank) const {
  const DomainPart p = part(rank);
  Shape s;
  for (std::size_t a = 0; a < 3; ++a)
    if (axis_of(shape_.size(), a) >= 0) s.push_back(p.end[a] - p.begin[a]);
  return s;
}

int Domain::rank_at(std::array<int, 3> place) const {
  for (std::size_t a = 0; a < 3; ++a) {
    if (periodic_[a] && parts_[a] > 1) place[a] = (place[a] + parts_[a]) % parts_[a];
    if (place[a] < 0 || place[a] >= parts_[a]) return -1;
  }
  return (place[0] * parts_[1] + place[1]) * parts_[2] + place[2];
}

std::string split_text(const Domain& domain) {
  std::string text;
  for (std::size_t a = 0; a < 3; ++a)
    if (axis_of(domain.shape().size(), a) >= 0)
      text += fmt::format("{}{}", text.empty() ? "" : " x ", domain.parts()[a]);
  return text;
}

}  // namespace spinloom::stencil
