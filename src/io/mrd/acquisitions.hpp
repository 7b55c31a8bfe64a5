#pragma once
#include <string>
#include <vector>

#include "io/hdf5.hpp"
#include "runtime/os/child_reader.hpp"
#include "spinloom/io/raw_scan.hpp"

/// The lines of a scan on their way from the process that reads them by HDF5 to the one that uses them. The
/// receivers return false when the sender ended early, and throw FormatError for lengths beyond `memory` bytes.
namespace spinloom::mrd {

void send_text(ChildPipe& pipe, const std::string& text);
bool receive_text(ChildPipe& pipe, std::size_t memory, std::string& text);

/// All lines of dataset `data`. FormatError where it holds none, or HDF5 cannot read them.
void send_acquisitions(hid_t data, ChildPipe& pipe);
/// FormatError naming the line whose data or trajectory are not as long as its header says.
bool receive_acquisitions(ChildPipe& pipe, std::size_t memory, std::vector<Acquisition>& acquisitions);

}  // namespace spinloom::mrd
