#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "runtime/cuda/context.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

/// Thrown while work is recorded and asks for what a record cannot hold: a copy to or from ordinary host memory, a
/// wait, more memory than there is.
class CannotRecord : public Error {
 public:
  using Error::Error;
};

/// Memory that one graph alone uses: what its work took while it was recorded has to stay where it was.
class GraphMemory {
 public:
  explicit GraphMemory(const Context& context) : context_(context) {}
  ~GraphMemory();  ///< gives all of it back to the pool
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// A block that the work gave back before, of at least `bytes` and at most a quarter more; null when there is none.
  std::byte* take(std::size_t bytes, std::size_t& size);
  void give(std::byte* data, std::size_t size);

 private:
  const Context& context_;
  std::mutex guard_;
  std::multimap<std::size_t, std::byte*> idle_;
};

/// Calls `start` when the other ranks start theirs.
using Together = std::function<void(const std::function<void()>& start)>;

/// Work that is issued once, kept, and started again as a whole: a CUDA graph. The driver then starts all its kernels
/// with one call, and the GPU goes from one to the next by itself.
class Graph {
 public:
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Records what `issue` issues on this thread in this context; nothing of it runs. Null when it cannot be recorded, and
  /// `why` says so. Kernels should have run before: loading them is not recorded work.
  static std::unique_ptr<Graph> record(const Context& context, const std::function<void()>& issue,
                                       std::string& why);
  /// Starts the work in the context's stream. Whatever it reads and writes must still be there.
  void launch() const;

 private:
  void start() const;
  Graph(const Context& context, std::shared_ptr<GraphMemory> memory)
      : context_(context), memory_(std::move(memory)) {}
  const Context& context_;
  std::shared_ptr<GraphMemory> memory_;
  GraphExecHandle handle_ = nullptr;
  Together together_;
};

/// What this thread records in `context`, if anything.
struct Recording {
  const Context* context = nullptr;
  StreamHandle stream = nullptr, upload_stream = nullptr;
  std::shared_ptr<GraphMemory> memory;
  Together together;  ///< empty for work of one GPU alone
};
const Recording* recording(const Context& context);

/// Shared by all that record; to be held alone by who waits for a whole GPU, which would spoil a record of any thread's.
std::shared_mutex& recording_gate();

/// Says that what this thread records waits for its like in the graphs of other GPUs, so that all have to be started by
/// `together`. Once in a record.
void start_together(const Context& context, Together together);

/// Throws CannotRecord "WHAT cannot be recorded" while this thread records.
void refuse_to_record(const Context& context, const char* what);

}  // namespace spinloom::cuda
