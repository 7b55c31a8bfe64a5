#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/mpi/adapter.hpp"
#include "runtime/mpi/module.hpp"
#include "runtime/os/library.hpp"
#include "runtime/os/system.hpp"
#include "runtime/rank_group.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {
namespace {
namespace fs = std::filesystem;

struct Loaded {
  mpi::Adapter* adapter = nullptr;
  std::string file, problem;
};

std::vector<std::string> places() {
  const std::string name = os::module_file_name("spinloom_mpi");
  if (const std::string chosen = os::environment("SPINLOOM_MPI"); !chosen.empty()) return {chosen};
  std::vector<std::string> files;
  if (const fs::path self = os::own_file(); !self.empty()) {
    const fs::path folder = self.parent_path();
    files.push_back(to_name(folder / name));
    files.push_back(to_name(folder.parent_path() / name));
    files.push_back(to_name(folder.parent_path() / SPINLOOM_MODULES / name));
  }
  files.push_back(std::string(SPINLOOM_INSTALLED_MODULES) + "/" + name);
  return files;
}

Loaded load() {
  Loaded loaded;
  std::error_code ignored;
  std::string tried;
  for (const std::string& file : places()) {
    tried += (tried.empty() ? "" : ", ") + file;
    if (!fs::exists(to_path(file), ignored)) continue;
    loaded.file = file;
    // Global, since an MPI's own plug-ins look for its symbols among those of the program.
    void* handle = os::open_library_for_all(file);
    if (handle == nullptr) {
      loaded.problem = fmt::format("{} cannot be opened: {}", file, os::problem_of_library());
      return loaded;
    }
    const auto make =
        reinterpret_cast<decltype(&spinloom_mpi_adapter)>(os::find_symbol(handle, "spinloom_mpi_adapter"));
    loaded.adapter = make == nullptr ? nullptr : make();
    if (loaded.adapter == nullptr || loaded.adapter->version() != mpi::interface_version) {
      loaded.adapter = nullptr;
      loaded.problem = fmt::format("{} is no module of this version of spinloom", file);
    }
    return loaded;
  }
  loaded.problem = fmt::format(
      "the module for MPI was not found ({}); it is built with spinloom where CMake finds an MPI, such as "
      "the "
      "package libopenmpi-dev",
      tried);
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

void check(int status, const char* call) {
  if (status != 0) throw Error(fmt::format("{}: {}", call, loaded().adapter->describe(status)));
}

class MpiEnd final : public Message::End {
 public:
  MpiEnd(bool sends, void* data, std::size_t bytes, int peer, int tag)
      : sends_(sends), bytes_(bytes), peer_(peer) {
    check(mpi().prepare(sends, data, bytes, peer, tag, request_), "MPI message");
  }
  ~MpiEnd() override { mpi().release(request_, is_active_); }

  void start() override {
    check(mpi().start(request_), "MPI_Start");
    is_active_ = true;
  }
  bool is_done() override {
    if (!is_active_) return true;
    bool done = false;
    std::size_t received = bytes_;
    check(mpi().test(request_, done, received), sends_ ? "MPI message" : "MPI message to this rank");
    if (!done) return false;
    is_active_ = false;
    if (received != bytes_)
      throw ShapeError(
          fmt::format("message from rank {}: {} bytes were sent and {} expected", peer_, received, bytes_));
    return true;
  }
  /// Ranks may be more than cores: after a while a wait makes room, and then sleeps. An interrupt is heeded.
  void wait() override {
    for (int turn = 0; !is_done(); ++turn) {
      check_interrupt();
      if (turn < 200) continue;
      if (turn < 4000)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(turn < 8000 ? 20 : 500));
    }
  }

 private:
  static mpi::Adapter& mpi() { return *loaded().adapter; }
  const bool sends_;
  const std::size_t bytes_;
  const int peer_;
  mpi::Adapter::Request request_ = nullptr;
  bool is_active_ = false;
};

class MpiGroup final : public RankGroup {
 public:
  MpiGroup(int rank, int size)
      : RankGroup(std::vector<Device>(static_cast<std::size_t>(size))), rank_(rank) {}
  std::string name() const override { return loaded().adapter->library(); }
  bool is_one_process() const override { return false; }

