#include "runtime/os/child_reader.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

/// What was written, in pieces, each given back once it is read.
class Kept final : public ChildPipe {
 public:
  void write(const void* bytes, std::size_t size) override {
    check_interrupt();
    const auto* from = static_cast<const char*>(bytes);
    if (size > 0) pieces_.emplace_back(from, from + size);
  }
  bool read(void* bytes, std::size_t size) override {
    for (auto* to = static_cast<char*>(bytes); size > 0;) {
      check_interrupt();
      if (pieces_.empty()) return false;
      const std::vector<char>& piece = pieces_.front();
      const std::size_t part = std::min(size, piece.size() - taken_);
      std::memcpy(to, piece.data() + taken_, part);
      to += part, size -= part, taken_ += part;
      if (taken_ == piece.size()) pieces_.pop_front(), taken_ = 0;
    }
    return true;
  }

 private:
  std::deque<std::vector<char>> pieces_;
  std::size_t taken_ = 0;  // of the first piece
};

}  // namespace

void read_in_child(const std::string&, const std::string&, std::size_t,
                   const std::function<void(ChildPipe&)>& child,
                   const std::function<bool(ChildPipe&)>& parent) {
  Kept kept;
  child(kept);
  parent(kept);
}

}  // namespace spinloom
