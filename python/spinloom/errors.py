"""What spinloom raises. Every text is one line: what arrived, what was expected, what to do."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = [
    "ArgumentError",
    "BackendUnavailable",
    "DeviceError",
    "Error",
    "FileError",
    "FormatError",
    "Interrupted",
    "NotConverged",
    "ShapeError",
    "SpinloomWarning",
]


class Error(Exception):
    """Base of everything that spinloom raises of its own. A wrong element type is a plain TypeError."""


class ArgumentError(Error, ValueError):
    """A parameter outside its range."""


class ShapeError(Error, ValueError):
    """An array whose shape does not fit."""


class FileError(Error, OSError):
    """A file that cannot be opened, read, written or renamed."""


class FormatError(Error, OSError, ValueError):
    """Content that is not what its format demands: of a file, or of arrays that stand for one."""


class BackendUnavailable(Error, RuntimeError):
    """A backend that this machine or build lacks."""


class DeviceError(Error, RuntimeError):
    """A failure reported by a device, or too little memory."""


class NotConverged(Error, RuntimeError):
    """Iterations that diverged or met a value that is not finite."""


class Interrupted(Error, RuntimeError):
    """Another thread's call was stopped by Ctrl-C, and this one with it."""


class SpinloomWarning(UserWarning):
    """Something that was done otherwise than asked, or that may not be what was meant."""


def _warn(text: str) -> None:
    """Warns at the line of the user's that called into this package, however deep the call went."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spinloom":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, SpinloomWarning, stacklevel=level)
