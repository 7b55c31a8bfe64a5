"""Density compensation and coils."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arrays import like
from .linear_operators import Matrix

__all__ = ["density_compensation", "estimate_coil_maps", "root_sum_of_squares"]


def density_compensation(
    trajectory: Any,
    matrix: Matrix,
    *,
    iterations: int = 10,
    support: str | None = None,
    volume: float = 0.0,
    units: str = "cycles-per-fov",
) -> Any:
    """Weights w > 0, the k-space volume that each sample stands for: [samples...], float64.

    An image is then  x = Nufft.adjoint(w y) / voxels.  w itself goes into the adjoint, not its square root.

    trajectory  [samples..., dims] of a matrix (y, x) or (z, y, x)
    support     the region that the samples are known to fill: "ellipsoid", "cylinder" or "box"; a sample at its rim
                then stands for no k-space beyond it
    volume      what the weights shall sum to; 0 keeps their own scale, in cycles per field of view to the power of dims
    Source      Pipe & Menon 1999, Magn. Reson. Med. 41:179; Johnson & Pipe 2009, Magn. Reson. Med. 61:439
    """
    return like(
        _core.density_compensation(trajectory, matrix, units, iterations, support or "", volume), trajectory
    )


def estimate_coil_maps(images: Any, *, window: int = 5, iterations: int = 6, mask_threshold: float = 0.0) -> Any:
    """Sensitivity maps from images of all coils [coils, matrix], by adaptive combination: of unit root sum of squares.

    window          edge of the box that the covariance is summed over [voxels], odd
    mask_threshold  maps are 0 where the root sum of squares is below this share of its maximum
    Source          Walsh, Gmitro & Marcellin 2000, Magn. Reson. Med. 43(5):682
    """
    return like(_core.estimate_coil_maps(images, window, iterations, mask_threshold), images)


def root_sum_of_squares(images: Any) -> Any:
    """sqrt(sum_c |images[c]|^2): [coils, matrix] -> [matrix], real."""
    return like(_core.root_sum_of_squares(images), images)
