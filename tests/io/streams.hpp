#pragma once
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

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
