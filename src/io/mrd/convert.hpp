#pragma once
#include "io/mrd/records.hpp"
#include "spinloom/io/raw_scan.hpp"

namespace spinloom::mrd {

/// A record as read. FormatError naming acquisition `index` when its data or trajectory are not as long as
/// its header says, or when its samples are compressed.
Acquisition to_acquisition(const AcquisitionRecord& record, Index index);

/// A record that points into `a`, which must outlive it. ArgumentError for numbers that the format has no
/// room for.
AcquisitionRecord to_record(const Acquisition& a, Index index);

}  // namespace spinloom::mrd
