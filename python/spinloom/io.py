"""Images and scans in files: npy, NIfTI, BART cfl, PNG, and MRD (ISMRMRD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import Any, Union

import numpy as np

from . import _core
from .linear_operators import Matrix

__all__ = ["Image", "Measurement", "Scan", "read", "read_scan", "write", "write_scan"]

Path = Union[str, "PathLike[str]"]


@dataclass(eq=False)
class Image:
    """An image with what its file says about it."""

    data: Any
    """C order, last axis x: [z, y, x], frames or components before it. No axis of the file is dropped."""
    affine: np.ndarray | None = None
    """4 x 4: world [mm] = affine @ (x, y, z, 1), NIfTI's axes (right, anterior, superior). None when not known."""
    time_step: float = 0.0
    """Seconds between frames; 0 when the file does not say."""
    format: str = ""
    """"nifti", "npy", "cfl", "png", "mrd"."""
    header: _core.NiftiHeader | None = field(default=None, repr=False)
    """What a NIfTI file said beside its voxels: kept when the image is written again."""

    @property
    def voxel_size(self) -> np.ndarray | None:
        """Along the last three axes (z, y, x) [mm]; None when not known."""
        if self.affine is None:
            return None
        return np.sqrt((np.asarray(self.affine)[:3, :3] ** 2).sum(axis=0))[::-1]

    def with_data(self, data: Any) -> Image:
        """The same place and header around other voxels."""
        return replace(self, data=data)


def read(path: Path, *, group: str = "") -> Image:
    """Reads an image of any format: by its first bytes, whatever the name; BART cfl by its name.

    NIfTI   slope * stored + intercept where the header scales
    group   of an MRD file with several series of images: "dataset/image_0"
    Errors  FileError (an OSError); FormatError that says what the file seems to be
    """
    data, affine, is_known, time_step, kind, header = _core.read(fspath(path), group)
    return Image(data, affine if is_known else None, time_step, kind, header)


def write(
    path: Path,
    image: Any,
    *,
    affine: np.ndarray | None = None,
    stored_type: bool = False,
    overwrite: bool = False,
) -> None:
    """Writes an Image or an array by the ending of the name: .nii, .nii.gz, .npy, .cfl or .png.

    affine       takes the place of the image's own
    stored_type  NIfTI from NIfTI: with the element type and scaling that the file had, rounded to nearest
    overwrite    replaces a file that exists; without, FileError
    The file appears whole or not at all. What a format cannot hold (a place in space, in npy) is warned of.
    """
    if not isinstance(image, Image):
        image = Image(image)
    _core.write(
        fspath(path),
        image.data,
        _packed(image.affine if affine is None else affine),
        image.time_step,
        image.header,
        stored_type,
        overwrite,
    )


@dataclass(frozen=True, eq=False)
class Measurement:
    """All samples of one image, ready to reconstruct."""

    kspace: np.ndarray
    """[coils, samples], complex64."""
    trajectory: np.ndarray
    """[samples, dims], cycles per field of view, columns (ky, kx) or (kz, ky, kx)."""
    matrix: tuple[int, ...]
    """Encoded grid to reconstruct on."""
    recon_matrix: tuple[int, ...]
    """What to keep of it, centre on centre."""
    fov_mm: list[float]
    """Of ``matrix``, per axis; 0 where the file does not say."""
    affine: np.ndarray
    """Of the image on ``recon_matrix``."""
    sample_times: np.ndarray
    """Of each sample from the start of its readout [s]; empty when the file gives none."""
    label: dict[str, int]
    """repetition, set, phase, contrast and slice."""


@dataclass(frozen=True, eq=False)
class Scan:
    """A scan's file, sorted into measurements."""

    measurements: list[Measurement]
    noise: np.ndarray | None
    """[coils, samples] of the noise lines, or None."""
    report: list[str]
    """What became of the file's lines, in words."""


def read_scan(
    path: Path,
    *,
    trajectory: Path | None = None,
    units: str | None = None,
    matrix: Matrix | None = None,
    group: str = "",
    encoding: int | None = None,
    merge_repetitions: bool = False,
) -> Scan:
    """Reads raw data: MRD (.h5, .mrd), BART cfl or npy k-space, and sorts them into one measurement per image.

    trajectory  file that takes the place of stored positions, in the columns and unit of docs/conventions.md
    units       of the trajectory: "cycles-per-fov", "cycles-per-pixel" or "radians"; None is the format's own
    matrix      instead of the header's; arrays on a trajectory need one
    """
    measurements, noise, report = _core.read_scan(
        fspath(path),
        fspath(trajectory) if trajectory is not None else "",
        units or "",
        matrix,
        group,
        encoding,
        merge_repetitions,
    )
    return Scan([Measurement(**m) for m in measurements], noise, report)


def write_scan(
    path: Path,
    kspace: Any,
    trajectory: Any,
    matrix: Matrix,
    *,
    units: str = "cycles-per-fov",
    fov_mm: Sequence[float] | None = None,
    noise: Any = None,
    sample_time_us: float = 0.0,
    kind: str = "other",
    affine: np.ndarray | None = None,
    overwrite: bool = False,
) -> None:
    """Writes an MRD (ISMRMRD) file: one acquisition for each run of the last sample axis.

    kspace      [coils, samples...], complex64
    trajectory  [samples..., dims]; stored in cycles per pixel, in single precision, as the format has it
    fov_mm      per axis of the matrix; None is 1 mm voxels
    kind        word of the header: cartesian, epi, radial, goldenangle, spiral or other
    affine      of the image on ``matrix``; None is centred, along the axes of the patient
    """
    _core.write_scan(
        fspath(path),
        kspace,
        trajectory,
        matrix,
        units,
        [float(f) for f in fov_mm] if fov_mm is not None else [],
        noise,
        sample_time_us,
        kind,
        _packed(affine),
        overwrite,
    )


def _packed(affine: Any) -> np.ndarray | None:
    return None if affine is None else np.ascontiguousarray(affine, dtype=np.float64)
