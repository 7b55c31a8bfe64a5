"""Solvers: they take operators and arrays, and know nothing of MRI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _core
from ._arrays import like
from .linear_operators import LinearOperator

__all__ = ["CgInfo", "CgResult", "cg", "largest_eigenvalue"]


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
