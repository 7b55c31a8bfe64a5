#pragma once
#include <nanobind/nanobind.h>

#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "spinloom/core/log.hpp"

namespace spinloom::python {

namespace nb = nanobind;

/// One long call of the library from Python: the GIL is free while it runs, Ctrl-C stops it, warnings and notes are
/// told after it, and a progress function is called during it.
///
/// Ctrl-C   stops it when it was called in the main thread, with all other calls that run at that moment, as the
///          library knows one request to stop for all; KeyboardInterrupt follows in the main thread, Interrupted in
///          the others
/// Progress an exception of the function stops the call, and is what the caller sees
class LongCall {
 public:
  /// With the GIL held. `progress`: None, or called as progress(stage, fraction, detail).
  explicit LongCall(nb::handle progress = nb::none());

  /// What to hand to the library; both may be used while run() works, from any thread.
  Log log();
  Progress progress();
  /// A call back into Python from within run(): an exception there is kept, and stops the work.
  template <class Work>
  void call_python(Work&& work) {
    nb::gil_scoped_acquire locked;
    try {
      work();
    } catch (nb::python_error&) {
      keep_exception();
    }
  }

  /// Runs `work` without the GIL; rethrows what it throws. Then warnings become Python's.
  template <class Work>
  auto run(Work&& work) {
    enter();
    try {
      if constexpr (std::is_void_v<decltype(work())>) {
        released([&] { work(); });
        leave();
      } else {
        auto result = released(std::forward<Work>(work));
        leave();
        return result;
      }
    } catch (...) {
      leave_with_exception();
    }
  }

 private:
  template <class Work>
  static auto released(Work&& work) {
    nb::gil_scoped_release unlocked;
    wait_for_stopped_calls();
    return work();
  }
  static void wait_for_stopped_calls();
  void enter();
  void finish();
  void leave();
  [[noreturn]] void leave_with_exception();
  [[noreturn]] void keep_exception();
  void tell();

  nb::object progress_;
  std::mutex mutex_;
  std::vector<std::pair<Severity, std::string>> messages_;
  std::exception_ptr from_python_;
  bool installed_ = false;
};

/// In a child process after fork(): the calls of the parent's other threads do not go on there.
void forget_calls();

/// Makes the library's errors the classes of spinloom.errors.
void translate_errors();

}  // namespace spinloom::python
