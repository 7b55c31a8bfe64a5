"""Reconstructions solve the problem that they state, and files give what arrays give."""

import os
import subprocess

import numpy as np
import pytest
import spinloom
from conftest import exact, random_complex, random_trajectory, relative_error

COMMAND = os.environ.get("SPINLOOM_COMMAND")


@pytest.fixture
def scan(rng):
    matrix = (24, 20)
    k = spinloom.trajectories.radial2d(matrix, 40, golden=True)
    return spinloom.simulate("shepp-logan", k, matrix, coils=4, seed=int(rng.integers(1 << 30))), k, matrix


@pytest.mark.parametrize("operator", ["toeplitz", "nufft", "dft"])
def test_recon_solves_the_regularised_normal_equations(rng, operator):
    matrix = (6, 7)
    k = random_trajectory(rng, (30, 4), matrix)
    maps = random_complex(rng, (2, *matrix), "complex64")
    y = random_complex(rng, (2, 30, 4), "complex64")
    e = exact(k, matrix) / np.sqrt(42)
    full = np.concatenate([e * s.ravel() for s in maps])
    gram = full.conj().T @ full
    largest = np.linalg.eigvalsh(gram)[-1]
    result = spinloom.recon(
        y, k, matrix, maps, operator=operator, lambda_=0.1, tolerance=1e-6, stop=1e-6, iterations=300
    )
    # lambda counts relative to an estimate of the largest eigenvalue, from below and good to some per cent; the
    # absolute value is reported, and exact.
    c = result.convergence
    assert c.converged and 0.8 * largest < c.largest_eigenvalue < 1.0001 * largest
    assert np.isclose(c.lambda_absolute, 0.1 * c.largest_eigenvalue)
    expected = np.linalg.solve(gram + c.lambda_absolute * np.eye(42), full.conj().T @ y.ravel())
    assert result.image.shape == matrix and result.image.dtype == np.complex64
    assert relative_error(result.image.ravel(), expected) < 1e-4


def test_recon_finds_the_phantom(scan):
    made, k, matrix = scan
    result = spinloom.recon(made.kspace, k, matrix, made.maps, lambda_=1e-2)
    # Data are unscaled, E is unitary: images are sqrt(voxels) times the object. 24 voxels cannot hold its edges: the
    # spokes see them, between the cells of the truth's grid, which leaves 0.16.
    q = spinloom.compare(result.image / np.sqrt(480), made.truth)
    assert result.convergence.converged and q.nrmse < 0.2 and q.correlation > 0.97
    assert result.convergence.history[-1] == pytest.approx(result.convergence.residual)


@pytest.mark.parametrize("maps", [None, "ones"])
def test_maps_are_estimated_or_ones(scan, maps):
    made, k, matrix = scan
    result = spinloom.recon(made.kspace, k, matrix, maps)
    assert result.maps.shape == made.maps.shape
    assert np.array_equal(result.maps, np.ones_like(made.maps)) == (maps == "ones")
    assert result.convergence.notes


def test_strided_arrays_give_the_same_image(scan):
    made, k, matrix = scan
    expected = spinloom.recon(made.kspace, k, matrix, made.maps).image
    columns = np.ascontiguousarray(np.moveaxis(k, -1, 0))
    samples = np.asfortranarray(made.kspace)
    maps = np.repeat(made.maps, 2, axis=-1)[..., ::2]
    assert np.array_equal(spinloom.recon(samples, np.moveaxis(columns, 0, -1), matrix, maps).image, expected)


def test_gridding_and_rss(scan):
    made, k, matrix = scan
    gridding = spinloom.recon(made.kspace, k, matrix, made.maps, method="gridding")
    assert gridding.convergence.iterations == 0
    rss = spinloom.recon(made.kspace, k, matrix, combine="rss", method="gridding")
    truth = np.abs(made.truth) * np.linalg.norm(made.maps, axis=0)
    assert not rss.image.imag.any()
    assert spinloom.compare(rss.image.real / np.sqrt(480), truth).nrmse < 0.2


def test_verification_compares_with_the_exact_sums(scan):
    made, k, matrix = scan
    v = spinloom.recon(made.kspace, k, matrix, made.maps, verify=True, tolerance=1e-4).verification
    assert v["relative_error_forward"] < 2e-4 and v["relative_error_adjoint"] < 2e-4 and v["adjoint_gap"] < 1e-5


