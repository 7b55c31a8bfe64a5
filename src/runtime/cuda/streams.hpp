#pragma once
#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// A point in the order of a stream that others wait for. Never recorded, it counts as reached.
class Point {
 public:
  explicit Point(const Context& context);
  ~Point();
  Point(const Point&) = delete;
  Point& operator=(const Point&) = delete;
  void record(StreamHandle stream);
  /// What `stream`, of any GPU, is given from here on starts when what was recorded last has ended. The host goes on.
  void hold(StreamHandle stream) const;
  void wait() const;  ///< the host does

 private:
  const Context& context_;
  EventHandle handle_ = nullptr;
};

/// A stream beside a context's own. Work goes there within InStream. What is urgent goes
/// before what waits in other streams. The destructor waits for all work.
class Stream {
 public:
  enum class Kind { ordinary, urgent };
  explicit Stream(const Context& context, Kind kind = Kind::ordinary);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  StreamHandle handle() const { return handle_; }

 private:
  const Context& context_;
  StreamHandle handle_ = nullptr;
};

/// For a scope, what this thread issues in a context goes to another stream than the context's own.
class InStream {
 public:
  InStream(const Context& context, const Stream& stream);
  ~InStream();
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

 private:
  friend StreamHandle chosen_stream(const Context& context);
  const Context& context_;
  StreamHandle stream_;
  const InStream* outer_;
};
StreamHandle chosen_stream(const Context& context);  ///< of the innermost such scope, or none

/// Lets a GPU read another's memory over what links the two, where there is something; else copies go by way of the host.
void link_peers(const Context& reader, const Context& owner);

}  // namespace spinloom::cuda
