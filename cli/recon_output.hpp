#pragma once
#include <string>
#include <vector>

#include "console.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/io/output_file.hpp"

/// The report DIR/index.html with DIR/image.png. Its folder and names are checked when it is declared, before the work;
/// a folder that was made for it and stays empty is removed again.
class ReconReport {
 public:
  ReconReport(const std::string& folder, spinloom::OutputFile::Existing existing);
  ~ReconReport();
  ReconReport(const ReconReport&) = delete;
  ReconReport& operator=(const ReconReport&) = delete;

  /// Slices, the convergence curve, and all that `facts` holds. Gives the name of the page.
  std::string write(const spinloom::Image& image, const Json& facts,
                    const std::vector<std::vector<double>>& histories,
                    const std::vector<std::string>& warnings);

 private:
  /// Exists before the files in it are reserved, and is looked at after they are gone.
  struct Folder {
    std::string path;
    bool is_new;
    explicit Folder(const std::string& path);
    ~Folder();
  };
  Folder folder_;
  spinloom::OutputFile picture_;
  spinloom::OutputFile::Existing existing_;
};

/// NAME without the ending of an image file: "a/brain.nii.gz" -> "a/brain".
std::string without_ending(const std::string& path);
