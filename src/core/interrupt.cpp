#include "spinloom/core/interrupt.hpp"

#include <atomic>

#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");
}  // namespace

void request_interrupt() noexcept { requested = true; }
bool interrupt_requested() noexcept { return requested; }
void clear_interrupt() noexcept { requested = false; }

void check_interrupt() {
  if (requested) throw Interrupted();
}

}  // namespace spinloom
