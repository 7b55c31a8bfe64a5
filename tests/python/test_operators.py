"""Operators equal the exact sums, and combine as operators do."""

import numpy as np
import pytest
import spinloom
from conftest import exact, random_complex, random_trajectory, relative_error

# Odd, prime, one and very different sizes, in one to three dimensions.
MATRICES = [(11,), (1,), (16,), (5, 7), (1, 9), (12, 1), (8, 31), (5, 7, 9), (3, 1, 8), (6, 6, 2)]


@pytest.mark.parametrize("matrix", MATRICES, ids=str)
@pytest.mark.parametrize("coils", [None, 1, 3])
def test_nufft_matches_the_direct_sum(rng, matrix, coils):
    k = random_trajectory(rng, (4, 9), matrix)
    e = exact(k, matrix)
    lead = () if coils is None else (coils,)
    x, y = random_complex(rng, lead + matrix), random_complex(rng, lead + (4, 9))
    plan = spinloom.Nufft(k, matrix, coils, tolerance=1e-10, dtype="complex128")
    assert plan.domain == lead + matrix and plan.range == lead + (4, 9)
    flat = (coils or 1, -1)
    # The tolerance bounds the relative L2 error for white input; few samples scatter around it.
    assert relative_error(plan.forward(x), (x.reshape(flat) @ e.T).reshape(y.shape)) < 1e-9
    assert relative_error(plan.adjoint(y), (y.reshape(flat) @ e.conj()).reshape(x.shape)) < 1e-9


@pytest.mark.parametrize("matrix", [(11,), (5, 7), (4, 5, 6)], ids=str)
@pytest.mark.parametrize(("dtype", "bound"), [("complex64", 2e-6), ("complex128", 1e-13)])
def test_exact_transform_is_exact(rng, matrix, dtype, bound):
    # A few roundings over some hundred terms of unit size, in the precision of the type.
    k = random_trajectory(rng, (40,), matrix)
    plan = spinloom.Nufft(k, matrix, exact=True, dtype=dtype)
    x = random_complex(rng, matrix, dtype)
    assert plan.forward(x).dtype == dtype
    assert relative_error(plan.forward(x), exact(k, matrix) @ x.ravel()) < bound


def test_single_precision_keeps_its_tolerance(rng):
    matrix = (24, 30)
    k = random_trajectory(rng, (500,), matrix)
    x = random_complex(rng, matrix, "complex64")
    truth = exact(k, matrix) @ x.ravel().astype("complex128")
    for tolerance in (1e-2, 1e-3, 1e-4, 1e-5):
        assert relative_error(spinloom.Nufft(k, matrix, tolerance=tolerance) @ x, truth) < 2 * tolerance


def test_functions_equal_the_operator(rng):
    matrix = (9, 10)
    k = random_trajectory(rng, (6, 5), matrix)
    for coils in (None, 2):
        lead = () if coils is None else (coils,)
        x, y = random_complex(rng, lead + matrix), random_complex(rng, lead + (6, 5))
        plan = spinloom.Nufft(k, matrix, coils, tolerance=1e-6, dtype="complex128")
        assert np.array_equal(spinloom.nufft.forward(x, k, tolerance=1e-6), plan.forward(x))
        assert np.array_equal(spinloom.nufft.adjoint(y, k, matrix, tolerance=1e-6), plan.adjoint(y))


@pytest.mark.parametrize("units", ["cycles-per-fov", "cycles-per-pixel", "radians"])
def test_units_give_one_answer(rng, units):
    matrix = (10, 21)
    k = random_trajectory(rng, (50,), matrix)
    factor = {"cycles-per-fov": 1, "cycles-per-pixel": 1 / np.array(matrix), "radians": 2 * np.pi / np.array(matrix)}
    x = random_complex(rng, matrix)
    y = spinloom.nufft.forward(x, k * factor[units], units=units, exact=True)
    assert relative_error(y, exact(k, matrix) @ x.ravel()) < 1e-12


def test_the_edge_of_k_space_belongs_to_it():
    # +N/2 and -N/2, and a float's rounding error beyond, are all taken.
    k = np.array([[0.5], [-0.5], [0.50000006], [-0.50000006]], dtype="float32")
    x = np.random.default_rng(3).standard_normal(32) + 0j
    y = spinloom.nufft.forward(x, k, units="cycles-per-pixel", tolerance=1e-10)
    assert relative_error(y, exact(k.astype(float) * 32, (32,)) @ x) < 1e-9


