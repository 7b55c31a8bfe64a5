"""A measured radial scan of a head, from its file to NIfTI.

    python examples/02_reconstruct_scan.py [SCAN] [IMAGE]

Without arguments: the scan in data/, to brain.nii.gz in the current folder; prints how close it is to the truth.
"""

import sys
from pathlib import Path

import spinloom

data = Path(__file__).resolve().parents[1] / "data"
scan = sys.argv[1] if len(sys.argv) > 1 else data / "brain_radial_96spokes_8coils.mrd"
output = sys.argv[2] if len(sys.argv) > 2 else "brain.nii.gz"

result = spinloom.recon_file(scan, output, overwrite=True)
for line in result.report:
    print(line)
c = result.convergence[0]
print(f"{output}: {list(result.image.shape)}, {c.iterations} iterations, residual {c.residual:.1e} ({c.reason})")

if len(sys.argv) == 1:
    truth = spinloom.io.read(data / "brain_truth.nii.gz").data.reshape(result.image.shape)
    quality = spinloom.compare(result.image, truth, scale=True)
    print(f"PSNR {quality.psnr_db:.1f} dB, SSIM {quality.ssim:.3f}")
    assert quality.psnr_db > 40
