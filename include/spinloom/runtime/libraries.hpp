#pragma once
#include <string>
#include <vector>

namespace spinloom {

/// A library that is opened at run time, when it is there.
struct LibraryProbe {
  std::string name;    ///< "CUDA driver"
  std::string file;    ///< what was found, empty when nothing was
  std::string status;  ///< in words: what was found, or what is missing and what would bring it
  bool is_present = false;
};

/// Looks for the CUDA driver, NVRTC, cuFFT, NCCL and the module for MPI. All stay open, as the backends use them.
std::vector<LibraryProbe> probe_libraries();

}  // namespace spinloom
