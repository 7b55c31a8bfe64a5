"""Results come back as the kind of array that was given, where it lies."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _core


def like(result: Any, given: Any) -> Any:
    """`result` as an array of the library that `given` is of, over the same memory.

    The library's own from_dlpack() does it. Arrays of a library without one get NumPy's, or, on a GPU, an object that
    speaks DLPack for whoever can take it.
    """
    if isinstance(given, (np.ndarray, np.generic)):
        return result
    name = type(given).__module__.partition(".")[0]
    library = sys.modules.get({"jaxlib": "jax.numpy"}.get(name, name))
    convert = getattr(library, "from_dlpack", None)
    return convert(result) if convert else result


def place(array: Any, name: str) -> str:
    """"cpu" or "cuda:N": where an array's elements lie."""
    found: str = _core.place_of(array, name)
    return found


def precision(dtype: Any) -> str:
    """'complex64' or 'complex128', from any way to say so."""
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in ("complex64", "complex128"):
        raise TypeError(f"dtype is {name}, expected complex64 or complex128")
    return name
