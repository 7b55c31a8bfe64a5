#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "runtime/rank_group.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/communicator.hpp"

// What all ranks do together, made of messages, the same for threads and processes. All go through rank 0, in the order of
// the ranks: these are for numbers and words, not for fields.
namespace spinloom {
namespace {

constexpr int user_tags = 1 << 14, own_tag = user_tags;

void require_peer(const Communicator& c, const char* what, int peer, int tag) {
  if (peer < 0 || peer >= c.size() || peer == c.rank() || tag < 0 || tag >= user_tags)
    throw ArgumentError(
        fmt::format("{} rank {} of {}: rank {}, tag {}; expected another rank of the group and a tag "
                    "below {}",
                    what, c.rank(), c.size(), peer, tag, user_tags));
}

}  // namespace

bool Communicator::has_agreed_to_fail() const { return group_ && group_->has_agreed_to_fail(); }

Message Communicator::sending(const void* data, std::size_t bytes, int to, int tag) const {
  require_peer(*this, "a message from", to, tag);
  return Message(group_->message(rank_, true, const_cast<void*>(data), bytes, to, tag));
}

Message Communicator::receiving(void* data, std::size_t bytes, int from, int tag) const {
  require_peer(*this, "a message to", from, tag);
  return Message(group_->message(rank_, false, data, bytes, from, tag));
}

void Communicator::send_now(const void* data, std::size_t bytes, int to) const {
  const auto end = group_->message(rank_, true, const_cast<void*>(data), bytes, to, own_tag);
  end->start();
  end->wait();
}

void Communicator::receive_now(void* data, std::size_t bytes, int from) const {
  const auto end = group_->message(rank_, false, data, bytes, from, own_tag);
  end->start();
  end->wait();
}

void Communicator::broadcast(void* data, std::size_t bytes, int root) const {
  if (root < 0 || root >= size())
    throw ArgumentError(fmt::format("broadcast from rank {}: there are {} ranks", root, size()));
  if (size() == 1) return;
  if (rank_ != root) return receive_now(data, bytes, root);
  for (int r = 0; r < size(); ++r)
    if (r != root) send_now(data, bytes, r);
}

void Communicator::barrier() const {
  char nothing = 0;
  if (rank_ == 0)
    for (int r = 1; r < size(); ++r) receive_now(&nothing, 0, r);
  else
    send_now(&nothing, 0, 0);
  broadcast(&nothing, 0);
}

std::vector<double> Communicator::gather(const std::vector<double>& mine) const {
  std::size_t count = mine.size();
  if (rank_ != 0) {
    send_now(&count, sizeof count, 0);
    if (count > 0) send_now(mine.data(), count * sizeof(double), 0);
    return {};
  }
  std::vector<double> all = mine;
  for (int r = 1; r < size(); ++r) {
    receive_now(&count, sizeof count, r);
    const std::size_t before = all.size();
    all.resize(before + count);
    if (count > 0) receive_now(all.data() + before, count * sizeof(double), r);
  }
  return all;
}

void Communicator::agree(const std::function<void()>& work) const {
  std::exception_ptr failure;
  std::string words;
  try {
    work();
  } catch (const std::exception& e) {
    failure = std::current_exception();
    words = e.what();
  } catch (...) {
    failure = std::current_exception();
    words = "an unknown error";
  }
  if (size() == 1) {
    if (failure) std::rethrow_exception(failure);
    return;
  }
  // The lowest rank that failed, or the number of ranks; then its words.
  struct Verdict {
    long long failed_rank, length;
  };
  const Verdict mine{failure ? rank_ : size(), static_cast<long long>(words.size())};
  Verdict verdict = mine;
  if (rank_ == 0) {
    for (int r = 1; r < size(); ++r) {
      Verdict other;
      receive_now(&other, sizeof other, r);
      std::string text(static_cast<std::size_t>(other.length), ' ');
      if (!text.empty()) receive_now(text.data(), text.size(), r);
      if (other.failed_rank >= verdict.failed_rank) continue;
      verdict = other;
      words = text;
    }
  } else {
    send_now(&mine, sizeof mine, 0);
    if (!words.empty()) send_now(words.data(), words.size(), 0);
  }
  broadcast(&verdict, sizeof verdict);
  if (verdict.failed_rank == size()) return;
  words.resize(static_cast<std::size_t>(verdict.length));
  broadcast(words.data(), words.size());
  group_->agree_to_fail();
  if (failure) std::rethrow_exception(failure);
  throw Error(fmt::format("rank {}: {}", verdict.failed_rank, words));
}

}  // namespace spinloom
