#pragma once
#include <functional>

#include "spinloom/core/types.hpp"

namespace spinloom {

/// Number of threads that parallel_blocks() uses; 0 asks for one per core available to the process.
void set_thread_count(int threads);
int thread_count();

/// Calls body(begin, end, thread) for consecutive blocks of [0, count) of at most `grain` elements.
///
/// The blocks depend on `count` and `grain` alone, never on the number of threads, so a body whose blocks
/// write apart (or whose partial sums are kept per block) gives the same bits for any thread count.
/// `thread` is in [0, thread_count()) and no two blocks run on one `thread` at a time: index scratch by it.
/// The first exception is rethrown after all threads have stopped; an interrupt stops between blocks.
/// A call inside a body runs serially, as thread 0. Safe to call from several threads at once.
void parallel_blocks(Index count, Index grain, const std::function<void(Index begin, Index end, int thread)>& body);

}  // namespace spinloom
