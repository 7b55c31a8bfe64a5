#pragma once
#include <memory>
#include <string>
#include <vector>

#include "spinloom/io/output_file.hpp"

/// Several files that appear together or not at all. Every name is checked and reserved when it is added, so a file
/// that exists is refused before any work; writers fill temporary names; commit() renames them all, and takes back
/// those that are new when one of them fails.
class OutputSet {
 public:
  explicit OutputSet(spinloom::OutputFile::Existing existing) : existing_(existing) {}

  /// Reserves `path`; gives the temporary name to write to, which has the same ending. Writers that make a temporary
  /// file of their own replace it: pass them Existing::replace.
  std::string add(const std::string& path);
  /// The same for a BART pair: `base`.cfl and `base`.hdr. Gives the name to write to.
  std::string add_cfl(const std::string& base);
  void commit();
  /// `text` with the names that the user knows in place of the temporary ones.
  std::string by_final_names(std::string text) const;
  std::vector<std::string> paths() const;

 private:
  struct Pair {
    std::string written_header, temporary_header;  ///< where the writer puts .hdr, and where it is reserved
  };
  spinloom::OutputFile::Existing existing_;
  std::vector<std::unique_ptr<spinloom::OutputFile>> files_;
  std::vector<Pair> pairs_;
};
