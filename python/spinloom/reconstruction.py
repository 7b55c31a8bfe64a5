"""From k-space to images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Union

import numpy as np

from . import _core
from ._arrays import like
from .linear_operators import Matrix

__all__ = ["Convergence", "FileReconstruction", "Reconstruction", "recon", "recon_file"]

Path = Union[str, "PathLike[str]"]
ProgressFunction = Callable[[str, float, str], Any]


@dataclass(frozen=True)
class Convergence:
    """What the iterations went through; for gridding 0 iterations and no residual."""

    iterations: int
    residual: float
    """|E^H y - (E^H E + lambda R) rho| / |E^H y| of the image returned."""
    converged: bool
    reason: str
    """Why it stopped, in words."""
    history: list[float]
    lambda_absolute: float
    largest_eigenvalue: float
    """Of E^H E; 0 when no lambda asked for it."""
    notes: list[str]
    """What was chosen where nothing was asked for."""
    seconds: dict[str, float]
    """maps, plan, upload, rhs, solve, download."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """What recon() made."""

    image: Any
    """[matrix], complex64."""
    maps: Any
    """[coils, matrix]: those used."""
    convergence: Convergence
    verification: dict[str, float] | None
    """With verify=True: relative errors against the exact sums in double, and the adjoint gap."""


@dataclass(frozen=True, eq=False)
class FileReconstruction:
    """What recon_file() made."""

    image: np.ndarray
    """[z, y, x] or [frames, z, y, x]; complex64, or float32 when the magnitude was asked for."""
    affine: np.ndarray
    """4 x 4: world [mm] = affine @ (x, y, z, 1)"""
    maps: np.ndarray
    """Those of the first image."""
    convergence: list[Convergence]
    """One for each image of the scan."""
    verification: dict[str, float] | None
    report: list[str]
    """What became of the file's lines, in words."""


def recon(
    kspace: Any,
    trajectory: Any,
    matrix: Matrix,
    maps: Any = None,
    *,
    method: str = "cg",
    operator: str = "toeplitz",
    tolerance: float = 1e-4,
    iterations: int = 50,
    stop: float = 1e-3,
    regularisation: str | None = None,
    lambda_: float | None = None,
    combine: str = "sense",
    calibration_radius: float = 0.0,
    map_window: int = 3,
    start: str = "zero",
    coil_batch: int = 0,
    noise: Any = None,
    voxel_size: Sequence[float] | None = None,
    units: str = "cycles-per-fov",
    verify: bool = False,
    device: str = "auto",
    progress: ProgressFunction | None = None,
) -> Reconstruction:
    """Reconstructs an image from k-space along a trajectory.

    rho = argmin |E rho - y|^2 + lambda |E^H E| R(rho),   R = |rho|^2 (tikhonov) or |D rho|^2 (laplacian)

    kspace         y [coils, samples...] or [samples...], complex64
    trajectory     [samples..., dims], float32 or float64, columns (ky, kx) or (kz, ky, kx)
    matrix         voxels: (y, x) or (z, y, x)
    maps           sensitivities [coils, matrix], complex64; None estimates them from the centre of k-space, "ones"
                   takes every coil to see the same image
    method         "cg" (iterative SENSE), or "gridding" (density-compensated adjoint)
    operator       "toeplitz", "nufft" or "dft" (exact), to a relative error of ``tolerance``
    iterations     limit; ``stop`` is the relative residual of the normal equations to stop at
    regularisation "tikhonov" (the default when lambda_ is given), "laplacian" or "none"
    lambda_        its weight, relative to the largest eigenvalue of E^H E (1e-3 when a regularisation is given alone)
    combine        "sense", or "rss": every coil alone, then the root sum of squares
    noise          [coils, n] of a noise scan, complex64: coils are whitened by it
    voxel_size     per axis of the matrix [mm], for the laplacian
    units          of the trajectory: "cycles-per-fov", "cycles-per-pixel" or "radians"
    verify         compares the operator with the exact sums in double on a random subset
    device         "auto" (the first GPU if there is a usable one that has the memory), "cpu" or "cuda[:N]"; arrays are
                   those of the host, and for arrays on a GPU there are spinloom.Encoding and spinloom.cg
    progress       called as progress(stage, fraction, detail); an exception of it stops, and goes through
    Scaling        E is unitary-scaled (see spinloom.Encoding), so images are sqrt(voxels) times those of unscaled data
    Errors         ShapeError, ArgumentError, FormatError (all ValueErrors); NotConverged; TypeError for element types
    """
    options = _options(locals())
    size = [float(v) for v in voxel_size] if voxel_size is not None else []
    image, used, info, verification = _core.recon(
        kspace, trajectory, matrix, maps, noise, units, size, verify, options, progress
    )
    return Reconstruction(like(image, kspace), like(used, kspace), Convergence(**info), verification)


