#pragma once
#include <string>

namespace spinloom::mpi {

/// The module for MPI: its path, empty when there is none; why it is not used, empty when it can be; and its MPI, in words.
/// Opening it does not start MPI.
std::string module_file();
std::string module_problem();
std::string module_version();

}  // namespace spinloom::mpi
