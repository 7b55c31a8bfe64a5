"""Errors are of the class that says what to do, in one line, and of the same words as on the command line."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import spinloom
from conftest import random_trajectory

COMMAND = os.environ.get("SPINLOOM_COMMAND")


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("ArgumentError", [ValueError]),
        ("ShapeError", [ValueError]),
        ("FileError", [OSError]),
        ("FormatError", [OSError, ValueError]),
        ("BackendUnavailable", [RuntimeError]),
        ("DeviceError", [RuntimeError]),
        ("NotConverged", [RuntimeError]),
        ("Interrupted", [RuntimeError]),
    ],
)
def test_classes_are_what_one_catches(name, bases):
    for base in [spinloom.Error, *bases]:
        assert issubclass(getattr(spinloom, name), base)


def failures(folder):
    """(call, class, part of the text)"""
    k = np.zeros((5, 2)) + 0.5
    x = np.ones((8, 8), "complex64")
    far = np.full((5, 2), 7.0)
    lost = k.copy()
    lost[3, 1] = np.nan
    return [
        (lambda: spinloom.Nufft(far, (8, 8)), spinloom.FormatError, "beyond the edge of k-space for a matrix of [8, 8]"),
        (lambda: spinloom.Nufft(lost, (8, 8)), ValueError, "sample 3"),
        (lambda: spinloom.Nufft(k, (8,)), spinloom.ShapeError, "trajectory has 2 columns, but the matrix [8] has 1 axes"),
        (lambda: spinloom.Nufft(k, ()), ValueError, "the matrix has no axes"),
        (lambda: spinloom.Nufft(k, (8, 8), tolerance=-1), spinloom.ArgumentError, "tolerance -1"),
        (lambda: spinloom.Nufft(k, (8, 8), oversampling=9), spinloom.ArgumentError, "9"),
        (lambda: spinloom.Nufft(k, (8, 8), 0), spinloom.ArgumentError, "coils = 0, expected 1 or more"),
        (lambda: spinloom.Nufft(k, (8, 8), units="furlongs"), spinloom.ArgumentError, "'furlongs' is unknown, expected"),
        (lambda: spinloom.Nufft(k, (8, 8), device="tpu"), spinloom.ArgumentError, "device 'tpu' is unknown"),
        (lambda: spinloom.Nufft(k, (8, 8), device="cuda"), spinloom.BackendUnavailable, "cuda"),
        (lambda: spinloom.Nufft(k, (8, 8), dtype="float32"), TypeError, "expected complex64 or complex128"),
        (lambda: spinloom.Nufft(k[0], (8, 8)), spinloom.ShapeError, "expected [samples..., columns]"),
        (lambda: spinloom.nufft.forward(x[0], k), ValueError, "expected 2 axes, or 3 with coils first"),
        (lambda: spinloom.nufft.forward(x.real, k), TypeError, "convert it, for example with image.astype('complex64')"),
        (lambda: spinloom.nufft.forward([1], k), TypeError, "image is of type list"),
        (lambda: spinloom.NormalOperator(k, (8, 8), np.ones(4)), spinloom.ShapeError, "weights has shape [4], expected [5]"),
        (lambda: spinloom.NormalOperator(k, (8, 8), -np.ones(5)), spinloom.ArgumentError, "-1"),
        (lambda: spinloom.NormalOperator(k, (8, 8), np.ones(5, "complex64")), TypeError, "take abs(weights)"),
        (lambda: spinloom.Encoding(k, np.ones((2, 8, 8))), TypeError, "maps has dtype float64"),
        (lambda: spinloom.Encoding(k, x, operator="fast"), ValueError, "expected one of toeplitz, nufft, dft"),
        (lambda: spinloom.io.read(folder / "none.npy"), spinloom.FileError, "none.npy: cannot be opened"),
        (lambda: spinloom.io.read(folder / "text.nii"), spinloom.FormatError, "text.nii"),
        (lambda: spinloom.io.write(folder / "a.tiff", x), spinloom.ArgumentError, ".nii.gz"),
        (lambda: spinloom.io.read_scan(folder / "none.mrd"), spinloom.FileError, "none.mrd"),
        (lambda: spinloom.recon_file(folder / "none.mrd"), spinloom.FileError, "none.mrd"),
        (lambda: spinloom.simulate("shepp-logan", k), ValueError, "matrix is missing"),
        (lambda: spinloom.simulate("none.json", k, (8, 8)), spinloom.FileError, "none.json"),
        (lambda: spinloom.simulate("shepp-logan", k, (8, 8), coils=0), spinloom.ArgumentError, "0 coils"),
        (lambda: spinloom.simulate("shepp-logan", k, (8, 8), noise=1, snr_db=3), ValueError, "give one of them"),
        (lambda: spinloom.compare(x, x[:4]), spinloom.ShapeError, "[8, 8]"),
        (lambda: spinloom.compare(x * np.nan, x), spinloom.ArgumentError, "finite"),
        (lambda: spinloom.cg(x, x), TypeError, "expected a spinloom.LinearOperator"),
        (lambda: spinloom.density_compensation(k, (8, 8), support="star"), spinloom.ArgumentError, "box, ellipsoid"),
        (lambda: spinloom.estimate_coil_maps(x, window=4), spinloom.ArgumentError, "4"),
        (lambda: spinloom.recon(x, k, (8, 8), method="magic"), spinloom.ArgumentError, "expected one of cg, gridding"),
        (lambda: spinloom.recon(x, k, (8, 8)), spinloom.ShapeError, "expected [coils, samples...]"),
        (lambda: spinloom.recon(x[:, :5], k, (8, 8), iterations="many"), TypeError, "iterations is 'many', expected a whole"),
        (lambda: spinloom.recon(x[:, :5], k, (8, 8), iterations=-1), spinloom.ArgumentError, "-1 iterations"),
        (lambda: spinloom.recon(x[:, :5], k, (8, 8), x), spinloom.ShapeError, "maps"),
        (lambda: spinloom.recon(x[:, :5], k, (8, 8), regularisation="none", lambda_=1), ValueError, "no meaning"),
        (lambda: spinloom.recon(x[:, :5], k, (8, 8), x, combine="rss"), ValueError, "no meaning with combine='rss'"),
        (lambda: spinloom.trajectories.radial2d((8, 8), spokes=-1), spinloom.ArgumentError, "-1"),
        (lambda: spinloom.trajectories.radial2d((8, 8, 8)), spinloom.ArgumentError, ""),
        (lambda: spinloom.trajectories.radial2d((8, 8), tiny=3), ValueError, "golden=True only"),
    ]


@pytest.mark.parametrize("index", range(len(failures(Path()))))
def test_every_failure_says_what_to_do(tmp_path, index):
    (tmp_path / "text.nii").write_text("not an image")
    call, kind, text = failures(tmp_path)[index]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 10


@pytest.mark.skipif(not COMMAND, reason="the command was not built")
@pytest.mark.parametrize(
    "change",
    [lambda k: k * 3, lambda k: k[..., :1]],
    ids=["beyond the matrix", "columns"],
)
def test_texts_are_those_of_the_command_line(rng, tmp_path, change):
    k = random_trajectory(rng, (30,), (8, 9))
    k[0] = [3.9, 4.4]
    k = change(k)
    image = np.ones((8, 9), "complex64")
    with pytest.raises(spinloom.Error) as caught:
        spinloom.nufft.adjoint(np.ones(30, "complex64"), k, (8, 9))
    np.save(tmp_path / "k.npy", k)
    np.save(tmp_path / "x.npy", image)
    command = [COMMAND, "nufft", "forward", "--traj", "k.npy", "--in", "x.npy", "-o", "y.npy", "--matrix", "8,9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(": " + str(caught.value))


def test_nothing_half_written_is_left_behind(tmp_path):
    with pytest.raises(spinloom.FileError):
        spinloom.io.write(tmp_path / "missing" / "a.npy", np.ones(3))
    (tmp_path / "a.npy").write_bytes(b"kept")
    with pytest.raises(spinloom.FileError, match="exists"):
        spinloom.io.write(tmp_path / "a.npy", np.ones(3))
    assert (tmp_path / "a.npy").read_bytes() == b"kept"
    assert os.listdir(tmp_path) == ["a.npy"]
