#include "runtime/mpi/module.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/communicator.hpp"

/// In place of group.cpp on Windows, where no MPI was met.
namespace spinloom {

std::string mpi::module_file() { return ""; }
std::string mpi::module_problem() { return "spinloom does not use MPI on Windows"; }
std::string mpi::module_version() { return ""; }

int launched_ranks() { return 1; }
Communicator make_mpi_communicator() { throw BackendUnavailable("MPI", mpi::module_problem()); }

}  // namespace spinloom
