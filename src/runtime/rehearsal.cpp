#include <algorithm>

#include "runtime/rank_group.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index block = 1 << 12;

/// Every array becomes the sum of all, in their order.
template <class Real>
void sum_in_order(const std::vector<void*>& arrays, Index count) {
  parallel_blocks(count, block, [&](Index begin, Index end, int) {
    Real sum[block];
    const auto part = [&](void* array) { return static_cast<Real*>(array) + begin; };
    std::copy_n(part(arrays[0]), end - begin, sum);
    for (std::size_t r = 1; r < arrays.size(); ++r)
      for (Index i = 0; i < end - begin; ++i) sum[i] += part(arrays[r])[i];
    for (void* array : arrays) std::copy_n(sum, end - begin, part(array));
  });
}

class Rehearsal final : public RankGroup {
 public:
  explicit Rehearsal(std::vector<Device> devices)
      : RankGroup(std::move(devices)), arrays_(static_cast<std::size_t>(size())) {}
  std::string name() const override { return size() == 1 ? "alone" : "rehearsal"; }

  void sum(int rank, void* data, Index count, bool is_double) override {
    if (size() == 1) return;
    const Device there = device(rank);
    const std::size_t bytes = static_cast<std::size_t>(count) * (is_double ? sizeof(double) : sizeof(float));
    Array<std::byte> copied;
    if (there.kind == DeviceKind::cuda) {
      copied = Array<std::byte>({static_cast<Index>(bytes)});
      copy_bytes(copied.data(), {}, static_cast<const std::byte*>(data), there, bytes);
    }
    arrays_[static_cast<std::size_t>(rank)] = copied.empty() ? data : copied.data();
    announce(rank, count);
    meeting().together(
        rank, [] {},
        [&](const Meeting::Act&) {
          require_equal_counts();
          is_double ? sum_in_order<double>(arrays_, count) : sum_in_order<float>(arrays_, count);
        });
    if (!copied.empty()) copy_bytes(static_cast<std::byte*>(data), there, copied.data(), {}, bytes);
  }

 private:
  std::vector<void*> arrays_;
};

}  // namespace

std::shared_ptr<RankGroup> make_rehearsal(std::vector<Device> devices) {
  return std::make_shared<Rehearsal>(std::move(devices));
}

}  // namespace spinloom
