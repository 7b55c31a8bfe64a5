#include "spinloom/core/error.hpp"

namespace spinloom {

void rethrow_with_context(const std::string& context) {
  try {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const ArgumentError& e) {
    throw ArgumentError(context + ": " + e.what());
  } catch (const ShapeError& e) {
    throw ShapeError(context + ": " + e.what());
  } catch (const FormatError& e) {
    throw FormatError(context + ": " + e.what());
  } catch (const FileError& e) {
    throw FileError(context + ": " + e.what());
  } catch (const BackendUnavailable& e) {
    throw BackendUnavailable(context, e.what());
  } catch (const DeviceError& e) {
    throw DeviceError(context + ": " + e.what());
  } catch (const NotConverged& e) {
    throw NotConverged(context + ": " + e.what());
  } catch (const std::exception& e) {
    throw Error(context + ": " + e.what());
  }
}

}  // namespace spinloom
