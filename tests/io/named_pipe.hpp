#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include "temporary_folder.hpp"

namespace spinloom::testing {

/// Feeds `content` into a named pipe in pieces, from a thread of its own.
class Pipe {
 public:
  Pipe(const TemporaryFolder& folder, const std::string& name, std::string content, std::size_t piece)
      : path_(folder / name), content_(std::move(content)), piece_(piece) {
    std::signal(SIGPIPE, SIG_IGN);
    if (mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("no named pipe");
    writer_ = std::thread([this] {
      const int file = ::open(path_.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < content_.size(); at += piece_)
        if (::write(file, content_.data() + at, std::min(piece_, content_.size() - at)) < 0) break;
      ::close(file);
    });
  }
  ~Pipe() { writer_.join(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_, content_;
  std::size_t piece_;
  std::thread writer_;
};

}  // namespace spinloom::testing
