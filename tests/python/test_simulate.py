"""Simulated scans are the exact sums of what they say they scan."""

import json

import numpy as np
import pytest
import spinloom
from conftest import exact, random_complex, random_trajectory, relative_error


def test_an_image_is_scanned_by_the_exact_sums(rng):
    matrix = (9, 8)
    k = random_trajectory(rng, (5, 6), matrix)
    image = random_complex(rng, matrix)
    scan = spinloom.simulate(image, k, coils=3)
    e = exact(k, matrix)
    expected = np.stack([(e @ (s * image).ravel()).reshape(5, 6) for s in scan.maps.astype("complex128")])
    # The maps came back in single precision.
    assert scan.kspace.shape == (3, 5, 6) and relative_error(scan.kspace, expected) < 1e-6
    assert scan.noise is None and scan.snr_db is None and scan.sigma == 0


def test_one_coil_sees_all_alike(rng):
    scan = spinloom.simulate(np.ones((8, 8), "float32"), np.zeros((4, 2)), coils=1)
    assert np.array_equal(scan.maps, np.ones((1, 8, 8)))
    assert np.allclose(scan.kspace, 64)


def test_an_ellipse_has_its_closed_form(tmp_path):
    # y(k) = voxels * pi a b * 2 J1(2 pi q) / (2 pi q), q = |(a kx, b ky)|; on the axis kx = 0 its zeros are J1's.
    path = tmp_path / "disk.json"
    path.write_text(json.dumps({"ellipsoids": [{"center": [0, 0], "semi_axes": [0.3, 0.2], "density": 2.0}]}))
    first_zero = 3.8317059702075125 / (2 * np.pi)
    k = np.array([[0.0, 0.0], [first_zero / 0.2, 0.0], [0.0, first_zero / 0.3]])
    scan = spinloom.simulate(path, k, (32, 32), coils=1)
    assert np.allclose(scan.kspace[0], [2.0 * np.pi * 0.3 * 0.2 * 32**2, 0, 0], atol=1e-3)


def test_the_truth_is_what_the_grid_measures():
    matrix = (16, 17)
    k = spinloom.trajectories.cartesian(matrix)
    scan = spinloom.simulate("shepp-logan", k, matrix, coils=1)
    assert scan.truth.shape == matrix and scan.truth.dtype == np.complex128
    back = exact(k, matrix).conj().T @ scan.kspace.ravel().astype("complex128") / np.prod(matrix)
    assert relative_error(back.reshape(matrix), scan.truth) < 1e-6


def test_the_support_is_found_from_the_trajectory():
    matrix = (24, 24)
    k = spinloom.trajectories.radial2d(matrix)
    found = spinloom.simulate("shepp-logan", k, matrix, coils=1)
    disk = spinloom.simulate("shepp-logan", k, matrix, coils=1, support="ellipsoid")
    box = spinloom.simulate("shepp-logan", k, matrix, coils=1, support="box")
    assert np.array_equal(found.truth, disk.truth) and not np.array_equal(found.truth, box.truth)


def test_noise_has_the_strength_asked_for():
    matrix = (32, 32)
    k = spinloom.trajectories.radial2d(matrix)
    clean = spinloom.simulate("shepp-logan", k, matrix, coils=2)
    noisy = spinloom.simulate("shepp-logan", k, matrix, coils=2, noise=3.0, seed=5)
    difference = noisy.kspace - clean.kspace
    # 6 000 complex samples: the estimate of the variance scatters by a few per cent.
    assert np.isclose(np.mean(np.abs(difference) ** 2), 9.0, rtol=0.1)
    assert noisy.noise.shape[0] == 2 and np.isclose(np.mean(np.abs(noisy.noise) ** 2), 9.0, rtol=0.1)
    by_ratio = spinloom.simulate("shepp-logan", k, matrix, coils=2, snr_db=20.0)
    signal = np.mean(np.abs(clean.kspace) ** 2)
    assert np.isclose(by_ratio.sigma, np.sqrt(signal / 100), rtol=1e-4) and np.isclose(by_ratio.snr_db, 20)


def test_the_same_seed_gives_the_same_noise():
    k = np.zeros((50, 2))
    scans = [spinloom.simulate("shepp-logan", k, (8, 8), coils=2, noise=1.0, seed=s) for s in (1, 1, 2)]
    assert np.array_equal(scans[0].kspace, scans[1].kspace)
    assert not np.array_equal(scans[0].kspace, scans[2].kspace)


def test_three_dimensions_are_scanned(rng):
    matrix = (6, 7, 8)
    k = random_trajectory(rng, (40,), matrix)
    image = rng.standard_normal(matrix)
    scan = spinloom.simulate(image, k, coils=1)
    assert relative_error(scan.kspace[0], exact(k, matrix) @ image.ravel()) < 1e-6
    assert spinloom.simulate("shepp-logan", k, matrix, coils=5).maps.shape == (5, *matrix)


def test_progress_is_reported(rng):
    seen = []
    k = spinloom.trajectories.radial3d((16, 16, 16), 400)
    spinloom.simulate("shepp-logan", k, (16, 16, 16), coils=4, progress=lambda *a: seen.append(a))
    assert seen and seen[-1][1] == 1


@pytest.mark.parametrize("bad", [np.full((8, 8), np.nan), np.ones((8, 8), "int32"), np.ones((7, 8))])
def test_images_that_cannot_be_scanned_are_refused(bad):
    with pytest.raises((ValueError, TypeError)):
        spinloom.simulate(bad, np.zeros((4, 2)), (8, 8))
