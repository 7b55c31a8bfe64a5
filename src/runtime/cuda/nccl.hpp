#pragma once
#include <cstddef>
#include <string>

#include "runtime/cuda/driver.hpp"

namespace spinloom::cuda {

using NcclComm = struct ncclComm*;

constexpr int nccl_float = 7, nccl_double = 8, nccl_sum = 0;

/// What is used of NCCL, by the names of its manual less the prefix nccl. It is opened at run time; types and values are
/// those of its stable binary interface.
struct Nccl {
  int (*GetVersion)(int*);
  const char* (*GetErrorString)(int);
  int (*CommInitAll)(NcclComm*, int, const int*);
  int (*CommDestroy)(NcclComm);
  int (*CommAbort)(NcclComm);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*AllReduce)(const void*, void*, std::size_t, int, int, NcclComm, StreamHandle);
  const char* (*GetLastError)(NcclComm);  ///< null before version 2.13
};

/// NCCL, opened at the first call. Throws BackendUnavailable that says why it is not usable.
const Nccl& nccl();

/// Empty when nccl() can be used, else why not, in words.
std::string nccl_problem();
std::string nccl_version();  ///< "2.28.3", empty without NCCL
std::string nccl_file();     ///< what was opened, empty when nothing was

/// Throws DeviceError "CALL: what NCCL says" unless `status` is success.
void check_nccl(int status, const std::string& call);

}  // namespace spinloom::cuda
