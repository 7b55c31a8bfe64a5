#include "fourier/cuda/coordinates.hpp"

#include <map>
#include <mutex>

namespace spinloom::cuda {

Coordinates coordinates_of(const Trajectory& trajectory, Device device) {
  struct Held {
    std::mutex guard;  ///< of one entry, so that GPUs are sent theirs side by side
    std::weak_ptr<const Array<double>> array;
  };
  static std::mutex guard;
  static auto& all = *new std::map<std::pair<const double*, int>, std::weak_ptr<Held>>;
  std::shared_ptr<Held> held;
  {
    std::lock_guard lock(guard);
    std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
    auto& slot = all[{trajectory.view().data, device.index}];
    held = slot.lock();
    if (!held) slot = held = std::make_shared<Held>();
  }
  std::lock_guard lock(held->guard);
  auto array = held->array.lock();
  if (!array) {
    // The entry lives as long as the array.
    array = std::shared_ptr<const Array<double>>(
        new Array<double>(Array<double>::copy_of(trajectory.view(), device)),
        [held](const Array<double>* a) { delete a; });
    held->array = array;
  }
  return array;
}

}  // namespace spinloom::cuda
