#include <algorithm>

#include "fourier/cpu/dft.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

template <class Real>
class Forward {
 public:
  using Complex = std::complex<Real>;
  Forward(const DftOperands<Real>& operands, const Trajectory& k, View<const Complex> image,
          View<Complex> kspace)
      : operands_(operands),
        plan_(operands.plan()),
        kernels_(operands.kernels()),
        k_(k),
        image_(image),
        kspace_(kspace),
        coils_(image.shape[0]) {
    panel_rows_ = kernels_.tile_rows / 2;
    panels_ = ceil_div(plan_.rows * coils_, panel_rows_);
    panel_size_ = kernels_.tile_rows * dft_chunk;
  }

  void run() {
    // Bounds of the packed image and of the sums in double; many samples per pass make packing cheap beside
    // its use.
    constexpr Index most_packed = Index{8} << 20, most_samples = 128 * dft_chunk;
    const Index wave = std::clamp<Index>(most_packed / panel_size_, 1, panels_);
    const Index samples = ceil_div(std::min(k_.samples(), most_samples), dft_chunk) * dft_chunk;
    if (samples == 0) return;
    // Few samples leave few chunks to share out: the rows are then cut too, in a number of parts set by sizes
    // alone.
    constexpr Index enough_tasks = 64;
    const Index parts = std::min(ceil_div(enough_tasks, samples / dft_chunk), wave);
    packed_ = Array<Real>({wave, panel_size_});
    sums_ = Array<double>({parts, coils_, 2, samples});
    for (Index first = 0; first < k_.samples(); first += samples) {
      const Index chunks = ceil_div(std::min(samples, k_.samples() - first), dft_chunk);
      std::fill(sums_.begin(), sums_.end(), 0.0);
      for (Index panel = 0; panel < panels_; panel += wave) {
        const Index panels = std::min(wave, panels_ - panel), part = ceil_div(panels, parts);
        if (first == 0 || wave < panels_)
          parallel_blocks(panels, 16, [&](Index begin, Index end, int) {
            for (Index p = begin; p < end; ++p) pack(panel + p, packed_.data() + p * panel_size_);
          });
        parallel_blocks(chunks * parts, 1, [&](Index task, Index, int) {
          const Index chunk = task / parts, begin = task % parts * part, end = std::min(panels, begin + part);
          double* sums = sums_.data() + (task % parts * coils_ * 2) * samples + chunk * dft_chunk;
          if (begin < end) accumulate(first + chunk * dft_chunk, panel, begin, end, samples, sums);
        });
      }
      parallel_blocks(chunks, 1, [&](Index chunk, Index, int) { finish(first, chunk, parts, samples); });
    }
  }

 private:
  /// Row (block, coil): x[o] + x[-o] against the cosines, -i (x[o] - x[-o]) against the sines.
  void pack(Index panel, Real* packed) const {
    std::fill_n(packed, panel_size_, Real(0));
    for (Index q = 0; q < panel_rows_; ++q) {
      const Index row = panel * panel_rows_ + q;
      if (row >= plan_.rows * coils_) return;
      Real* re = packed + 2 * q * dft_chunk;
      Real* im = re + dft_chunk;
      const Complex* x = image_.data + row % coils_ * (image_.size() / coils_);
      for_each_voxel(plan_, row / coils_, [&](Index position, Index voxel) {
        const Index mirrored = plan_.columns - 1 - position, j = std::min(position, mirrored);
        const Real real = x[voxel].real(), imag = x[voxel].imag();
        re[j] += real;
        im[j] += imag;
        if (position == mirrored) return;
        const Real sign = position < mirrored ? Real(1) : Real(-1);
        re[plan_.cosines + j] += sign * imag;
        im[plan_.cosines + j] -= sign * real;
      });
    }
  }

  void accumulate(Index first, Index panel, Index begin, Index end, Index samples_stride,
                  double* sums) const {
    const DftSamples samples(k_, first);
    const Index width = kernels_.tile_columns, strips = ceil_div(samples.count, width);
    Array<Real> table({operands_.row_table_size()}), columns({plan_.columns, dft_chunk});
    Array<Real> packed({dft_chunk / width, plan_.columns, width}), unit({panel_rows_, 2, dft_chunk});
    operands_.fill_row_table(samples, table.data());
    operands_.fill_columns(samples, columns.data());
    for (Index s = 0; s < strips; ++s)
      for (Index c = 0; c < plan_.columns; ++c)
        std::copy_n(columns.data() + c * dft_chunk + s * width, width,
                    packed.data() + (s * plan_.columns + c) * width);

    alignas(64) Real t[most_tile];
    for (Index p = begin; p < end; ++p) {
      const Index first_row = (panel + p) * panel_rows_;
      const Index rows = std::min(panel_rows_, plan_.rows * coils_ - first_row);
      const Index first_block = first_row / coils_, last_block = (first_row + rows - 1) / coils_;
      for (Index b = first_block; b <= last_block; ++b) {
        operands_.row(table.data(), b, samples.length, unit.data() + (b - first_block) * 2 * dft_chunk);
      }
      for (Index s = 0; s < strips; ++s) {
        kernels_.tile(packed_.data() + p * panel_size_, packed.data() + s * plan_.columns * width,
                      plan_.columns, t);
        for (Index q = 0; q < rows; ++q) {
          const Real* u = unit.data() + ((first_row + q) / coils_ - first_block) * 2 * dft_chunk + s * width;
          double* sum = sums + 2 * ((first_row + q) % coils_) * samples_stride + s * width;
          kernels_.add_product_conj(t + 2 * q * width, t + (2 * q + 1) * width, u, u + dft_chunk, sum,
                                    sum + samples_stride);
        }
      }
    }
  }

  void finish(Index first, Index chunk, Index parts, Index samples_stride) const {
    const DftSamples samples(k_, first + chunk * dft_chunk);
    alignas(64) Real base[2 * dft_chunk];
    operands_.fill_base(samples, base);
    for (Index c = 0; c < coils_; ++c) {
      Complex* y = kspace_.data + c * k_.samples() + first + chunk * dft_chunk;
      for (Index m = 0; m < samples.count; ++m) {
        double re = 0, im = 0;
        for (Index part = 0; part < parts; ++part) {
          const double* sum =
              sums_.data() + ((part * coils_ + c) * 2) * samples_stride + chunk * dft_chunk + m;
          re += sum[0];
          im += sum[samples_stride];
        }
        const double br = base[m], bi = base[dft_chunk + m];
        y[m] = Complex(static_cast<Real>(re * br + im * bi), static_cast<Real>(im * br - re * bi));
      }
    }
  }

  static constexpr Index most_tile = 12 * 2 * 64 / Index{sizeof(Real)};

  const DftOperands<Real>& operands_;
  const DftPlan& plan_;
  const DftKernels<Real>& kernels_;
  const Trajectory& k_;
  View<const Complex> image_;
  View<Complex> kspace_;
  Index coils_, panel_rows_, panels_, panel_size_;
  Array<Real> packed_;  // [panels of a wave][tile rows][columns]
  Array<double> sums_;  // [parts][coils][re, im][samples of a pass]
};

}  // namespace

template <class Real>
void dft_forward(const DftOperands<Real>& operands, const Trajectory& k, View<const std::complex<Real>> image,
                 View<std::complex<Real>> kspace) {
  Forward<Real>(operands, k, image, kspace).run();
}

template void dft_forward(const DftOperands<float>&, const Trajectory&, View<const cfloat>, View<cfloat>);
template void dft_forward(const DftOperands<double>&, const Trajectory&, View<const cdouble>, View<cdouble>);

}  // namespace spinloom::cpu