def test_normal_operator_is_adjoint_after_forward(rng):
    for matrix in [(11, 8), (5, 6, 7), (9,)]:
        k = random_trajectory(rng, (200,), matrix)
        w = rng.random(200)
        e = exact(k, matrix)
        x = random_complex(rng, (2, *matrix))
        truth = (x.reshape(2, -1) @ ((e.T * w) @ e.conj()).T.conj().T).reshape(x.shape)
        truth = np.stack([(e.conj().T @ (w * (e @ c.ravel()))).reshape(matrix) for c in x])
        t = spinloom.NormalOperator(k, matrix, w, coils=2, tolerance=1e-10, dtype="complex128")
        assert relative_error(t @ x, truth) < 1e-9
        # Self-adjoint.
        assert relative_error(t.adjoint(x), truth) < 1e-9


def test_weights_default_to_one(rng):
    k = random_trajectory(rng, (60,), (8, 9))
    x = random_complex(rng, (8, 9))
    a = spinloom.NormalOperator(k, (8, 9), dtype="complex128", tolerance=1e-9)
    b = spinloom.NormalOperator(k, (8, 9), np.ones(60), dtype="complex128", tolerance=1e-9)
    assert np.array_equal(a @ x, b @ x)


@pytest.mark.parametrize("operator", ["toeplitz", "nufft", "dft"])
@pytest.mark.parametrize("coil_batch", [0, 1, 2])
def test_encoding_is_unitary_scaled(rng, operator, coil_batch):
    matrix = (7, 6)
    k = random_trajectory(rng, (30, 3), matrix)
    maps = random_complex(rng, (3, *matrix))
    e = exact(k, matrix) / np.sqrt(42)
    x = random_complex(rng, matrix)
    a = spinloom.Encoding(k, maps, operator=operator, tolerance=1e-9, coil_batch=coil_batch)
    truth = np.stack([(e @ (s * x).ravel()).reshape(30, 3) for s in maps])
    assert a.domain == matrix and a.range == (3, 30, 3) and a.dtype == np.complex128
    assert relative_error(a @ x, truth) < 1e-8
    back = sum(s.conj() * (e.conj().T @ y.ravel()).reshape(matrix) for s, y in zip(maps, truth))
    assert relative_error(a.adjoint(truth), back) < 1e-8
    assert relative_error(a.normal(x), back) < 1e-8


@pytest.mark.parametrize(("dtype", "bound"), [("complex64", 1e-5), ("complex128", 1e-12)])
def test_adjoint_is_the_conjugate_transpose(rng, dtype, bound):
    k = random_trajectory(rng, (300,), (13, 16))
    a = spinloom.Nufft(k, (13, 16), 2, dtype=dtype)
    x, y = random_complex(rng, a.domain, dtype), random_complex(rng, a.range, dtype)
    ax, ahy = a @ x, a.H @ y
    gap = abs(np.vdot(y.astype("complex128"), ax) - np.vdot(ahy.astype("complex128"), x))
    assert gap <= bound * np.linalg.norm(ax) * np.linalg.norm(y)
    assert a.adjoint_gap() < bound
    assert np.array_equal(a.H.H @ x, ax)


def test_operators_add_and_scale(rng):
    k = random_trajectory(rng, (50,), (6, 7))
    a = spinloom.Nufft(k, (6, 7), dtype="complex128").N
    one = spinloom.Identity(a.domain, dtype="complex128")
    x = random_complex(rng, (6, 7))
    assert relative_error((a + 0.25 * one) @ x, a @ x + 0.25 * x) < 1e-14
    assert relative_error((a - one * 3) @ x, a @ x - 3 * x) < 1e-14
    with pytest.raises(TypeError, match="one is complex64, the other complex128"):
        a + spinloom.Identity(a.domain)
    with pytest.raises(spinloom.ShapeError, match=r"shape \[5\], expected \[6, 7\]"):
        a + spinloom.Identity((5,), dtype="complex128")
    with pytest.raises(TypeError):
        a * 1j


def test_no_samples_and_no_voxels(rng):
    empty = np.zeros((0, 2))
    assert not spinloom.nufft.adjoint(np.zeros((3, 0), "complex64"), empty, (4, 5)).any()
    assert spinloom.nufft.forward(np.ones((3, 4, 5), "complex64"), empty).shape == (3, 0)
    with pytest.raises(ValueError):
        spinloom.Nufft(np.zeros((1, 2)), (0, 4))


def test_one_sample_at_the_centre():
    x = spinloom.nufft.adjoint(np.array([2 + 3j]), np.zeros((1, 3)), (8, 8, 8), tolerance=1e-10)
    assert np.allclose(x, 2 + 3j, rtol=1e-9)


def test_large_amplitudes_do_not_overflow(rng):
    # k = -N/2 for all samples: the sum alternates in sign, and fits single precision although its parts are large.
    m = 10_000
    y = (1e30 * np.arange(m) / (m - 1)).astype("complex64")
    x = spinloom.nufft.adjoint(y, np.full((m, 3), -4.0), (8, 8, 8))
    sign = (-1.0) ** np.indices((8, 8, 8)).sum(0)
    assert np.allclose(x / np.complex64(1e33), 5.0 * sign, rtol=1e-3)
