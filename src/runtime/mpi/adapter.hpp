#pragma once
#include <cstddef>

/// All that the library asks of MPI: what stands between it and a module that was compiled for one MPI, whose types and
/// numbers differ from another's. This header includes nothing of either side.
namespace spinloom::mpi {

/// Raised with every change here: a module of another version is refused.
inline constexpr int interface_version = 1;

/// Functions give 0, or a status that describe() puts into words.
class Adapter {
 public:
  using Request = void*;
  virtual ~Adapter() = default;
  virtual int version() const = 0;  ///< first in the table, so that it can always be asked
  virtual const char* library() const = 0;
  virtual const char* describe(int status) = 0;

  virtual int start_up(int& rank, int& size) = 0;
  virtual void shut_down() = 0;        ///< waits for all ranks
  virtual void abort(int status) = 0;  ///< ends all ranks

  /// A persistent request, to be released; received: bytes that came, of a receive that is done.
  virtual int prepare(bool sends, void* data, std::size_t bytes, int peer, int tag, Request& request) = 0;
  virtual int start(Request request) = 0;
  virtual int test(Request request, bool& done, std::size_t& received) = 0;
  virtual void release(Request request, bool is_active) = 0;
};

}  // namespace spinloom::mpi

/// What a module exports, by this name.
extern "C" spinloom::mpi::Adapter* spinloom_mpi_adapter();
