#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"

/// In place of the rest of this folder where spinloom is built without HDF5 (SPINLOOM_MRD=OFF).
namespace spinloom {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw BackendUnavailable(
      "MRD", path +
                 ": this build of spinloom is without HDF5, which MRD files take; use NIfTI, npy or "
                 "cfl, or build it with SPINLOOM_MRD=ON");
}

}  // namespace

RawScan read_mrd(const std::string& path, const std::string&, const Log&) { refuse(path); }
void write_mrd(const std::string& path, const RawScan&, OutputFile::Existing) { refuse(path); }
MrdImages read_mrd_images(const std::string& path, const std::string&, const Log&) { refuse(path); }
void write_mrd_images(const std::string& path, const MrdImages&, OutputFile::Existing) { refuse(path); }

}  // namespace spinloom
