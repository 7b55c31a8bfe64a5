#include "calls.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/process.hpp"

namespace spinloom::python {
namespace {

std::atomic<int> running{0};      // calls of all threads, nested ones included
std::atomic<int> waiting{0};      // those of them that have not begun, since others are being stopped
thread_local int depth = 0;       // calls of this thread that are within one another
std::atomic<bool> caught{false};  // our handler met a Ctrl-C that Python has not been asked about yet

/// Stops the library; Python takes note of the signal too.
void on_interrupt() {
  caught = true;
  request_interrupt();
}

bool is_main_thread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

/// Where Python ignores Ctrl-C or lets it end the process, it stays so.
bool python_takes_interrupts() {
  const nb::module_ signal = nb::module_::import_("signal");
  const nb::object handler = signal.attr("getsignal")(signal.attr("SIGINT"));
  return !handler.equal(signal.attr("SIG_DFL")) && !handler.equal(signal.attr("SIG_IGN"));
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

void set_error(const char* name, const std::exception& e) {
  try {
    PyErr_SetString(nb::module_::import_("spinloom.errors").attr(name).ptr(), one_line(e.what()).c_str());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

}  // namespace

LongCall::LongCall(nb::handle progress) : progress_(nb::borrow(progress)) {
  if (!progress.is_none() && !PyCallable_Check(progress.ptr()))
    throw nb::type_error("progress is not callable, expected a function (stage, fraction, detail) or None");
}

Log LongCall::log() {
  return [this](Severity severity, const std::string& text) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(severity, text);
  };
}

Progress LongCall::progress() {
  if (progress_.is_none()) return {};
  return [this](const std::string& stage, double fraction, const std::string& detail) {
    call_python([&] { progress_(nb::str(stage.c_str()), fraction, nb::str(detail.c_str())); });
  };
}

void LongCall::keep_exception() {
  {
    const std::lock_guard lock(mutex_);
    if (!from_python_) from_python_ = std::current_exception();
  }
  throw Interrupted();
}

/// A call that begins while others are being stopped would be stopped with them, so it waits for their end.
void LongCall::wait_for_stopped_calls() {
  if (depth > 1) return;
  ++waiting;
  while (interrupt_requested() && running > waiting) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // Several may wait, for others but not for one another: whoever sees that nobody works any more lets all go on.
  if (running == waiting && !caught) clear_interrupt();
  --waiting;
}

void LongCall::enter() {
  ++running;
  if (depth++ == 0 && is_main_thread()) {
    caught = false;
    installed_ = python_takes_interrupts() && watch_interrupts(on_interrupt);
  }
}

void LongCall::finish() {
  --depth;
  if (installed_) unwatch_interrupts();
  installed_ = false;
  if (--running == 0) clear_interrupt();
}

void LongCall::leave() {
  finish();  // a Ctrl-C that came after the last look at it is raised by Python itself, soon
  tell();
}

void LongCall::leave_with_exception() {
  const bool is_ours = installed_;
  finish();
  try {
    throw;
  } catch (const Interrupted&) {
    if (from_python_) std::rethrow_exception(std::exchange(from_python_, nullptr));
    if (is_ours && caught.exchange(false)) {
      if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);  // a handler that raised nothing
      throw nb::python_error();
    }
    throw;
  } catch (...) {
    throw;
  }
}

void LongCall::tell() {
  if (messages_.empty()) return;
  const nb::object logger = nb::module_::import_("logging").attr("getLogger")("spinloom");
  const nb::object warn = nb::module_::import_("spinloom.errors").attr("_warn");
  for (const auto& [severity, text] : std::exchange(messages_, {}))
    severity == Severity::warning ? warn(text.c_str()) : logger.attr("info")("%s", text.c_str());
}

void forget_calls() {
  running = 0;
  waiting = 0;
  depth = 0;
  clear_interrupt();
}

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const ArgumentError& e) {
      set_error("ArgumentError", e);
    } catch (const ShapeError& e) {
      set_error("ShapeError", e);
    } catch (const FormatError& e) {
      set_error("FormatError", e);
    } catch (const FileError& e) {
      set_error("FileError", e);
    } catch (const BackendUnavailable& e) {
      set_error("BackendUnavailable", e);
    } catch (const DeviceError& e) {
      set_error("DeviceError", e);
    } catch (const NotConverged& e) {
      set_error("NotConverged", e);
    } catch (const Interrupted& e) {
      set_error("Interrupted", e);
    } catch (const Error& e) {
      set_error("Error", e);
    }
  });
}

}  // namespace spinloom::python
