"""Linear operators: what solvers take, and how they are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import like, place, precision

__all__ = ["Encoding", "Identity", "LinearOperator", "NormalOperator", "Nufft"]

Matrix = int | Sequence[int]


class LinearOperator:
    """A linear map A between complex arrays of fixed shape and element type.

    ``A @ x`` and ``A(x)`` are ``A.forward(x)``; ``A.H`` is the adjoint and ``A.N`` the normal operator A^H A, both
    operators of their own; ``a * A + b * B`` with real a and b is one too, so that
    ``A.N + lam * spinloom.Identity(A.domain)`` is what a regularised problem asks for.

    Arrays   any that speak DLPack, of exactly ``dtype``; packed ones in C order are used where they lie, others are
             packed first. Results come back as the kind of array given (NumPy, PyTorch, ...).
    GPU      an operator made with device="cuda" takes packed arrays of that GPU where they lie, and its results stay
             there; arrays of the host are copied to it and the results back
    Errors   TypeError for another element type; ShapeError when shapes do not fit; ArgumentError for an array on another
             GPU than the operator's
    Threads  immutable: one operator may be applied by many threads; the GIL is free meanwhile
    """

    def __init__(self, core: _core.Operator) -> None:
        self._core = core

    @property
    def domain(self) -> tuple[int, ...]:
        """Shape of x."""
        return self._core.domain

    @property
    def range(self) -> tuple[int, ...]:
        """Shape of y."""
        return self._core.range

    @property
    def dtype(self) -> np.dtype:
        """complex64 or complex128."""
        return np.dtype(self._core.dtype)

    @property
    def name(self) -> str:
        """What it is, in words."""
        return self._core.name

    @property
    def device(self) -> str:
        """Where it works: "cpu" or "cuda:N"."""
        return self._core.device

    def forward(self, x: Any, out: Any = None) -> Any:
        """y = A x, as a new array, or in ``out``: writable, packed, of the right shape and type, beside x and apart from it."""
        y = self._core.apply(x, out, True)
        return y if out is not None else like(y, x)

    def adjoint(self, y: Any, out: Any = None) -> Any:
        """x = A^H y, the exact conjugate transpose; not an inverse. ``out`` as in forward()."""
        x = self._core.apply(y, out, False)
        return x if out is not None else like(x, y)

    def normal(self, x: Any, out: Any = None) -> Any:
        """A^H A x, in the operator's own cheaper form where it has one. For repeated use keep ``A.N``."""
        return self.N.forward(x, out)

    @property
    def H(self) -> LinearOperator:
        """A^H: forward and adjoint exchanged."""
        return LinearOperator(self._core.conjugate_transpose())

    @property
    def N(self) -> LinearOperator:
        """A^H A, in the operator's own cheaper form where it has one."""
        return LinearOperator(self._core.normal())

    def adjoint_gap(self, seed: int = 1) -> float:
        """|<A x, y> - <x, A^H y>| over the size that random x and y give it: rounding errors, if all is well."""
        return self._core.adjoint_gap(seed)

    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    def __matmul__(self, x: Any) -> Any:
        return NotImplemented if isinstance(x, LinearOperator) else self.forward(x)

    def __add__(self, other: LinearOperator) -> LinearOperator:
        if not isinstance(other, LinearOperator):
            return NotImplemented
        return LinearOperator(self._core.plus(1.0, other._core, 1.0))

    def __sub__(self, other: LinearOperator) -> LinearOperator:
        if not isinstance(other, LinearOperator):
            return NotImplemented
        return LinearOperator(self._core.plus(1.0, other._core, -1.0))

    def __mul__(self, factor: float) -> LinearOperator:
        return LinearOperator(self._core.scaled(factor)) if np.isrealobj(factor) and np.ndim(factor) == 0 else NotImplemented

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"<{self.name}: {list(self.domain)} -> {list(self.range)}, {self.dtype.name}>"


