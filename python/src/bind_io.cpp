#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "calls.hpp"
#include "images.hpp"
#include "operators.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/recon/load_scan.hpp"

namespace spinloom::python {

nb::object to_affine(const Geometry& geometry) {
  auto affine = Array<double>::zeros({4, 4});
  for (std::size_t row = 0; row < 3; ++row)
    std::copy(geometry.matrix[row].begin(), geometry.matrix[row].end(), affine.begin() + 4 * row);
  affine[15] = 1;
  return to_numpy(std::move(affine));
}

Geometry to_geometry(nb::handle affine) {
  Geometry geometry;
  if (affine.is_none()) return geometry;
  const Given given = take(affine, "affine");
  require_shape("write", "affine", given.shape, {4, 4});
  const Array<double> values = to_double(given);
  for (std::size_t row = 0; row < 3; ++row)
    std::copy_n(values.begin() + 4 * row, 4, geometry.matrix[row].begin());
  geometry.is_known = true;
  return geometry;
}

namespace {

constexpr auto existing(bool overwrite) {
  return overwrite ? OutputFile::Existing::replace : OutputFile::Existing::refuse;
}

/// What a NIfTI file said beside its voxels, carried from read() to write().
struct HeldHeader {
  std::shared_ptr<const NiftiHeader> header;
};

nb::tuple read(const std::string& path, const std::string& group) {
  LongCall call;
  Image image = call.run([&] { return load_image(path, {.group = group, .log = call.log()}); });
  const nb::object header = image.nifti ? nb::cast(HeldHeader{image.nifti}) : nb::none();
  const nb::object affine = to_affine(image.geometry);
  return nb::make_tuple(to_numpy(std::move(image.data)), affine, image.geometry.is_known, image.time_step,
                        image.format, header);
}

void write(const std::string& path, nb::handle data, nb::handle affine, double time_step,
           const HeldHeader* header, bool stored_type, bool overwrite) {
  const Given given = take(data, "data");
  Image image;
  image.geometry = to_geometry(affine);
  image.time_step = time_step;
  if (header != nullptr) image.nifti = header->header;
  LongCall call;
  call.run([&] {
    image.data = to_tensor(given);
    SaveOptions options{.log = call.log()};
    if (stored_type) options.nifti.type = NiftiOptions::Type::stored;
    save_image(path, image, existing(overwrite), options);
  });
}

/// [samples, dims], columns in the order of the image's axes.
nb::object columns(const Trajectory& k) {
  Array<double> list({k.samples(), k.dims()});
  for (int d = 0; d < k.dims(); ++d)
    for (Index m = 0; m < k.samples(); ++m) list[m * k.dims() + d] = k.axis(d)[m];
  return to_numpy(std::move(list));
}

nb::dict describe(Measurement m) {
  nb::dict d;
  d["trajectory"] = columns(*m.trajectory);
  d["matrix"] = to_tuple(m.matrix);
  d["recon_matrix"] = to_tuple(m.recon_matrix);
  d["fov_mm"] = m.fov_mm;
  d["affine"] = to_affine(m.geometry);
  d["sample_times"] = to_numpy(Array<float>::copy_of(
      View<const float>(m.sample_times_s.data(), {static_cast<Index>(m.sample_times_s.size())})));
  nb::dict label;
  label["repetition"] = m.label.repetition;
  label["set"] = m.label.set;
  label["phase"] = m.label.phase;
  label["contrast"] = m.label.contrast;
  label["slice"] = m.label.slice;
  d["label"] = label;
  d["kspace"] = to_numpy(std::move(m.kspace));
  return d;
}

nb::tuple read_scan(const std::string& path, const std::string& trajectory, const std::string& units,
                    nb::handle matrix, const std::string& group, std::optional<int> encoding,
                    bool merge_repetitions) {
  LoadScanOptions options{
      .trajectory = trajectory, .group = group, .encoding = encoding, .merge_repetitions = merge_repetitions};
  if (!units.empty()) options.unit = parse_trajectory_unit(units);
  if (!matrix.is_none()) options.matrix = to_shape(matrix, "matrix");
  LongCall call;
  options.log = call.log();
  Assembled scan = call.run([&] { return load_scan(path, options); });
  nb::list measurements;
  for (Measurement& m : scan.measurements) measurements.append(describe(std::move(m)));
  return nb::make_tuple(measurements, scan.noise.empty() ? nb::none() : to_numpy(std::move(scan.noise)),
                        scan.report.text());
}

void write_scan(const std::string& path, nb::handle kspace, nb::handle trajectory, nb::handle matrix,
                const std::string& units, const std::vector<double>& fov_mm, nb::handle noise,
                double sample_time_us, const std::string& kind, nb::handle affine, bool overwrite) {
  if (!path.ends_with(".mrd") && !path.ends_with(".h5"))
    throw ArgumentError(path + ": a scan is written as MRD, expected a name that ends in .mrd or .h5");
  const GivenTrajectory given(trajectory, matrix, units);
  Input<cfloat> samples(kspace, "kspace");
  std::optional<Input<cfloat>> noise_samples;
  if (!noise.is_none()) noise_samples.emplace(noise, "noise");
  ScanDescription scan;
  scan.geometry = to_geometry(affine);
  scan.fov_mm = fov_mm;
  scan.kind = kind;
  scan.sample_time_us = scan.noise_sample_time_us = sample_time_us;
  const Shape lines = given.samples();
  if (!lines.empty()) scan.samples_per_line = lines.back();
  if (scan.geometry.is_known) scan.slice_thickness_mm = scan.geometry.voxel_size()[2];
  LongCall call;
  call.run([&] {
    const PlacedTrajectory t = given.place(call.log());
    scan.trajectory = t.trajectory.get();
    scan.matrix = t.matrix;
    const View<const cfloat> y = samples.view();
    const Shape per_coil(y.shape.begin() + (y.shape.size() == lines.size() + 1 ? 1 : 0), y.shape.end());
    require_shape("write_scan", "kspace (of a coil)", per_coil, lines);
    const Index coils = y.shape.size() == lines.size() + 1 ? y.shape[0] : 1;
    scan.kspace = y.reshaped({coils, t.trajectory->samples()});
    if (noise_samples) {
      scan.noise = noise_samples->view();
      if (scan.noise.shape.size() != 2 || scan.noise.shape[0] != coils)
        throw ShapeError("write_scan: noise has shape " + spinloom::to_string(scan.noise.shape) +
                         ", expected [" + std::to_string(coils) + ", samples]");
    }
    write_mrd(path, make_raw_scan(scan), existing(overwrite));
  });
}

}  // namespace

void bind_io(nb::module_& m) {
  nb::class_<HeldHeader>(m, "NiftiHeader");
  m.def("read", &read, nb::arg("path"), nb::arg("group"));
  m.def("write", &write, nb::arg("path"), nb::arg("data").none(), nb::arg("affine").none(),
        nb::arg("time_step"), nb::arg("header").none(), nb::arg("stored_type"), nb::arg("overwrite"));
  m.def("read_scan", &read_scan, nb::arg("path"), nb::arg("trajectory").none(), nb::arg("units"),
        nb::arg("matrix").none(), nb::arg("group"), nb::arg("encoding").none(), nb::arg("merge_repetitions"));
  m.def("write_scan", &write_scan, nb::arg("path"), nb::arg("kspace").none(), nb::arg("trajectory").none(),
        nb::arg("matrix").none(), nb::arg("units"), nb::arg("fov_mm"), nb::arg("noise").none(),
        nb::arg("sample_time_us"), nb::arg("kind"), nb::arg("affine").none(), nb::arg("overwrite"));
}

}  // namespace spinloom::python
