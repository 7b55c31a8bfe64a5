#pragma once
#include <stdexcept>
#include <string>

namespace spinloom {

/// Base of everything the library throws on purpose. The text is one line: what arrived, what was
/// expected, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A parameter outside its range.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// An array whose shape does not fit.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A file whose content is not what its format demands.
class FormatError : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be opened, read, written or renamed.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A backend that this machine or build lacks.
class BackendUnavailable : public Error {
 public:
  BackendUnavailable(const std::string& backend, const std::string& why) : Error(backend + ": " + why) {}
};

/// A failure reported by a device.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// Iterations that diverged or met a value that is not finite.
class NotConverged : public Error {
 public:
  using Error::Error;
};

/// The user asked to stop; see core/interrupt.hpp.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// The same error with `context` in front of its text, of the same type: "context: text".
/// Call inside a catch block; rethrows what is being handled.
[[noreturn]] void rethrow_with_context(const std::string& context);

/// What `body` gives; its errors get `context` in front.
template <class Body>
auto with_context(const std::string& context, const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    rethrow_with_context(context);
  }
}

}  // namespace spinloom
