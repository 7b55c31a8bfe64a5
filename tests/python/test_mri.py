"""Trajectories, density compensation and coil maps keep their promises."""

import numpy as np
import pytest
import spinloom
from conftest import random_complex, relative_error

tr = spinloom.trajectories


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: tr.radial2d((15, 20), 7, 30), (7, 30, 2)),
        (lambda: tr.radial2d((15, 20), 7, 30, golden=True, tiny=3), (7, 30, 2)),
        (lambda: tr.radial3d((8, 9, 10), 11, 12), (11, 12, 3)),
        (lambda: tr.stack_of_stars((4, 9, 10), 5, 12, rotate_partitions=True), (20, 12, 3)),
        (lambda: tr.spiral2d((16, 17), 3, 100), (3, 100, 2)),
        (lambda: tr.stack_of_spirals((4, 16, 16), 2, 50), (8, 50, 3)),
        (lambda: tr.cartesian((6, 7)), (6, 7, 2)),
        (lambda: tr.cartesian((4, 6, 7), acceleration_y=2), (12, 7, 3)),
        (lambda: tr.random((6, 7), 9, 10, seed=3), (9, 10, 2)),
    ],
)
def test_trajectories_fill_their_matrix(make, shape):
    k = make()
    assert k.shape == shape and k.dtype == np.float64
    assert np.array_equal(k, make())


def test_trajectories_stay_within_their_matrix():
    for matrix in [(15, 20, 31), (4, 7, 5)]:
        for k in (tr.radial3d(matrix), tr.cones(matrix), tr.stack_of_stars(matrix), tr.random(matrix)):
            assert (np.abs(k).reshape(-1, 3).max(0) <= np.array(matrix) / 2 + 1e-9).all()


def test_radial_spokes_lie_at_their_angles():
    k = tr.radial2d((32, 32), 8, 64)
    angles = np.arctan2(k[:, -1, 0], k[:, -1, 1]) % np.pi
    assert np.allclose(np.sort(angles), np.arange(8) * np.pi / 8, atol=1e-12)
    # The golden angle, 111.246 degrees.
    k = tr.radial2d((32, 32), 8, 64, golden=True)
    steps = np.diff(np.unwrap(np.arctan2(k[:, -1, 0], k[:, -1, 1]), period=2 * np.pi)) % np.pi
    assert np.allclose(steps, np.pi * (np.sqrt(5) - 1) / 2 % np.pi, atol=1e-9)


def test_a_sample_can_lie_at_the_centre():
    assert (np.abs(tr.radial2d((16, 16), 5, 33, sample_centre=True)).sum(-1).min(1) < 1e-12).all()


def test_cartesian_samples_are_the_grid():
    k = tr.cartesian((5, 6))
    y, x = np.meshgrid(np.arange(5) - 2, np.arange(6) - 3, indexing="ij")
    assert np.array_equal(k, np.stack([y, x], -1))


def test_density_weights_make_the_adjoint_an_image():
    matrix = (32, 32)
    k = tr.radial2d(matrix, 51, 64)
    w = spinloom.density_compensation(k, matrix)
    assert w.shape == k.shape[:-1] and w.dtype == np.float64 and (w > 0).all()
    # A smooth object well inside the field of view and the disk of k-space comes back.
    y, x = (np.indices(matrix) - 16) / 32
    truth = np.exp(-((x / 0.12) ** 2 + (y / 0.15) ** 2)).astype("complex128")
    plan = spinloom.Nufft(k, matrix, dtype="complex128")
    image = plan.adjoint(w * plan.forward(truth)) / truth.size
    assert relative_error(image, truth) < 0.05


def test_samples_given_twice_share_their_weight():
    k = tr.radial2d((16, 16), 25, 32)
    w = spinloom.density_compensation(k, (16, 16))
    twice = spinloom.density_compensation(np.concatenate([k, k]), (16, 16))
    # The transform that finds them is good to 1e-3, which ten iterations raise tenfold.
    assert np.allclose(twice[:25], w / 2, rtol=2e-2)


def test_the_weights_sum_to_the_volume_asked_for():
    w = spinloom.density_compensation(tr.radial2d((16, 16), 25, 32), (16, 16), volume=200.0, support="ellipsoid")
    assert np.isclose(w.sum(), 200)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_root_sum_of_squares_is_its_formula(rng, dtype):
    images = random_complex(rng, (5, 4, 6), dtype)
    got = spinloom.root_sum_of_squares(images[:, ::-1])
    assert got.dtype == images.real.dtype
    assert np.allclose(got, np.sqrt((np.abs(images[:, ::-1]) ** 2).sum(0)), rtol=1e-6)


def test_coil_maps_are_found_up_to_a_phase(rng):
    scan = spinloom.simulate("shepp-logan", tr.cartesian((32, 32)), (32, 32), coils=4)
    y, x = (np.indices((32, 32)) - 16) / 32
    inside = (x / 0.3) ** 2 + (y / 0.4) ** 2 < 1
    object_ = 1.0 + 0.2 * np.cos(5 * x)
    maps = spinloom.estimate_coil_maps((scan.maps * object_).astype("complex64"))
    assert np.allclose(np.linalg.norm(maps, axis=0)[inside], 1, atol=1e-5)
    truth = scan.maps / np.linalg.norm(scan.maps, axis=0)
    overlap = np.abs((truth.conj() * maps).sum(0))[inside]
    # The box of 5 voxels smooths the maps' own change over it.
    assert overlap.min() > 0.99
