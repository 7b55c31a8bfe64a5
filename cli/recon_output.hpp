#pragma once
#include <string>
#include <vector>

#include "console.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom/recon/measurement.hpp"
#include "spinloom/recon/reconstruct.hpp"

/// The images of a scan as one array: slices of 2D scans along z, all else along a frame axis in front.
/// Throws ShapeError when the images differ in size.
spinloom::Image join_images(const std::vector<spinloom::Measurement>& measurements,
                            std::vector<spinloom::Array<spinloom::cfloat>> images);

/// An image [matrix...] cut to [recon_matrix...], centre on centre.
spinloom::Array<spinloom::cfloat> crop(const spinloom::Array<spinloom::cfloat>& image, const spinloom::Shape& to);

/// Writes DIR/index.html: slices, the convergence curve, and all that `facts` holds.
std::string write_recon_report(const std::string& folder, const spinloom::Image& image, const Json& facts,
                               const std::vector<std::vector<double>>& histories,
                               const std::vector<std::string>& warnings, spinloom::OutputFile::Existing existing);

/// NAME without the ending of an image file: "a/brain.nii.gz" -> "a/brain".
std::string without_ending(const std::string& path);
