#include <algorithm>

#include "fourier/cpu/dft.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

template <class Real>
class Adjoint {
 public:
  using Complex = std::complex<Real>;
  Adjoint(const DftOperands<Real>& operands, const Trajectory& k, View<const Complex> kspace,
          View<Complex> image)
      : operands_(operands),
        plan_(operands.plan()),
        kernels_(operands.kernels()),
        k_(k),
        kspace_(kspace),
        image_(image),
        coils_(kspace.shape[0]) {
    panel_rows_ = kernels_.tile_rows / 2;
    panels_ = ceil_div(plan_.rows * coils_, panel_rows_);
    strips_ = ceil_div(plan_.columns, kernels_.tile_columns);
    tile_ = kernels_.tile_rows * kernels_.tile_columns;
    base_start_ = operands_.row_table_size();
    strip_start_ = base_start_ + 2 * coils_ * dft_chunk;
    chunk_size_ = strip_start_ + strips_ * dft_chunk * kernels_.tile_columns;
  }

  void run() {
    // Sums in double take twice the image; waves of panels keep them, and passes of chunks their operands,
    // bounded.
    constexpr Index most_sums = Index{1} << 22, most_operands = Index{12} << 20, most_chunks = 32;
    const Index wave = std::clamp<Index>(most_sums / (strips_ * tile_), 1, panels_);
    const Index chunks = ceil_div(k_.samples(), dft_chunk);
    const Index pass = std::clamp<Index>(std::min(most_operands / chunk_size_, chunks), 1, most_chunks);
    sums_ = Array<double>({wave, strips_, tile_});
    chunk_data_ = Array<Real>({pass, chunk_size_});
    for (Index first = 0; first < panels_; first += wave) {
      const Index panels = std::min(wave, panels_ - first);
      // Blocks of panels reuse the columns from the level 2 cache; fewer at a time where the image is small.
      const Index grain = std::clamp<Index>(panels / 64, 1, 4);
      std::fill_n(sums_.data(), panels * strips_ * tile_, 0.0);
      for (Index chunk = 0; chunk < chunks; chunk += pass) {
        const Index count = std::min(pass, chunks - chunk);
        parallel_blocks(
            count, 1, [&](Index c, Index, int) { prepare(chunk + c, chunk_data_.data() + c * chunk_size_); });
        parallel_blocks(panels, grain, [&](Index begin, Index end, int) {
          Array<Real> scratch({kernels_.tile_rows + 2, dft_chunk});
          for (Index c = 0; c < count; ++c)
            for (Index p = begin; p < end; ++p)
              accumulate(first + p, chunk + c, chunk_data_.data() + c * chunk_size_,
                         sums_.data() + p * strips_ * tile_, scratch);
        });
      }
      parallel_blocks(panels, grain, [&](Index begin, Index end, int) {
        for (Index p = begin; p < end; ++p) finish(first + p, sums_.data() + p * strips_ * tile_);
      });
    }
  }

 private:
  /// Everything of a chunk that the panels share: row factors, data with the common factor, columns packed in
  /// strips.
  void prepare(Index chunk, Real* data) const {
    const DftSamples samples(k_, chunk * dft_chunk);
    operands_.fill_row_table(samples, data);

    alignas(64) Real base[2 * dft_chunk];
    operands_.fill_base(samples, base);
    for (Index c = 0; c < coils_; ++c) {
      Real* re = data + base_start_ + 2 * c * dft_chunk;
      Real* im = re + dft_chunk;
      const Complex* y = kspace_.data + c * k_.samples() + chunk * dft_chunk;
      for (Index m = 0; m < samples.length; ++m) {
        re[m] = m < samples.count ? y[m].real() : Real(0);
        im[m] = m < samples.count ? y[m].imag() : Real(0);
      }
      kernels_.multiply(base, re, samples.length, re);
    }

    Array<Real> columns({plan_.columns, dft_chunk});
    operands_.fill_columns(samples, columns.data());
    const Index width = kernels_.tile_columns;
    for (Index s = 0; s < strips_; ++s) {
      Real* strip = data + strip_start_ + s * dft_chunk * width;
      const Index used = std::min(width, plan_.columns - s * width);
      for (Index m = 0; m < samples.count; ++m) {
        for (Index j = 0; j < used; ++j) strip[m * width + j] = columns[(s * width + j) * dft_chunk + m];
        std::fill(strip + m * width + used, strip + (m + 1) * width, Real(0));
      }
    }
  }

