#include "runtime/cuda/graph.hpp"

#include "runtime/cuda/memory_pool.hpp"

namespace spinloom::cuda {

std::shared_mutex& recording_gate() {
  static auto& gate = *new std::shared_mutex;
  return gate;
}

namespace {

thread_local Recording* current_recording = nullptr;

/// A stream of its own for the record, so that what other threads issue meanwhile stays out of it; and the end of
/// recording whatever happens.
class RecordingScope {
 public:
  explicit RecordingScope(const Context& context) : gate_(recording_gate()) {
    recording_.context = &context;
    recording_.memory = std::make_shared<GraphMemory>(context);
    SPINLOOM_CUDA(StreamCreate, &recording_.stream, stream_non_blocking);
    if (const Result r = driver().StreamCreate(&recording_.upload_stream, stream_non_blocking); r != 0) {
      driver().StreamDestroy(recording_.stream);
      check(r, "cuStreamCreate");
    }
    if (const Result r = driver().StreamBeginCapture(recording_.stream, stream_capture_relaxed); r != 0) {
      destroy_streams();
      check(r, "cuStreamBeginCapture");
    }
    current_recording = &recording_;
  }
  ~RecordingScope() {
    GraphHandle graph = nullptr;
    end(graph);
    if (graph != nullptr) driver().GraphDestroy(graph);
    destroy_streams();
  }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  Result end(GraphHandle& graph) {
    if (current_recording == nullptr) return 0;
    current_recording = nullptr;
    return driver().StreamEndCapture(recording_.stream, &graph);
  }
  const Recording& recording() const { return recording_; }

 private:
  void destroy_streams() {
    driver().StreamDestroy(recording_.upload_stream);
    driver().StreamDestroy(recording_.stream);
  }
  std::shared_lock<std::shared_mutex> gate_;
  Recording recording_;
};

}  // namespace

const Recording* recording(const Context& context) {
  return current_recording != nullptr && current_recording->context == &context ? current_recording : nullptr;
}

void start_together(const Context& context, Together together) {
  if (recording(context) == nullptr) return;
  if (current_recording->together)
    throw CannotRecord("a second sum over ranks cannot be recorded in a graph");
  current_recording->together = std::move(together);
}

void refuse_to_record(const Context& context, const char* what) {
  if (recording(context) != nullptr) throw CannotRecord(std::string(what) + " cannot be recorded in a graph");
}

std::unique_ptr<Graph> Graph::record(const Context& context, const std::function<void()>& issue,
                                     std::string& why) {
  why.clear();
  if (current_recording != nullptr) {
    why = "a record within a record";
    return nullptr;
  }
  Current current(context);
  RecordingScope scope(context);
  try {
    issue();
  } catch (const CannotRecord& e) {
    why = e.what();
    return nullptr;
  } catch (const DeviceError& e) {  // another library's wait for the whole GPU spoils a record
    why = e.what();
    return nullptr;
  }
  GraphHandle captured = nullptr;
  if (const Result r = scope.end(captured); r != 0) {
    why = explain(r, "cuStreamEndCapture");
    return nullptr;
  }
  std::unique_ptr<Graph> graph(new Graph(context, scope.recording().memory));
  graph->together_ = scope.recording().together;
  const Result made = driver().GraphInstantiateWithFlags(&graph->handle_, captured, 0);
  driver().GraphDestroy(captured);
  if (made != 0) {
    why = explain(made, "cuGraphInstantiateWithFlags");
    return nullptr;
  }
  return graph;
}

Graph::~Graph() {
  if (handle_ == nullptr) return;
  ContextHandle popped = nullptr;
  driver().CtxPushCurrent(context_.handle());
  driver().GraphExecDestroy(handle_);  // one that still runs is freed when it has ended
  driver().CtxPopCurrent(&popped);
}

void Graph::launch() const {
  together_ ? together_([this] { start(); }) : start();
}

void Graph::start() const {
  Current current(context_);
  SPINLOOM_CUDA(GraphLaunch, handle_, context_.stream());
}

GraphMemory::~GraphMemory() {
  for (const auto& [size, data] : idle_) context_.memory().release(data, size);
}

std::byte* GraphMemory::take(std::size_t bytes, std::size_t& size) {
  std::lock_guard lock(guard_);
  const auto found = idle_.lower_bound(bytes);
  if (found == idle_.end() || found->first > bytes + bytes / 4) return nullptr;
  size = found->first;
  std::byte* const data = found->second;
  idle_.erase(found);
  return data;
}

void GraphMemory::give(std::byte* data, std::size_t size) {
  std::lock_guard lock(guard_);
  idle_.emplace(size, data);
}

}  // namespace spinloom::cuda
