#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <string>
#include <thread>

#include "spinloom/core/error.hpp"
#include "temporary_folder.hpp"

namespace spinloom::testing {

/// One gzip member.
inline std::string gzipped(const std::string& content, int level = 6) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

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

/// The message of the E that `action` throws; any other outcome fails the test.
template <class E = Error, class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const E& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "one line: " << e.what();
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return "";
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

#define EXPECT_SAYS(text, part) EXPECT_PRED2(::spinloom::testing::contains, text, part)

}  // namespace spinloom::testing
