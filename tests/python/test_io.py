"""Files come back as they were written, and as other programs read them."""

import gzip
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest
import spinloom
from conftest import random_complex

COMMAND = os.environ.get("SPINLOOM_COMMAND")
TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


def values(rng, dtype, shape):
    if "complex" in dtype:
        return random_complex(rng, shape, dtype)
    if dtype == "bool":
        return rng.random(shape) > 0.5
    return (rng.standard_normal(shape) * 50).astype("int64" if "int" in dtype else "float64").astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_npy_is_numpys(rng, tmp_path, dtype):
    a = values(rng, dtype, (3, 4, 5))
    spinloom.io.write(tmp_path / "a.npy", a)
    assert np.array_equal(np.load(tmp_path / "a.npy"), a) and np.load(tmp_path / "a.npy").dtype == a.dtype
    np.save(tmp_path / "b.npy", np.asfortranarray(a))
    b = spinloom.io.read(tmp_path / "b.npy")
    assert b.data.dtype == a.dtype and np.array_equal(b.data, a) and b.format == "npy" and b.affine is None


def test_strided_arrays_are_written_rightly(rng, tmp_path):
    a = rng.standard_normal((6, 8, 10))
    view = a[::-1, ::2].transpose(2, 0, 1)
    spinloom.io.write(str(tmp_path / "a.npy"), view)
    assert np.array_equal(np.load(tmp_path / "a.npy"), view)
    with pytest.raises(TypeError, match="bytes are swapped"):
        spinloom.io.write(tmp_path / "b.npy", a.astype(">f8"))


def test_odd_shapes_come_back(tmp_path):
    for i, shape in enumerate([(), (0,), (3, 0, 2), (1,), (1, 1, 7)]):
        spinloom.io.write(tmp_path / f"{i}.npy", np.zeros(shape, "float32"))
        assert spinloom.io.read(tmp_path / f"{i}.npy").data.shape == shape


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_nifti_keeps_place_and_values(rng, tmp_path, name):
    data = rng.standard_normal((4, 5, 6)).astype("float32")
    affine = np.array([[0, -2.0, 0, 7], [1.5, 0, 0, -8], [0, 0, 3.0, 9], [0, 0, 0, 1]])
    spinloom.io.write(tmp_path / name, data, affine=affine)
    image = spinloom.io.read(tmp_path / name)
    assert np.array_equal(image.data, data) and np.allclose(image.affine, affine) and image.format == "nifti"
    assert np.allclose(image.voxel_size, [3, 2, 1.5])  # z, y, x
    # As the standard has it, by hand: sizes x first, sform rows, values from vox_offset on.
    raw = (tmp_path / name).read_bytes()
    raw = gzip.decompress(raw) if name.endswith("gz") else raw
    assert struct.unpack_from("<4h", raw, 40) == (3, 6, 5, 4)
    assert np.allclose(np.frombuffer(raw, "<f4", 12, 280).reshape(3, 4), affine[:3])
    offset = int(struct.unpack_from("<f", raw, 108)[0])
    assert np.array_equal(np.frombuffer(raw, "<f4", 120, offset).reshape(4, 5, 6), data)


def test_a_header_is_carried_from_file_to_file(rng, tmp_path):
    spinloom.io.write(tmp_path / "a.nii", np.arange(24, dtype="int16").reshape(2, 3, 4), affine=np.diag([2, 2, 2, 1]))
    raw = bytearray((tmp_path / "a.nii").read_bytes())
    struct.pack_into("<80s", raw, 148, b"made by hand")
    struct.pack_into("<2f", raw, 112, 2.0, -1.0)  # slope, intercept
    (tmp_path / "a.nii").write_bytes(raw)
    image = spinloom.io.read(tmp_path / "a.nii")
    assert np.array_equal(image.data.ravel(), 2.0 * np.arange(24) - 1)
    spinloom.io.write(tmp_path / "b.nii", image.with_data(image.data + 2), stored_type=True)
    written = (tmp_path / "b.nii").read_bytes()
    assert written[148:160] == b"made by hand" and struct.unpack_from("<h", written, 70) == (4,)
    assert np.array_equal(np.frombuffer(written, "<i2", 24, 352), np.arange(24) + 1)


def test_cfl_is_barts(rng, tmp_path):
    data = random_complex(rng, (2, 3, 4, 5), "complex64")  # coils, z, y, x
    spinloom.io.write(tmp_path / "a.cfl", data)
    dims = [int(d) for d in (tmp_path / "a.hdr").read_text().splitlines()[1].split()]
    assert dims[:5] == [5, 4, 3, 2, 1] and np.prod(dims) == data.size
    assert np.array_equal(np.fromfile(tmp_path / "a.cfl", "complex64").reshape(data.shape), data)
    assert np.array_equal(spinloom.io.read(tmp_path / "a").data, data)