def recon_file(
    scan: Path,
    output: Path | None = None,
    maps: Any = None,
    *,
    method: str = "cg",
    operator: str = "toeplitz",
    tolerance: float = 1e-4,
    iterations: int = 50,
    stop: float = 1e-3,
    regularisation: str | None = None,
    lambda_: float | None = None,
    combine: str = "sense",
    calibration_radius: float = 0.0,
    map_window: int = 3,
    start: str = "zero",
    coil_batch: int = 0,
    trajectory: Path | None = None,
    units: str | None = None,
    matrix: Matrix | None = None,
    group: str = "",
    encoding: int | None = None,
    merge_repetitions: bool = False,
    whitening: bool = True,
    magnitude: bool | None = None,
    verify: bool = False,
    overwrite: bool = False,
    device: str = "auto",
    progress: ProgressFunction | None = None,
) -> FileReconstruction:
    """Reconstructs all images of a scan's file, as ``spinloom recon`` does.

    scan       MRD (.h5, .mrd), BART cfl or npy k-space
    output     image to write: .nii.gz, .nii, .npy, .cfl or .png; None writes nothing
    maps       as in recon(), or a file's name
    trajectory, units, matrix, group, encoding, merge_repetitions   as in spinloom.io.read_scan()
    whitening  by the scan's noise lines, where it has any
    magnitude  True, False, or None: magnitude for files other than .npy and .cfl, complex otherwise
    overwrite  replaces an output that exists; without, FileError before any work
    Others     as in recon()
    """
    options = _options(locals())
    output = fspath(output) if output is not None else ""
    if magnitude is None:
        magnitude = bool(output) and not output.endswith((".npy", ".cfl"))
    load = {
        "trajectory": fspath(trajectory) if trajectory is not None else "",
        "units": units or "",
        "matrix": matrix,
        "group": group,
        "encoding": encoding,
        "merge_repetitions": merge_repetitions,
    }
    if isinstance(maps, PathLike):
        maps = fspath(maps)
    image, used, infos, verification, affine, report = _core.recon_file(
        fspath(scan), output, maps, load, whitening, magnitude, verify, overwrite, options, progress
    )
    return FileReconstruction(image, affine, used, [Convergence(**i) for i in infos], verification, report)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """What both functions hand down, with the rules of the command line for regularisation and lambda."""
    names = "method operator tolerance iterations stop combine calibration_radius map_window start coil_batch device"
    options = {name: given[name] for name in names.split()}
    kind, weight = given["regularisation"], given["lambda_"]
    if kind == "none" and weight:
        raise ValueError(f"lambda_ = {weight} has no meaning with regularisation='none'")
    if kind is None:
        kind = "tikhonov" if weight else "none"
    if weight is None:
        weight = 0.0 if kind == "none" else 1e-3
    if weight == 0:
        kind = "none"
    if given["combine"] == "rss" and given["maps"] is not None:
        raise ValueError("maps have no meaning with combine='rss'")
    return {**options, "regularisation": kind, "lambda_": float(weight)}
