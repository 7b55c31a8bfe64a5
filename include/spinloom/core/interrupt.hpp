#pragma once

namespace spinloom {

/// Asks all running work to stop at its next check. Safe in a signal handler.
void request_interrupt() noexcept;
bool interrupt_requested() noexcept;
void clear_interrupt() noexcept;

/// Throws Interrupted when a stop was asked for. Long loops call it between blocks of work.
void check_interrupt();

}  // namespace spinloom
