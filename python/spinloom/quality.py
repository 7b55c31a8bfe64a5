"""How close one image is to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core

__all__ = ["Quality", "compare"]


@dataclass(frozen=True)
class Quality:
    """How close an image a is to a reference b."""

    nrmse: float
    """|a - b| / |b|"""
    psnr_db: float
    """20 log10(max|b| / rms(a - b)); infinite when a = b."""
    ssim: float
    """Mean structural similarity of the slices of the last two axes (Wang et al. 2004)."""
    max_abs_difference: float
    correlation: float
    """Pearson's; its modulus for complex images."""
    scale: float | complex
    """What a was multiplied by."""
    elements: int
    """How many were compared."""
    compared: str
    """"real", "complex" or, when one is real and the other complex, "magnitude"."""


def compare(image: Any, reference: Any, *, mask: Any = None, scale: bool = False) -> Quality:
    """Compares an image with a reference of the same shape, in double precision.

    image, reference  any element types; real with complex compares magnitudes
    mask              compares where it is not 0; of the images' shape or of that of their last axes
    scale             first multiplies the image by the factor that brings it closest
    SSIM              Gaussian window of 11 x 11 with sigma 1.5, K1 = 0.01, K2 = 0.03, range max|b|: scikit-image's with
                      gaussian_weights=True and use_sample_covariance=False
    Errors            ShapeError; ArgumentError for values that are not finite
    """
    found = _core.compare(image, reference, mask, scale)
    if found["compared"] != "complex":
        found["scale"] = found["scale"].real
    return Quality(**found)
