"""Non-uniform Fourier transforms of arrays, in one call. To transform often, keep a spinloom.Nufft."""

from __future__ import annotations

from typing import Any

from ._arrays import place
from .linear_operators import Matrix, Nufft

__all__ = ["adjoint", "forward"]


def _coils(shape: tuple[int, ...], rest: int) -> int | None:
    return shape[0] if len(shape) == rest + 1 else None


def forward(
    image: Any,
    trajectory: Any,
    *,
    tolerance: float = 1e-4,
    exact: bool = False,
    oversampling: float = 0.0,
    units: str = "cycles-per-fov",
    device: str | None = None,
) -> Any:
    """K-space of an image along a trajectory.

    y[c, m] = sum_n x[c, n] exp(-2 pi i k[m].r[n]),   r[n] = (n - floor(N / 2)) / N per axis

    image       [matrix] or [coils, matrix], complex64 or complex128, which is the precision
    trajectory  [samples..., dims]; dims says how many axes the matrix has
    device      as for spinloom.Nufft; None: where the image lies
    Returns     [samples...] or [coils, samples...]
    Others, scaling, errors and threads as for spinloom.Nufft
    """
    dims = _last(trajectory)
    shape = _shape(image, "image")
    if len(shape) not in (dims, dims + 1):
        raise ValueError(
            f"image has shape {list(shape)}, expected {dims} axes, or {dims + 1} with coils first, "
            f"as the trajectory has {dims} columns"
        )
    plan = Nufft(
        trajectory,
        shape[len(shape) - dims :],
        _coils(shape, dims),
        tolerance=tolerance,
        exact=exact,
        oversampling=oversampling,
        dtype=_complex(image, "image"),
        units=units,
        device=place(image, "image") if device is None else device,
    )
    return plan.forward(image)


def adjoint(
    kspace: Any,
    trajectory: Any,
    matrix: Matrix,
    *,
    tolerance: float = 1e-4,
    exact: bool = False,
    oversampling: float = 0.0,
    units: str = "cycles-per-fov",
    device: str | None = None,
) -> Any:
    """The conjugate transpose of forward(): not an inverse, and not weighted.

    x[c, n] = sum_m y[c, m] exp(+2 pi i k[m].r[n])

    kspace   [samples...] or [coils, samples...], complex64 or complex128, which is the precision
    matrix   voxels: (z, y, x), (y, x) or (x,)
    device   as for spinloom.Nufft; None: where the samples lie
    Returns  [matrix] or [coils, matrix]
    Others, scaling, errors and threads as for spinloom.Nufft
    """
    samples = len(_shape(trajectory, "trajectory")) - 1
    plan = Nufft(
        trajectory,
        matrix,
        _coils(_shape(kspace, "kspace"), samples),
        tolerance=tolerance,
        exact=exact,
        oversampling=oversampling,
        dtype=_complex(kspace, "kspace"),
        units=units,
        device=place(kspace, "kspace") if device is None else device,
    )
    return plan.adjoint(kspace)


def _shape(array: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(array.shape)
    except (AttributeError, TypeError):
        raise TypeError(
            f"{name} is of type {type(array).__name__}, expected an array (NumPy's, or one that speaks DLPack); "
            f"convert it, for example with numpy.asarray({name})"
        ) from None


def _last(trajectory: Any) -> int:
    shape = _shape(trajectory, "trajectory")
    if len(shape) < 2:
        raise ValueError(f"trajectory has shape {list(shape)}, expected [samples..., columns]")
    return shape[-1]


def _complex(array: Any, name: str) -> str:
    dtype = str(array.dtype).rpartition(".")[2]  # "torch.complex64"
    if dtype not in ("complex64", "complex128"):
        raise TypeError(
            f"{name} has dtype {dtype}, expected complex64 or complex128; "
            f"convert it, for example with {name}.astype('complex64')"
        )
    return dtype
