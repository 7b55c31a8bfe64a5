"""Solvers: they take operators and arrays, and know nothing of MRI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _core
from ._arrays import like
from .errors import ArgumentError
from .linear_operators import LinearOperator
from .stencil import Boundary, faces_of

__all__ = ["CgInfo", "CgResult", "PoissonInfo", "PoissonResult", "cg", "largest_eigenvalue", "poisson"]


@dataclass(frozen=True)
class CgInfo:
    """How conjugate gradients went."""

    iterations: int
    """Steps taken."""
    residual: float
    """|b - A x| / |b| of the x that is returned, computed from it afresh."""
    converged: bool
    """residual <= tolerance"""
    stop: str
    """"converged", "stagnated", "iteration limit" or "observer"."""
    reason: str
    """Why it stopped, in words."""
    history: list[float]
    """Relative residual of the start and after every iteration."""


class CgResult(NamedTuple):
    """x, info = spinloom.cg(...)"""

    x: Any
    info: CgInfo


def cg(
    A: LinearOperator,
    b: Any,
    x0: Any = None,
    *,
    iterations: int = 100,
    tolerance: float = 1e-3,
    stagnation_window: int = 10,
    stagnation: float = 0.01,
    callback: Callable[[int, float], Any] | None = None,
) -> CgResult:
    """Solves A x = b for a self-adjoint positive semidefinite A by conjugate gradients.

    A        usually ``E.N`` or ``E.N + lam * Identity(E.domain)``; b is then ``E.adjoint(y)``, and the residual that of
             the normal equations
    x0       where to start, beside b; None is zero. It is not changed
    GPU      with A on a GPU all of the iteration is there; b is an array there, whose x stays there, or of the host, from
             where b is copied and to where x is. A callback then costs a wait in every iteration
    Stops    at |b - A x| <= tolerance |b|, at the limit of iterations, when the residual has not fallen by the share
             ``stagnation`` within ``stagnation_window`` iterations (0 switches that off), or when callback says so
    callback called as callback(iteration, residual) at the start (iteration 0) and after every iteration; a true value
             stops, an exception goes through to the caller
    Errors   ShapeError; ArgumentError for options out of range or values that are not finite; NotConverged when A is
             not positive
    Source   Hestenes & Stiefel 1952, J. Res. Natl. Bur. Stand. 49(6):409
    """
    if not isinstance(A, LinearOperator):
        raise TypeError(f"A is of type {type(A).__name__}, expected a spinloom.LinearOperator such as Nufft(...).N")
    if callback is not None and not callable(callback):
        raise TypeError("callback is not callable, expected a function (iteration, residual) or None")
    x, *rest = _core.cg(A._core, b, x0, iterations, tolerance, stagnation_window, stagnation, callback)
    return CgResult(like(x, b), CgInfo(*rest))


def largest_eigenvalue(A: LinearOperator, *, iterations: int = 50, tolerance: float = 1e-3, seed: int = 1) -> float:
    """The largest eigenvalue of a self-adjoint positive semidefinite A, from below, by power iteration.

    Stops when an iteration raises the estimate by no more than the share ``tolerance``. 1 / it is the largest step of a
    gradient method; allow a few per cent of safety.
    """
    found: float = _core.largest_eigenvalue(A._core, iterations, tolerance, seed)[0]
    return found


@dataclass(frozen=True)
class PoissonInfo:
    """How the cycles went."""

    cycles: int
    """V-cycles done."""
    residual: float
    """|f - A u| / |f| of the u that is returned, computed from it afresh."""
    converged: bool
    """residual <= tolerance"""
    stop: str
    """"converged", "stagnated", "cycle limit" or "observer"."""
    reason: str
    """Why it stopped, in words."""
    history: list[float]
    """Relative residual of the start and after every cycle."""
    removed: float
    """Share of rhs that no u can meet, its mean over each part that nothing fixes; it was taken away first."""
    singular_parts: int
    """Connected parts whose mean of u is free, and was made 0."""


class PoissonResult(NamedTuple):
    """u, info = spinloom.poisson(...)"""

    u: Any
    info: PoissonInfo


def poisson(
    rhs: Any,
    mask: Any = None,
    *,
    screening: float = 0.0,
    boundary: Boundary = None,
    spacing: float | Sequence[float] | None = None,
    weights: Any = None,
    quality: Any = None,
    start: Any = None,
    tolerance: float = 1e-8,
    cycles: int = 100,
    smoothing: int = 2,
    method: str = "auto",
    device: str | None = None,
    callback: Callable[[int, float], Any] | None = None,
) -> PoissonResult:
    """Solves -div(w grad u) + s u = rhs on the cells of a grid, by multigrid.

    (A u)[n] = sum over faces of cell n: w / h^2 (u[n] - u[neighbour]) + s u[n]

    rhs        array [z, y, x] or [y, x]: float32, float64, complex64 or complex128, on the host or on a GPU; u is of its kind
               and lies where it does. Of a complex one the real and the imaginary part are solved one after the other
    mask       bool or uint8 of its shape, on the host: a cell with 0 takes no part, and u there becomes 0
    screening  s >= 0
    boundary   what is on the faces: "neumann SLOPE" (per unit of length, outwards), "dirichlet VALUE" or "periodic". One
               text, or one entry per axis, each a text or a pair (low, high). None: "neumann 0"
    spacing    h, one for all axes or one per axis; None is 1
    weights    w [axes, shape...] of rhs's precision, on the host: entry n along an axis is between cells n and n + 1
    quality    instead of weights, one per cell: a face gets the smaller of the squares of its two cells
    start      where to start, beside rhs and of its type; None is zero. It is not changed
    tolerance  stops at |rhs - A u| <= tolerance |rhs|; 0 goes on until rounding stops it
    cycles     at most so many; a result that did not converge is returned, and info says so
    smoothing  red-black sweeps before and after each coarse solution, 1 to 8
    method     "cycles", or "cg": they precondition conjugate gradients; "auto": "cg" with a mask or weights
    device     where the work is done: "cpu", "cuda", "cuda:N" or "auto". None: where rhs lies
    callback   called as callback(cycle, residual) at the start and after every cycle; something true stops
    Level      where s = 0 and no face holds a value, u is free up to a constant: its mean is made 0, and rhs's taken away
    Errors     ShapeError and ArgumentError for what is no such problem; TypeError for other element types

    Source     docs/multigrid.md
    """
    if method not in ("auto", "cycles", "cg"):
        raise ArgumentError(f"method is {method!r}, expected 'auto', 'cycles' or 'cg'")
    dims = len(getattr(rhs, "shape", ()))
    if spacing is None:
        sizes: list[float] = []
    elif isinstance(spacing, (int, float)):
        sizes = [float(spacing)] * dims
    else:
        sizes = [float(h) for h in spacing]
    faces = [] if boundary is None else [(low or "neumann 0", high or "neumann 0") for low, high in faces_of(boundary, dims)]
    u, *facts = _core.poisson(
        rhs, start, mask, weights, quality, sizes, screening, faces, tolerance, cycles, smoothing, method, device or "", callback
    )
    return PoissonResult(like(u, rhs), PoissonInfo(*facts))