  void accumulate(Index panel, Index chunk, const Real* data, double* sums, Array<Real>& scratch) const {
    const Index depth = std::min(dft_chunk, k_.samples() - chunk * dft_chunk),
                length = ceil_div(depth, 32) * 32;
    Real* unit = scratch.data() + kernels_.tile_rows * dft_chunk;
    Index block = -1;
    for (Index q = 0; q < panel_rows_; ++q) {
      Real* a = scratch.data() + 2 * q * dft_chunk;
      const Index row = panel * panel_rows_ + q;
      if (row >= plan_.rows * coils_) {
        std::fill_n(a, 2 * dft_chunk, Real(0));
        continue;
      }
      // Coils of a block follow each other and share its factor.
      if (row / coils_ != block) {
        block = row / coils_;
        operands_.row(data, block, length, unit);
      }
      kernels_.multiply(unit, data + base_start_ + 2 * (row % coils_) * dft_chunk, length, a);
    }
    alignas(64) Real c[most_tile];
    for (Index s = 0; s < strips_; ++s) {
      kernels_.tile(scratch.data(), data + strip_start_ + s * dft_chunk * kernels_.tile_columns, depth, c);
      kernels_.add(c, tile_, sums + s * tile_);
    }
  }

  /// x[o] = C_cos + i C_sin and x[-o] = C_cos - i C_sin.
  void finish(Index panel, const double* sums) const {
    const Index width = kernels_.tile_columns;
    const auto at = [&](Index r, Index j) { return sums[j / width * tile_ + r * width + j % width]; };
    for (Index q = 0; q < panel_rows_; ++q) {
      const Index row = panel * panel_rows_ + q;
      if (row >= plan_.rows * coils_) return;
      Complex* x = image_.data + row % coils_ * (image_.size() / coils_);
      for_each_voxel(plan_, row / coils_, [&](Index position, Index voxel) {
        const Index mirrored = plan_.columns - 1 - position, j = std::min(position, mirrored);
        double re = at(2 * q, j), im = at(2 * q + 1, j);
        if (position != mirrored) {
          const double sign = position < mirrored ? 1 : -1;
          re -= sign * at(2 * q + 1, plan_.cosines + j);
          im += sign * at(2 * q, plan_.cosines + j);
        }
        x[voxel] = Complex(static_cast<Real>(re), static_cast<Real>(im));
      });
    }
  }

  static constexpr Index most_tile = 12 * 2 * 64 / Index{sizeof(Real)};

  const DftOperands<Real>& operands_;
  const DftPlan& plan_;
  const DftKernels<Real>& kernels_;
  const Trajectory& k_;
  View<const Complex> kspace_;
  View<Complex> image_;
  Index coils_, panel_rows_, panels_, strips_, tile_;
  Index base_start_, strip_start_, chunk_size_;
  Array<double> sums_;      // [panels of a wave][strips][tile]
  Array<Real> chunk_data_;  // [chunks of a pass][row table | data of each coil | columns]
};

}  // namespace

template <class Real>
void dft_adjoint(const DftOperands<Real>& operands, const Trajectory& k,
                 View<const std::complex<Real>> kspace, View<std::complex<Real>> image) {
  Adjoint<Real>(operands, k, kspace, image).run();
}

template void dft_adjoint(const DftOperands<float>&, const Trajectory&, View<const cfloat>, View<cfloat>);
template void dft_adjoint(const DftOperands<double>&, const Trajectory&, View<const cdouble>, View<cdouble>);

}  // namespace spinloom::cpu
