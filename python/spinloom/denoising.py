"""Non-local means, as scikit-image computes it, faster and with maps, masks and guides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import like, place

__all__ = ["denoise_nl_means", "estimate_sigma"]


def denoise_nl_means(
    image: Any,
    patch_size: int | Sequence[int] = 7,
    patch_distance: int | Sequence[int] = 11,
    h: Any = 0.1,
    fast_mode: bool = True,
    sigma: Any = 0.0,
    *,
    preserve_range: bool = False,
    channel_axis: int | None = None,
    rician: bool = False,
    guide: Any = None,
    guide_sigma: float = 0.0,
    mask: Any = None,
    compat: str | None = None,
    device: str = "auto",
    out: Any = None,
    progress: Callable[[str, float, str], Any] | None = None,
) -> Any:
    """Non-local means: each voxel becomes a mean of the voxels around it, weighted by how alike their surroundings are.

    The arguments up to channel_axis, the element types and the numbers are those of scikit-image's
    ``denoise_nl_means``.

    out(p) = sum_t w_t(p) u(p + t) / sum_t w_t(p),   w_t(p) = exp(-max(0, D_t(p))) where D_t(p) <= 5, else 0,
    D_t(p) the mean squared difference of the patches around p and p + t, less 2 sigma^2, over h^2

    image          2 to 4 spatial axes, and channels at channel_axis. float32 and float16 give float32, all else float64
    patch_size     voxels along a patch's edge, one for all axes or one per spatial axis; even ones grow by 1
    patch_distance farthest shift of a patch [voxels], likewise
    h              cut-off in grey values; larger smooths more. A number, or a map [spatial]
    fast_mode      box-shaped patches; False: Gaussian ones (classic mode)
    sigma          standard deviation of the noise, in grey values. A number, or a map [spatial]
    preserve_range False: integers are scaled to at most 1, as scikit-image does; True: values stay as they are
    channel_axis   axis of the channels, of any number; None: a grey image

    Beyond scikit-image:
    rician         magnitude MRI: squares are averaged, and their bias 2 sigma^2 taken off
    guide          image [spatial] or [spatial, channels] whose patches are compared instead, with its own guide_sigma
    mask           bool or uint8 [spatial]: where it is 0 the voxel is copied; it still serves its neighbours
    compat         "scikit-image" gives its results also where they are a defect: NaN that spreads over the image,
                   overflow in classic mode, axes of one element dropped
    device         "auto" (a GPU where there is one), "cpu", "cuda", "cuda:1" or "reference" (serial; scikit-image's very
                   bits). A GPU takes arrays in host memory of any size, a slab at a time. An image that lies on a GPU
                   is filtered there and the result stays there: a packed one of float32 or float64 with channels last,
                   and maps, guide and mask beside it in the same type
    out            array for the result: packed, of the image's shape and the result's type, where the image lies. With
                   arrays of numpy.memmap for image and out, files larger than memory are filtered: no copy of the whole
                   is made. (Not of images whose bytes are swapped, whose channels are not last, or that have maps and
                   another type)
    progress       called as progress(stage, fraction, detail)

    Errors   TypeError for complex images; ShapeError and ArgumentError for what does not fit
    Source   Buades, Coll & Morel 2005, CVPR 2:60; Darbon et al. 2008, ISBI p. 1331
    """
    if compat not in (None, "scikit-image"):
        raise ValueError(f"compat = {compat!r} is unknown, expected None or 'scikit-image'")
    h, h_map = _map(h)
    sigma, sigma_map = _map(sigma)
    options = {
        "patch_size": patch_size,
        "patch_distance": patch_distance,
        "h": h,
        "h_map": h_map,
        "fast_mode": bool(fast_mode),
        "sigma": sigma,
        "sigma_map": sigma_map,
        "preserve_range": bool(preserve_range),
        "channel_axis": channel_axis,
        "rician": rician,
        "guide": guide,
        "guide_sigma": guide_sigma,
        "mask": mask,
        "scikit_image": compat is not None,
        "device": device,
    }
    result = _core.denoise_nl_means(_native(image), options, out, progress)
    return result if out is not None else like(result, image)


def estimate_sigma(image: Any, average_sigmas: bool = False, *, channel_axis: int | None = None) -> Any:
    """The standard deviation of white Gaussian noise in an image, as scikit-image's ``estimate_sigma`` gives it.

    median(|c|) / 0.6745 over the wavelet coefficients (Daubechies 2) of detail along all spatial axes.

    average_sigmas  one number for all channels: their mean
    channel_axis    a number for each channel; None: all axes are spatial. The image is one of the host
    Returns         a float, or a list of floats for channels. NaN for a constant image
    Source          Donoho & Johnstone 1994, Biometrika 81(3):425
    """
    image = _native(image)
    if channel_axis is None or place(image, "image") != "cpu":
        found: list[float] = _core.estimate_sigma(image, None)
        return found[0]
    found = _core.estimate_sigma(np.moveaxis(np.asarray(image), channel_axis, -1), -1)
    return float(np.mean(found)) if average_sigmas else found


def _map(value: Any) -> tuple[float, Any]:
    """A number, or a map of numbers in its place."""
    if np.ndim(value) == 0 and not hasattr(value, "__dlpack__"):
        return value, None
    if getattr(value, "shape", None) == ():
        return float(value), None
    return 0.0, value


def _native(image: Any) -> Any:
    """Filtering converts the elements anyway, so here alone bytes of the other order are no error."""
    if isinstance(image, np.ndarray) and not image.dtype.isnative:
        return image.astype(image.dtype.newbyteorder("="))
    return image
