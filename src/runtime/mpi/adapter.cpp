// The module libspinloom_mpi.so: compiled for one MPI, and the only file that includes its header.
#include "runtime/mpi/adapter.hpp"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <climits>
#include <cstring>
#include <new>

namespace spinloom::mpi {
namespace {

struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type = MPI_BYTE;
  bool sends = false;
};

class Module final : public Adapter {
 public:
  int version() const override { return interface_version; }
  const char* library() const override {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING + 1];
    int length = 0;
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "an unknown MPI";
    text[std::strcspn(text, ",\n")] = '\0';  // the name and version, not who packed it
    // "MPICH Version:\t4.0.2"
    constexpr char word[] = " Version:\t";
    if (char* between = std::strstr(text, word)) {
      *between = ' ';
      std::memmove(between + 1, between + sizeof(word) - 1, std::strlen(between + sizeof(word) - 1) + 1);
    }
    return text;
  }
  const char* describe(int status) override {
    static thread_local char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    if (MPI_Error_string(status, text, &length) != MPI_SUCCESS) return "an unknown error";
    return text;
  }

  int start_up(int& rank, int& size) override {
    int is_up = 0, provided = 0;
    MPI_Initialized(&is_up);
    if (!is_up)
      if (const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided))
        return status;
    owns_ = !is_up;
    // Our messages and those of a program that uses MPI itself stay apart.
    if (const int status = MPI_Comm_dup(MPI_COMM_WORLD, &world_)) return status;
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank);
    return MPI_Comm_size(world_, &size);
  }
  void shut_down() override {
    int is_down = 0;
    MPI_Finalized(&is_down);
    if (owns_ && !is_down) MPI_Finalize();
  }
  void abort(int status) override {
    int is_down = 0;
    MPI_Finalized(&is_down);
    if (!is_down) MPI_Abort(MPI_COMM_WORLD, status);
  }

  int prepare(bool sends, void* data, std::size_t bytes, int peer, int tag, Request& request) override {
    auto* pending = new (std::nothrow) Pending;
    if (pending == nullptr) return MPI_ERR_NO_MEM;
    pending->sends = sends;
    int count = static_cast<int>(bytes);
    if (bytes > INT_MAX) {
      if (const int status = make_large_type(bytes, pending->type)) return delete pending, status;
      count = 1;
    }
    const int status = sends
                           ? MPI_Send_init(data, count, pending->type, peer, tag, world_, &pending->request)
                           : MPI_Recv_init(data, count, pending->type, peer, tag, world_, &pending->request);
    request = pending;
    if (status != MPI_SUCCESS) release(pending, false);
    return status;
  }
  int start(Request request) override { return MPI_Start(&static_cast<Pending*>(request)->request); }
  int test(Request request, bool& done, std::size_t& received) override {
    auto* pending = static_cast<Pending*>(request);
    int flag = 0;
    MPI_Status status;
    const int result = MPI_Test(&pending->request, &flag, &status);
    done = flag != 0;
    if (result != MPI_SUCCESS || !done || pending->sends) return result;
    MPI_Count count = 0;
    const int counted = MPI_Get_elements_x(&status, pending->type, &count);
    received = static_cast<std::size_t>(count);
    return counted;
  }
  void release(Request request, bool is_active) override {
    auto* pending = static_cast<Pending*>(request);
    int is_down = 0;
    MPI_Finalized(&is_down);
    if (!is_down) {
      if (is_active) MPI_Cancel(&pending->request);
      if (pending->request != MPI_REQUEST_NULL) MPI_Request_free(&pending->request);
      if (pending->type != MPI_BYTE) MPI_Type_free(&pending->type);
    }
    delete pending;
  }

 private:
  /// MPI counts in int: larger messages are one element of a type that is blocks of 1 GiB and a rest.
  static int make_large_type(std::size_t bytes, MPI_Datatype& type) {
    constexpr std::size_t block = std::size_t{1} << 30;
    MPI_Datatype blocks;
    if (const int status = MPI_Type_vector(static_cast<int>(bytes / block), static_cast<int>(block),
                                           static_cast<int>(block), MPI_BYTE, &blocks))
      return status;
    const int lengths[2] = {1, static_cast<int>(bytes % block)};
    const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / block * block)};
    const MPI_Datatype types[2] = {blocks, MPI_BYTE};
    const int status = MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_free(&blocks);
    return status != MPI_SUCCESS ? status : MPI_Type_commit(&type);
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  bool owns_ = false;
};

}  // namespace
}  // namespace spinloom::mpi

extern "C" spinloom::mpi::Adapter* spinloom_mpi_adapter() {
  static auto& module = *new spinloom::mpi::Module;
  return &module;
}
