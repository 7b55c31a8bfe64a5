"""Stencils on regular grids: each point becomes a function of fixed neighbours, step after step.

    heat = spinloom.stencil.builtin("7-point")
    done = heat.run({"u": u}, steps=100, boundary="dirichlet 37", schedule="diamond width=16 planes=4")
    u = done["u"]

A stencil is a built-in, a list of offsets and weights, or an expression. Axes are (z, y, x) or (y, x), offsets are in that
order. Schedules change the time that a run takes and not one bit of its result; docs/stencil.md says which is for what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from . import _core
from ._arrays import like
from .errors import ArgumentError

__all__ = ["Result", "Stencil", "builtin", "expression", "linear", "names"]

Face = Union[str, tuple[str, str], None]
"""Both faces of an axis, or its low and its high one."""
Boundary = Union[str, Sequence[Face], None]
"""All faces of a field, or one entry per axis."""


@dataclass(frozen=True, eq=False)
class Result:
    """What became of the fields that a stencil writes: result["u"]."""

    fields: dict[str, Any]
    """Each written field after the last step, in an array of its own."""
    previous: dict[str, Any]
    """The same one step earlier, of fields with prev(u): hand it on as ``previous`` to go on from here."""
    reductions: list[float]
    """sum(...) and max(...) of the last step, in the order written; they are of the values before that step."""

    def __getitem__(self, field: str) -> Any:
        """A written field after the last step."""
        return self.fields[field]


class Stencil:
    """A stencil that builtin(), linear() or expression() made. Immutable; threads may share it."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._facts: dict[str, Any] = core.describe()

    def __repr__(self) -> str:
        return f"<stencil {self.name}: {'; '.join(self.expressions)}>"

    @property
    def name(self) -> str:
        """The built-in's name, "linear" or "expression"."""
        return str(self._facts["name"])

    @property
    def description(self) -> str:
        """What it computes, in words."""
        return str(self._facts["description"])

    @property
    def fields(self) -> list[str]:
        """Names of the fields, read and written."""
        return list(self._facts["fields"])

    @property
    def params(self) -> dict[str, float | None]:
        """Names of the parameters with their defaults; None must be given."""
        return dict(self._facts["params"])

    @property
    def expressions(self) -> list[str]:
        """What is computed, one for each stencil of a chain, with fields u0, u1 ... in the order of ``fields``."""
        return list(self._facts["expressions"])

    @property
    def dims(self) -> int:
        """2 or 3."""
        return int(self._facts["dims"])

    def run(
        self,
        fields: Mapping[str, Any] | Any,
        *,
        steps: int = 1,
        params: Mapping[str, float] | None = None,
        boundary: Boundary | Mapping[str, Boundary] = None,
        previous: Mapping[str, Any] | None = None,
        schedule: str = "naive",
        device: str | None = None,
        progress: Callable[[str, float, str], Any] | None = None,
    ) -> Result:
        """Runs ``steps`` steps from the arrays given, which stay as they are.

        fields    array [z, y, x] or [y, x] for each field by name, all of one shape and of one type: float32, float64, and
                  complex64, complex128 for linear stencils and some built-ins. An array alone is the first field. Fields
                  that are only written are left out. float16 fields are computed in float32 and rounded once a step: half
                  the bytes; any stencil on a GPU, 7-point, 27-point and laplacian on the host
        params    values of the parameters by name; those left out have the built-in's default
        boundary  what lies outside: "dirichlet VALUE", "neumann SLOPE" (outwards, per cell), "periodic", "reflect" (the
                  last cell is not repeated) or "clamp" (it is). One text for all faces, or one entry per axis, each a text
                  or a pair (low, high); or such a value for each field by name. Nothing is assumed: a stencil that reads
                  past a face of which nothing was said is refused
        previous  values one step earlier, of fields with prev(u); those left out are equal to ``fields``, at rest
        schedule  "naive", "sweep rows=64 planes=4 stream prefetch", "diamond width=32 planes=4" ...; on a GPU "cuda" and
                  what docs/stencil-gpu.md lists, where "naive" stands for the library's choice
        device    where the steps are done: "cpu", "cuda", "cuda:N" or "auto". None: where the arrays lie. Arrays of a GPU
                  (anything that speaks DLPack, as those of CuPy and torch) stay there, and so do the results
        progress  called as progress(stage, fraction, detail)
        Memory    every field is copied into a grid with padding and faces, and a field that is stepped has a second one;
                  the written ones are copied out again. There are no other copies, unless an array is strided
        Errors    ArgumentError, ShapeError with the words of the command line; TypeError for other element types
        """
        if not isinstance(fields, Mapping):
            fields = {self.fields[0]: fields}
        self._require_known(fields, "field")
        previous = dict(previous or {})
        self._require_known(previous, "field")
        missing = [name for name in self._facts["read"] if name not in fields]
        if missing:
            raise ArgumentError(f"stencil '{self.name}' reads {', '.join(missing)}, and fields has {', '.join(fields)}")
        for name in self._facts["before"]:
            if name not in previous and name in fields:
                previous[name] = fields[name]
        first = next(iter(fields.values()))
        core = self._core.run(
            dict(fields), previous, self._values(params or {}), self._faces(boundary), schedule, steps, device or "", progress
        )
        written, before, reductions = core
        return Result(
            {name: like(a, first) for name, a in written.items()}, {n: like(a, first) for n, a in before.items()}, reductions
        )

    def _require_known(self, names: Iterable[str], kind: str) -> None:
        known = self.fields if kind == "field" else list(self._facts["params"])
        for name in names:
            if name not in known:
                raise ArgumentError(f"stencil '{self.name}' has no {kind} {name!r}, expected {', '.join(known) or 'none'}")

    def _values(self, params: Mapping[str, float]) -> list[float]:
        self._require_known(params, "parameter")
        values = {**self.params, **params}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise ArgumentError(f"stencil '{self.name}' needs a value of {', '.join(missing)} in params")
        try:
            return [float(values[name]) for name in self._facts["params"]]  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise TypeError(f"params are {dict(params)!r}, expected numbers") from error

    def _faces(self, boundary: Boundary | Mapping[str, Boundary]) -> list[list[tuple[str, str]]]:
        if isinstance(boundary, Mapping):
            self._require_known(boundary, "field")
            return [faces_of(boundary.get(name), self.dims) for name in self.fields]
        return [faces_of(boundary, self.dims)] * len(self.fields)