  std::unique_ptr<Message::End> message(int, bool sends, void* data, std::size_t bytes, int peer,
                                        int tag) override {
    return std::make_unique<MpiEnd>(sends, data, bytes, peer, tag);
  }

  void sum(int, void* data, Index count, bool is_double) override {
    is_double ? sum_of(static_cast<double*>(data), count) : sum_of(static_cast<float*>(data), count);
  }

 private:
  /// Rank 0 adds the others' arrays in their order, so that no bit depends on how MPI would.
  template <class Real>
  void sum_of(Real* data, Index count) {
    const auto talk = [&](bool sends, void* memory, std::size_t bytes, int peer) {
      MpiEnd end(sends, memory, bytes, peer, sum_tag);
      end.start();
      end.wait();
    };
    struct Counts {
      Index rank, its, first;
    } counts{0, count, count};
    if (rank_ == 0) {
      for (int r = 1; r < size(); ++r) {
        Index theirs = 0;
        talk(false, &theirs, sizeof theirs, r);
        if (theirs != count && counts.rank == 0) counts = {r, theirs, count};
      }
      for (int r = 1; r < size(); ++r) talk(true, &counts, sizeof counts, r);
    } else {
      talk(true, &count, sizeof count, 0);
      talk(false, &counts, sizeof counts, 0);
    }
    for (int r = 0; r < size(); ++r) announce(r, r == counts.rank ? counts.its : counts.first);
    require_equal_counts();  // fails on every rank or on none
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Real);
    if (rank_ != 0) {
      talk(true, data, bytes, 0);
      return talk(false, data, bytes, 0);
    }
    std::vector<Real> other(static_cast<std::size_t>(count));
    for (int r = 1; r < size(); ++r) {
      talk(false, other.data(), bytes, r);
      for (Index i = 0; i < count; ++i) data[i] += other[static_cast<std::size_t>(i)];
    }
    for (int r = 1; r < size(); ++r) talk(true, data, bytes, r);
  }

  static constexpr int sum_tag = (1 << 14) + 1;
  const int rank_;
};

/// With status 0, or where all ranks fail alike, MPI is ended in good order, together; else this rank ends the others, which
/// might wait for it forever.
void at_exit(int status, void* group) {
  if (status == 0 || static_cast<MpiGroup*>(group)->has_agreed_to_fail())
    loaded().adapter->shut_down();
  else
    loaded().adapter->abort(status);
}

/// What an mpirun leaves in the environment of the processes that it starts.
int number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

Communicator start_up() {
  if (!loaded().problem.empty()) throw BackendUnavailable("MPI", loaded().problem);
  int rank = 0, size = 1;
  check(loaded().adapter->start_up(rank, size), "MPI_Init");
  if (size != launched_ranks())
    throw BackendUnavailable(
        "MPI",
        fmt::format("mpirun started {} processes and {} sees {}: the module {} is for another MPI than "
                    "that mpirun; build it with the other, and point SPINLOOM_MPI to it",
                    launched_ranks(), loaded().adapter->library(), size, loaded().file));
  const auto group = std::make_shared<MpiGroup>(rank, size);
  on_exit(at_exit, group.get());  // kept as long as the process
  return {group, rank};
}

}  // namespace

std::string mpi::module_file() { return loaded().file; }
std::string mpi::module_problem() { return loaded().problem; }
std::string mpi::module_version() { return loaded().problem.empty() ? loaded().adapter->library() : ""; }

int launched_ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})
    if (const int size = number(name); size > 0) return size;
  return 1;
}

Communicator make_mpi_communicator() {
  static auto& world = *new Communicator(start_up());  // as long as the process, whose end ends MPI
  return world;
}

}  // namespace spinloom
