"""Scans of objects that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from . import _core
from .linear_operators import Matrix

__all__ = ["SimulatedScan", "simulate"]


@dataclass(frozen=True, eq=False)
class SimulatedScan:
    """What a scanner would have measured, and what it measured it of."""

    kspace: np.ndarray
    """[coils, samples...], complex64, noise included."""
    maps: np.ndarray
    """[coils, matrix], complex64: the sensitivities that the data were made with."""
    truth: np.ndarray
    """[matrix], complex128: the best image that the scan can give, band-limited to what its trajectory covers."""
    noise: np.ndarray | None
    """[coils, n] of a noise scan, or None without noise."""
    sigma: float
    """Standard deviation of the complex noise in each coil."""
    snr_db: float | None
    """Mean |k-space|^2 over the noise's variance [dB]; None without noise."""
    coil_fit_residual: float
    """Relative distance of the coils from the loops of wire that they were fitted to."""


def simulate(
    phantom: str | PathLike[str] | Any,
    trajectory: Any,
    matrix: Matrix | None = None,
    *,
    coils: int = 8,
    noise: float = 0.0,
    snr_db: float | None = None,
    seed: int = 1,
    support: str | None = None,
    units: str = "cycles-per-fov",
    device: str = "auto",
    progress: Callable[[str, float, str], Any] | None = None,
) -> SimulatedScan:
    """The raw data that a scan of a known object would give, in closed form or by the exact sums in double.

    y[c, m] = sum_n s[c, n] rho[n] exp(-2 pi i k[m].r[n]) + noise,  unscaled: y at k = 0 is the sum of the voxels

    phantom     "shepp-logan", a .json file of ellipsoids, or an image [matrix] (float or complex) to scan as it is
    trajectory  [samples..., dims], dims 2 or 3; see spinloom.trajectories
    matrix      voxels, (y, x) or (z, y, x); an image brings its own
    coils       loops around the object; 1 is a uniform coil
    noise       standard deviation of the complex noise in each coil [units of k-space], or by snr_db
    support     what of k-space the trajectory covers, for the truth: "ellipsoid", "cylinder" or "box"; None finds the
                smallest that holds all samples
    device      "auto" (the first GPU if there is a usable one), "cpu" or "cuda[:N]": where the samples are computed, from
                arrays of the host to arrays of the host
    progress    called as progress(stage, fraction, detail)
    Errors      ShapeError, ArgumentError; FileError and FormatError for a phantom's file
    """
    if noise and snr_db is not None:
        raise ValueError(f"noise = {noise} and snr_db = {snr_db} say the same in two ways; give one of them")
    if isinstance(phantom, PathLike):
        phantom = fspath(phantom)
    if matrix is None:
        if isinstance(phantom, str):
            raise ValueError(f"matrix is missing: '{phantom}' says nothing of a number of voxels")
        matrix = tuple(phantom.shape)
    return SimulatedScan(
        *_core.simulate(phantom, trajectory, matrix, support or "", units, coils, noise, snr_db, seed, device, progress)
    )