def faces_of(boundary: Boundary, dims: int) -> list[tuple[str, str]]:
    """The texts of both faces of each axis; empty ones where nothing is said."""
    if boundary is None or isinstance(boundary, str):
        boundary = [boundary] * dims
    axes = list(boundary)
    if len(axes) != dims:
        raise ArgumentError(f"boundary has {len(axes)} entries, expected a text, or one entry for each of {dims} axes")
    faces = []
    for axis in axes:
        pair = (axis, axis) if axis is None or isinstance(axis, str) else axis
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(f is None or isinstance(f, str) for f in pair):
            raise TypeError(f"boundary holds {axis!r}, expected a text such as 'dirichlet 0', or a pair of them (low, high)")
        low, high = pair
        for face in (low, high):
            if face is not None and face.split()[:1] == ["none"]:
                raise ArgumentError("boundary 'none' leaves the cells outside to the caller, who cannot reach them from Python")
        faces.append((low or "", high or ""))
    return faces


def names() -> list[str]:
    """Names of the built-in stencils; builtin(name).description says what each is."""
    return list(_core.stencil_names())


def builtin(name: str) -> Stencil:
    """A stencil that comes with the library, in the fastest instructions of this machine. ArgumentError lists the names."""
    return Stencil(_core.stencil_builtin(name))


def linear(offsets: Any, weights: Any) -> Stencil:
    """next u(p) = sum_i weights[i] u(p + offsets[i]), added in the order given; the field is called "u".

    offsets  [terms, dims] whole numbers, dims 2 or 3, at most 16 cells along an axis
    weights  [terms] real numbers
    """
    where, what = np.asarray(offsets), np.asarray(weights)
    if where.ndim != 2 or where.shape[1] not in (2, 3) or where.dtype.kind not in "iu":
        raise ArgumentError(f"offsets have shape {where.shape} and type {where.dtype}, expected whole numbers [terms, 2 or 3]")
    if what.shape != where.shape[:1] or what.dtype.kind not in "iuf":
        raise ArgumentError(f"weights have shape {what.shape} and type {what.dtype}, expected {where.shape[0]} real numbers")
    dims = where.shape[1]
    terms = [(*((0,) * (3 - dims)), *map(int, o), float(w)) for o, w in zip(where, what)]
    return Stencil(_core.stencil_linear(dims, terms))


def expression(text: str) -> Stencil:
    """A stencil of your own, for real fields.

    next(u) = u(0,0,0) + dt * kappa(0,0,0) * (u(0,0,-1) + u(0,0,1) - 2 * u(0,0,0)); sum(u(0,0,0))

    Statements are separated by semicolons: ``next(field) = value``; ``sum(value)`` and ``max(value)``, which come back as
    ``reductions`` (with schedules that sweep); or all updates in place as ``red_black(field = value)``. A value is made of
    fields at whole offsets, u(dz, dy, dx) or u(dy, dx); ``prev(u)``, one step earlier; names without offsets, which are
    parameters; numbers; + - * / and brackets; fma(a, b, c), min, max, abs, sqrt; where(condition, a, b) with conditions by
    < <= > >= == && || !. Nothing is reordered, so the bits are those of the same stencil in C++. On the host it is not
    compiled: rows are gone through one operation after the other, in vectors. On a GPU it is, when it is first run there.

    Errors   ArgumentError that names the column and what was expected there
    """
    return Stencil(_core.stencil_expression(text))

