"""The machine, and what of it is used."""

from __future__ import annotations

import os
from typing import Any

from . import _core

__all__ = ["info", "set_threads", "threads"]


def info() -> dict[str, Any]:
    """Version, processor, memory, backends and why each is not used: the keys of ``spinloom info --json``."""
    return _core.info()


def set_threads(threads: int) -> None:
    """Number of threads that every call uses; 0 is one per core. Results do not depend on it, to the last bit."""
    _core.set_threads(threads)


def threads() -> int:
    """Number of threads in use."""
    return _core.threads()


# The threads of a parent do not exist in a child made by fork(): such a child works with one.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.after_fork)
