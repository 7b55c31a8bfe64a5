#pragma once
#include <cstddef>
#include <memory>

#include "spinloom/io/output_file.hpp"

namespace spinloom {

/// Writes an OutputFile's temporary content in order, from empty on. finish() must be called before commit().
///
/// Errors   FileError with the target's name and the system's reason (a full disk) from write() and finish()
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(const void* data, std::size_t bytes) = 0;
  virtual void finish() = 0;
};

std::unique_ptr<ByteSink> plain_sink(const OutputFile& file);
/// The same bytes for the same content: no time or name is stored.
std::unique_ptr<ByteSink> gzip_sink(const OutputFile& file);

}  // namespace spinloom