def test_noise_whitens_the_coils(scan):
    made, k, matrix = scan
    noisy = spinloom.simulate("shepp-logan", k, matrix, coils=4, noise=0.2)
    result = spinloom.recon(noisy.kspace, k, matrix, noisy.maps, noise=noisy.noise)
    # The maps see what the data see: M with M C M^H = 1, C the covariance of the noise.
    c = noisy.noise @ noisy.noise.conj().T / noisy.noise.shape[1]
    m = np.linalg.inv(np.linalg.cholesky(c.astype("complex128")))
    assert relative_error(result.maps, np.einsum("ij,jyx->iyx", m, noisy.maps)) < 1e-4
    assert spinloom.compare(result.image / np.sqrt(480), made.truth).nrmse < 0.3


def test_zero_data_gives_a_zero_image(scan):
    made, k, matrix = scan
    result = spinloom.recon(np.zeros_like(made.kspace), k, matrix, made.maps)
    assert result.convergence.iterations == 0 and not result.image.any()


def test_a_slab_of_one_slice_keeps_its_axis(scan):
    made, k, matrix = scan
    result = spinloom.recon(made.kspace, k, matrix, made.maps)
    flat = np.concatenate([np.zeros((*k.shape[:-1], 1)), k], -1)
    slab = spinloom.recon(made.kspace, flat, (1, *matrix), made.maps[:, None])
    assert slab.image.shape == (1, *matrix) and np.array_equal(slab.image[0], result.image)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A small scan as MRD, written here, with noise lines."""
    folder = tmp_path_factory.mktemp("scan")
    matrix = (24, 20)
    k = spinloom.trajectories.radial2d(matrix, 40)
    made = spinloom.simulate("shepp-logan", k, matrix, coils=4, noise=0.5)
    spinloom.io.write_scan(folder / "scan.mrd", made.kspace, k, matrix, noise=made.noise, fov_mm=(240, 200), sample_time_us=5)
    np.save(folder / "maps.npy", made.maps)
    return folder, made, k, matrix


def test_a_file_gives_the_image_of_its_arrays(files):
    folder, made, k, matrix = files
    image = spinloom.recon_file(folder / "scan.mrd", maps=made.maps)
    arrays = spinloom.recon(made.kspace, k, matrix, made.maps, noise=made.noise)
    # The file holds positions in single precision, and the iterations stop at a residual of 1e-3.
    assert image.image.shape == (1, *matrix) and relative_error(image.image[0], arrays.image) < 1e-3
    assert np.allclose(np.linalg.norm(image.affine[:3, :2], axis=0), [10, 10])
    by_name = spinloom.recon_file(folder / "scan.mrd", maps=folder / "maps.npy")
    assert np.array_equal(by_name.image, image.image)
    assert any("noise" in line for line in image.report)


@pytest.mark.skipif(not COMMAND, reason="the command was not built")
def test_a_file_gives_the_image_of_the_command(files, tmp_path):
    folder, *_ = files
    spinloom.recon_file(folder / "scan.mrd", tmp_path / "python.nii.gz", lambda_=1e-2)
    subprocess.run(
        [COMMAND, "recon", folder / "scan.mrd", "-o", tmp_path / "command.nii.gz", "--lambda", "1e-2", "--quiet"],
        check=True,
        capture_output=True,
    )
    a, b = (spinloom.io.read(tmp_path / f"{name}.nii.gz") for name in ("python", "command"))
    assert a.data.dtype == np.float32 and np.array_equal(a.data, b.data) and np.array_equal(a.affine, b.affine)


def test_an_output_that_exists_is_refused_before_the_work(files, tmp_path):
    folder, *_ = files
    (tmp_path / "a.npy").write_bytes(b"kept")
    with pytest.raises(spinloom.FileError, match="exists"):
        spinloom.recon_file(folder / "scan.mrd", tmp_path / "a.npy", progress=lambda *a: 1 / 0)
    with pytest.warns(spinloom.SpinloomWarning, match="no place for voxel size"):
        spinloom.recon_file(folder / "scan.mrd", tmp_path / "a.npy", overwrite=True)
    assert np.load(tmp_path / "a.npy").dtype == np.complex64
