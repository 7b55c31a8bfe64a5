#pragma once
#include <string>

#include "spinloom/core/log.hpp"
#include "spinloom/io/raw_scan.hpp"

namespace spinloom::mrd {

/// Fills the header fields of `scan` from the XML text, and keeps the text. Names are matched without their
/// namespace and in any order; unknown elements are skipped; what a reconstruction can live with is a
/// warning. FormatError for text that is not XML, a header without encoding, or a matrix size that is no
/// number.
void parse_header(const std::string& xml, RawScan& scan, const Log& log);

/// A header that says what the fields of `scan` say.
std::string make_header(const RawScan& scan);

}  // namespace spinloom::mrd