class Nufft(LinearOperator):
    """Non-uniform Fourier transform of images, by gridding to a tolerance or exactly.

    ::

        forward   y[c, m] = sum_n x[c, n] exp(-2 pi i k[m].r[n]),   r[n] = (n - floor(N / 2)) / N per axis
        adjoint   x[c, n] = sum_m y[c, m] exp(+2 pi i k[m].r[n])

    trajectory   [samples..., dims], float32 or float64; columns as the image's axes: (kz, ky, kx), (ky, kx) or (kx,)
    matrix       voxels: (z, y, x), (y, x) or (x,)
    coils        None: image [matrix], k-space [samples...]. A number: [coils, matrix] and [coils, samples...]
    tolerance    relative L2 error aimed at: 1e-2 to 1e-6 in complex64, to 1e-12 in complex128
    exact        the sums themselves, without gridding: coils x samples x voxels terms
    oversampling grid over image size, 1.15 to 4; 0 lets the cost decide
    units        of the trajectory: "cycles-per-fov" (|k| <= N / 2), "cycles-per-pixel" (0.5) or "radians" (pi)
    device       "cpu", "cuda[:N]", "auto" (the first GPU if there is a usable one), or "reference": where it works

    Scaling  none: adjoint() is the exact conjugate transpose, not an inverse
    Errors   FormatError (a ValueError) for samples outside the matrix, with the units that would fit
    Source   Barnett, Magland & af Klinteberg 2019, SIAM J. Sci. Comput. 41(5):C479
    """

    def __init__(
        self,
        trajectory: Any,
        matrix: Matrix,
        coils: int | None = None,
        *,
        tolerance: float = 1e-4,
        exact: bool = False,
        oversampling: float = 0.0,
        dtype: Any = "complex64",
        units: str = "cycles-per-fov",
        device: str = "cpu",
    ) -> None:
        super().__init__(
            _core.make_fourier(
                trajectory, matrix, coils, tolerance, oversampling, exact, precision(dtype), units, device
            )
        )


class NormalOperator(LinearOperator):
    """F^H W F of a Nufft as one convolution (Toeplitz): the samples are needed to build it and never again.

    ::

        q[l] = sum_m w[m] exp(2 pi i k[m].l / N),   (F^H W F x)[n] = sum_n' q[n - n'] x[n']

    weights  w, real and >= 0, [samples...], float32 or float64; None means 1
    Others   as in Nufft. Shapes [coils, matrix] -> the same, or [matrix] without coils
    Source   Fessler, Lee, Olafsson, Shi & Noll 2005, IEEE Trans. Signal Process. 53(9):3393
    """

    def __init__(
        self,
        trajectory: Any,
        matrix: Matrix,
        weights: Any = None,
        coils: int | None = None,
        *,
        tolerance: float = 1e-4,
        oversampling: float = 0.0,
        dtype: Any = "complex64",
        units: str = "cycles-per-fov",
        device: str = "cpu",
    ) -> None:
        super().__init__(
            _core.make_normal(
                trajectory, matrix, weights, coils, tolerance, oversampling, precision(dtype), units, device
            )
        )


class Encoding(LinearOperator):
    """The multi-coil encoding operator E, unitary-scaled; its dtype is that of the maps.

    ::

        y[c, m] = N^(-1/2) sum_n s[c, n] x[n] exp(-2 pi i k[m].r[n]),   N = number of voxels

    maps       s [coils, matrix], complex64 or complex128; the matrix is theirs
    operator   "toeplitz": E.N is a convolution per coil; "nufft"; "dft", exact
    coil_batch coils transformed at a time; 0 means all
    device     as in Nufft; None: where the maps lie. Maps are copied in any case
    Shapes     image [matrix] -> k-space [coils, samples...]
    Scaling    N^(-1/2) both ways: adjoint() is the exact conjugate transpose
    """

    def __init__(
        self,
        trajectory: Any,
        maps: Any,
        *,
        operator: str = "toeplitz",
        tolerance: float = 1e-4,
        coil_batch: int = 0,
        units: str = "cycles-per-fov",
        device: str | None = None,
    ) -> None:
        if operator not in ("toeplitz", "nufft", "dft"):
            raise ValueError(f"operator = '{operator}' is unknown, expected one of toeplitz, nufft, dft")
        matrix = tuple(getattr(maps, "shape", ()))[1:]
        if device is None:
            device = place(maps, "maps")
        super().__init__(
            _core.make_encoding(trajectory, maps, matrix, tolerance, operator, coil_batch, units, device)
        )


class Identity(LinearOperator):
    """x -> x on arrays of ``shape``, wherever they lie."""

    def __init__(self, shape: Matrix, *, dtype: Any = "complex64") -> None:
        super().__init__(_core.make_identity(shape, precision(dtype)))
