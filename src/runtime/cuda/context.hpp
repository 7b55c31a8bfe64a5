#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/cuda/driver.hpp"

namespace spinloom::cuda {

/// Facts of one card that kernels and plans depend on.
struct DeviceFacts {
  std::string name;
  int capability = 0;  ///< compute capability times ten
  int multiprocessors = 0;
  std::size_t shared_memory_bytes = 0;  ///< most that one block may ask for
  std::size_t memory_bytes = 0;
  std::size_t level2_bytes = 0;
  int single_to_double = 0;  ///< operations in single precision for each in double: 2, or 32 and more
};

class MemoryPool;
class Staging;
class Modules;

/// One GPU of this process: its primary context (shared with whoever else uses it), the one stream on which
/// all work of the library is ordered, its memory and its kernels. Made at first use and kept until the
/// process ends. Threads: may be shared; work of several threads is ordered as it was issued.
class Context {
 public:
  explicit Context(int index);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int index() const { return index_; }
  const DeviceFacts& facts() const { return facts_; }
  ContextHandle handle() const { return handle_; }
  /// Where work is to be issued: the one stream, or, while this thread records a Graph, the record; within InStream that one.
  StreamHandle stream() const;
  StreamHandle own_stream() const { return stream_; }
  /// Beside stream(), for what the host sends while work runs; its order with stream() is made by events.
  StreamHandle upload_stream() const;
  MemoryPool& memory() const { return *memory_; }
  Staging& staging() const { return *staging_; }
  Modules& modules() const { return *modules_; }

  void synchronize() const;  ///< waits for all work that was issued
  std::size_t free_memory_bytes() const;

 private:
  int index_;
  DeviceFacts facts_;
  ContextHandle handle_ = nullptr;
  StreamHandle stream_ = nullptr, upload_stream_ = nullptr;
  // Not freed when the process ends: the driver may be gone by then, and the process takes all with it.
  MemoryPool* memory_ = nullptr;
  Staging* staging_ = nullptr;
  Modules* modules_ = nullptr;
};

/// The GPU of this index. Throws BackendUnavailable when CUDA cannot be used or there is no such GPU.
Context& context(int index);

int device_count();  ///< 0 when CUDA cannot be used
DeviceFacts read_facts(int index);

/// Makes a context the calling thread's own for a scope, and gives back what was there before.
class Current {
 public:
  explicit Current(const Context& c) { SPINLOOM_CUDA(CtxPushCurrent, c.handle()); }
  ~Current() {
    ContextHandle popped = nullptr;
    driver().CtxPopCurrent(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

/// A point in the stream's order, for timing: milliseconds_since(earlier) waits for both.
class Event {
 public:
  explicit Event(const Context& c);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record();
  double milliseconds_since(const Event& earlier) const;

 private:
  const Context& context_;
  EventHandle handle_ = nullptr;
};

}  // namespace spinloom::cuda