def test_png_comes_back(rng, tmp_path):
    grey = rng.integers(0, 256, (7, 9)).astype("uint8")
    spinloom.io.write(tmp_path / "a.png", grey)
    assert np.array_equal(spinloom.io.read(tmp_path / "a.png").data, grey)


def test_what_a_format_cannot_hold_is_warned_of(tmp_path):
    with pytest.warns(spinloom.SpinloomWarning, match="npy"):
        spinloom.io.write(tmp_path / "a.npy", np.zeros((2, 2, 2)), affine=np.eye(4))


def test_an_affine_of_another_shape_is_refused(tmp_path):
    with pytest.raises(spinloom.ShapeError, match=r"affine has shape \[3, 4\], expected \[4, 4\]"):
        spinloom.io.write(tmp_path / "a.nii", np.zeros((2, 2, 2)), affine=np.eye(4)[:3])


def test_data_of_a_file_outlives_its_image(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(1000.0))
    data = spinloom.io.read(tmp_path / "a.npy").data
    assert data.flags.writeable
    data += 1
    assert np.array_equal(data, np.arange(1000.0) + 1)


@pytest.mark.parametrize("dims", [2, 3])
def test_a_scan_comes_back_from_mrd(rng, tmp_path, dims):
    matrix = (6, 12, 10)[-dims:]
    k = spinloom.trajectories.random(matrix, 5, 40, seed=2)
    y = random_complex(rng, (3, 5, 40), "complex64")
    noise = random_complex(rng, (3, 100), "complex64")
    spinloom.io.write_scan(
        tmp_path / "a.mrd", y, k, matrix, noise=noise, fov_mm=[2.0 * n for n in matrix], sample_time_us=4.0
    )
    scan = spinloom.io.read_scan(tmp_path / "a.mrd")
    assert len(scan.measurements) == 1 and any("5 image lines" in line for line in scan.report)
    m = scan.measurements[0]
    assert m.matrix == matrix and np.allclose(m.fov_mm, [2.0 * n for n in matrix])
    assert np.array_equal(m.kspace, y.reshape(3, -1)) and np.array_equal(scan.noise, noise)
    # Stored in cycles per pixel in single precision.
    assert np.allclose(m.trajectory, k.reshape(-1, dims), atol=1e-6 * max(matrix))
    assert np.allclose(m.sample_times[:3], [0, 4e-6, 8e-6], atol=1e-9)
    assert m.label == {"repetition": 0, "set": 0, "phase": 0, "contrast": 0, "slice": 0}


def test_arrays_on_a_trajectory_are_read_as_a_scan(rng, tmp_path):
    k = spinloom.trajectories.radial2d((16, 16), 8, 20)
    y = random_complex(rng, (2, 8, 20), "complex64")
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "k.npy", k)
    scan = spinloom.io.read_scan(tmp_path / "y.npy", trajectory=tmp_path / "k.npy", matrix=(16, 16))
    assert np.array_equal(scan.measurements[0].kspace, y.reshape(2, -1))
    assert np.allclose(scan.measurements[0].trajectory, k.reshape(-1, 2), atol=1e-12)
    assert scan.noise is None
    with pytest.raises(spinloom.ArgumentError, match="matrix"):
        spinloom.io.read_scan(tmp_path / "y.npy", trajectory=tmp_path / "k.npy")


@pytest.mark.skipif(not COMMAND, reason="the command was not built")
def test_the_command_reads_a_scan_written_here(rng, tmp_path):
    k = spinloom.trajectories.radial2d((16, 16), 25)
    made = spinloom.simulate("shepp-logan", k, (16, 16), coils=2)
    spinloom.io.write_scan(tmp_path / "a.h5", made.kspace, k, (16, 16), kind="radial")
    subprocess.run([COMMAND, "recon", tmp_path / "a.h5", "-o", tmp_path / "a.npy", "--quiet"], check=True, capture_output=True)
    assert np.load(tmp_path / "a.npy").shape == (1, 16, 16)


def test_scans_that_do_not_fit_are_refused(rng, tmp_path):
    k = spinloom.trajectories.radial2d((16, 16), 8, 20)
    y = random_complex(rng, (2, 8, 20), "complex64")
    for arguments, text in [
        ((y[:, :7], k, (16, 16)), "expected"),
        ((y, k, (8, 8)), "beyond the edge"),
        ((y.astype("complex128"), k, (16, 16)), "dtype complex128"),
    ]:
        with pytest.raises((ValueError, TypeError), match=text):
            spinloom.io.write_scan(tmp_path / "a.mrd", *arguments)
    with pytest.raises(ValueError, match=".mrd or .h5"):
        spinloom.io.write_scan(tmp_path / "a.dat", y, k, (16, 16))
    with pytest.raises(spinloom.ShapeError, match="noise has shape"):
        spinloom.io.write_scan(tmp_path / "a.mrd", y, k, (16, 16), noise=y[0])
    assert list(pathlib.Path(tmp_path).iterdir()) == []
