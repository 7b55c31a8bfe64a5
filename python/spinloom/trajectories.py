"""Trajectories, in cycles per field of view: arrays [readouts, samples per readout, dims], float64.

Columns are in the order of the image's axes: (ky, kx) or (kz, ky, kx). |k| <= N / 2 on each axis of any matrix, odd and
anisotropic ones too. A count of 0 asks for the number that samples at the Nyquist rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from .linear_operators import Matrix

__all__ = [
    "cartesian",
    "cones",
    "radial2d",
    "radial3d",
    "random",
    "spiral2d",
    "stack_of_spirals",
    "stack_of_stars",
]


def _make(kind: str, matrix: Matrix, options: dict[str, Any]) -> np.ndarray:
    columns: np.ndarray = _core.make_trajectory(kind, matrix, options)[0]
    return columns


def radial2d(
    matrix: Matrix,
    spokes: int = 0,
    readout: int = 0,
    *,
    golden: bool = False,
    tiny: int = 1,
    half_spokes: bool = False,
    sample_centre: bool = False,
) -> np.ndarray:
    """Spokes in the plane (y, x), at uniform angles or by the golden angle.

    tiny           with golden: the n-th tiny golden angle, pi / (phi + n - 1); 1 is 111.25 degrees
    half_spokes    from the centre outwards instead of diameters
    sample_centre  every spoke samples k = 0 itself, instead of half a step beside it
    Source   Winkelmann et al. 2007, IEEE Trans. Med. Imaging 26(1):68; Wundrak et al. 2016, Magn. Reson. Med. 75:2372
    """
    return _make("radial2d", matrix, _radial(spokes, readout, golden, tiny, half_spokes, sample_centre))


def radial3d(
    matrix: Matrix,
    spokes: int = 0,
    readout: int = 0,
    *,
    golden: bool = False,
    half_spokes: bool = False,
    sample_centre: bool = False,
) -> np.ndarray:
    """Spokes in (z, y, x): the Fibonacci lattice, or the two-dimensional golden means.

    Source   Chan et al. 2009, Magn. Reson. Med. 61:354
    """
    return _make("radial3d", matrix, _radial(spokes, readout, golden, 1, half_spokes, sample_centre))


def stack_of_stars(
    matrix: Matrix,
    spokes: int = 0,
    readout: int = 0,
    *,
    golden: bool = False,
    tiny: int = 1,
    half_spokes: bool = False,
    sample_centre: bool = False,
    rotate_partitions: bool = False,
) -> np.ndarray:
    """radial2d() in every plane kz = -floor(Nz / 2) ...; rotate_partitions turns each by one more golden angle."""
    options = _radial(spokes, readout, golden, tiny, half_spokes, sample_centre)
    return _make("stack_of_stars", matrix, {**options, "rotate_partitions": rotate_partitions})


def spiral2d(
    matrix: Matrix,
    interleaves: int = 0,
    readout: int = 0,
    *,
    alpha: float = 1.0,
    turns: float = 0.0,
    oversampling: float = 2.0,
) -> np.ndarray:
    """Spirals of radius tau^alpha at constant speed along the arc.

    alpha         1 is Archimedean, above it the centre is denser
    turns         of one spiral; 0: arms 0.8 cycles apart at the rim
    oversampling  samples per cycle along the spiral
    """
    return _make("spiral2d", matrix, _spiral(interleaves, readout, alpha, turns, oversampling))


def stack_of_spirals(
    matrix: Matrix,
    interleaves: int = 0,
    readout: int = 0,
    *,
    alpha: float = 1.0,
    turns: float = 0.0,
    oversampling: float = 2.0,
    rotate_partitions: bool = False,
) -> np.ndarray:
    """spiral2d() in every plane kz = -floor(Nz / 2) ..."""
    options = _spiral(interleaves, readout, alpha, turns, oversampling)
    return _make("stack_of_spirals", matrix, {**options, "rotate_partitions": rotate_partitions})


def cones(
    matrix: Matrix, cones: int = 0, interleaves: int = 0, readout: int = 0, *, oversampling: float = 2.0
) -> np.ndarray:
    """Spirals on cones in (z, y, x); interleaves on the equator's cone, fewer towards the poles.

    Source   Gurney, Hargreaves & Nishimura 2006, Magn. Reson. Med. 55:575
    """
    return _make(
        "cones",
        matrix,
        {"cones": cones, "interleaves": interleaves, "readout": readout, "oversampling": oversampling},
    )


def cartesian(
    matrix: Matrix,
    readout: int = 0,
    *,
    acceleration_y: int = 1,
    acceleration_z: int = 1,
    calibration: int = 0,
) -> np.ndarray:
    """Lines along x on the grid k = n - floor(N / 2); every n-th is measured, and those around the centre always."""
    return _make(
        "cartesian",
        matrix,
        {
            "readout": readout,
            "acceleration_y": acceleration_y,
            "acceleration_z": acceleration_z,
            "calibration": calibration,
        },
    )


def random(matrix: Matrix, readouts: int = 0, readout: int = 0, *, power: float = 0.0, seed: int = 1) -> np.ndarray:
    """Samples drawn independently: even in the box, or of density |k|^-power in the ellipsoid."""
    return _make("random", matrix, {"readouts": readouts, "readout": readout, "power": power, "seed": seed})


def _radial(spokes: int, readout: int, golden: bool, tiny: int, half: bool, centre: bool) -> dict[str, Any]:
    if tiny != 1 and not golden:
        raise ValueError(f"tiny = {tiny} has a meaning with golden=True only")
    return {
        "spokes": spokes,
        "readout": readout,
        "golden": golden,
        "tiny": tiny,
        "half_spokes": half,
        "sample_centre": centre,
    }


def _spiral(interleaves: int, readout: int, alpha: float, turns: float, oversampling: float) -> dict[str, Any]:
    return {
        "interleaves": interleaves,
        "readout": readout,
        "alpha": alpha,
        "turns": turns,
        "oversampling": oversampling,
    }
