#pragma once
#include <string>
#include <vector>

#include "console.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/io/output_file.hpp"

/// Writes DIR/index.html: slices, the convergence curve, and all that `facts` holds.
std::string write_recon_report(const std::string& folder, const spinloom::Image& image, const Json& facts,
                               const std::vector<std::vector<double>>& histories,
                               const std::vector<std::string>& warnings, spinloom::OutputFile::Existing existing);

/// NAME without the ending of an image file: "a/brain.nii.gz" -> "a/brain".
std::string without_ending(const std::string& path);
