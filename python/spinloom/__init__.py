"""spinloom: measured signals to images. Non-Cartesian MRI reconstruction, non-uniform Fourier transforms and files.

Arrays are in C order with the last axis x: images [z, y, x], coils first, k-space [coils, samples...], trajectories
[samples..., dims] in cycles per field of view with columns in the order of the image's axes. Transforms are unscaled
unless they say otherwise, and an adjoint is the exact conjugate transpose. Results are the same to the last bit for any
number of threads.
"""

from . import io, nufft, stencil, trajectories
from ._core import version as __version__
from .denoising import denoise_nl_means, estimate_sigma
from .errors import (
    ArgumentError,
    BackendUnavailable,
    DeviceError,
    Error,
    FileError,
    FormatError,
    Interrupted,
    NotConverged,
    ShapeError,
    SpinloomWarning,
)
from .linear_operators import Encoding, Identity, LinearOperator, NormalOperator, Nufft
from .mri import density_compensation, estimate_coil_maps, root_sum_of_squares
from .quality import Quality, compare
from .reconstruction import (
    Convergence,
    FileReconstruction,
    Reconstruction,
    recon,
    recon_file,
)
from .runtime import info, set_threads, threads
from .simulation import SimulatedScan, simulate
from .solve import CgInfo, CgResult, PoissonInfo, PoissonResult, cg, largest_eigenvalue, poisson

__all__ = [
    "ArgumentError",
    "BackendUnavailable",
    "CgInfo",
    "CgResult",
    "Convergence",
    "DeviceError",
    "Encoding",
    "Error",
    "FileError",
    "FileReconstruction",
    "FormatError",
    "Identity",
    "Interrupted",
    "LinearOperator",
    "NormalOperator",
    "NotConverged",
    "Nufft",
    "PoissonInfo",
    "PoissonResult",
    "Quality",
    "Reconstruction",
    "ShapeError",
    "SimulatedScan",
    "SpinloomWarning",
    "__version__",
    "cg",
    "compare",
    "denoise_nl_means",
    "density_compensation",
    "estimate_coil_maps",
    "estimate_sigma",
    "info",
    "io",
    "largest_eigenvalue",
    "nufft",
    "poisson",
    "recon",
    "recon_file",
    "root_sum_of_squares",
    "set_threads",
    "simulate",
    "stencil",
    "threads",
    "trajectories",
]
