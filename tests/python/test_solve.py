"""Conjugate gradients solve, stop, and say why."""

import numpy as np
import pytest
import spinloom
from conftest import exact, random_complex, random_trajectory, relative_error


def problem(rng, matrix=(6, 7), samples=200):
    k = random_trajectory(rng, (samples,), matrix)
    a = spinloom.Nufft(k, matrix, exact=True, dtype="complex128")
    e = exact(k, matrix)
    return a, e, random_complex(rng, matrix)


def test_cg_solves_the_normal_equations(rng):
    a, e, truth = problem(rng)
    x, info = spinloom.cg(a.N, a.adjoint(a.forward(truth)), tolerance=1e-12, iterations=500)
    # 200 samples for 42 unknowns: a condition number of tens leaves ten digits.
    assert info.converged and info.stop == "converged" and relative_error(x, truth) < 1e-9
    assert info.residual <= 1e-12 and info.history[0] == 1 and info.history[-1] == info.residual
    assert len(info.history) == info.iterations + 1


def test_cg_solves_the_regularised_problem(rng):
    a, e, _ = problem(rng, samples=20)
    y = random_complex(rng, (20,))
    system = e.conj().T @ e + 3.0 * np.eye(42)
    expected = np.linalg.solve(system, e.conj().T @ y).reshape(6, 7)
    one = spinloom.Identity(a.domain, dtype="complex128")
    x, info = spinloom.cg(a.N + 3.0 * one, a.H @ y, tolerance=1e-11, iterations=300)
    assert relative_error(x, expected) < 1e-9


def test_cg_starts_where_it_is_told(rng):
    a, _, truth = problem(rng)
    b = a.normal(truth)
    start = truth.copy()
    x, info = spinloom.cg(a.N, b, start, tolerance=1e-8)
    assert info.iterations == 0 and info.converged and relative_error(x, truth) < 1e-12
    assert np.array_equal(start, truth) and x is not start


def test_nothing_to_solve_takes_no_iteration(rng):
    a, _, _ = problem(rng)
    x, info = spinloom.cg(a.N, np.zeros(a.domain, "complex128"))
    assert info.iterations == 0 and info.converged and not x.any()


def test_a_callback_watches_and_stops(rng):
    a, _, truth = problem(rng)
    seen = []

    def callback(iteration, residual):
        seen.append((iteration, residual))
        return iteration == 3

    _, info = spinloom.cg(a.N, a.normal(truth), tolerance=0, callback=callback)
    assert [i for i, _ in seen] == [0, 1, 2, 3] and seen[0][1] == 1
    assert info.stop == "observer" and info.iterations == 3


def test_an_exception_of_the_callback_goes_through(rng):
    a, _, truth = problem(rng)

    def callback(iteration, residual):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        spinloom.cg(a.N, a.normal(truth), callback=callback)


def test_an_operator_that_is_not_positive_is_reported(rng):
    one = spinloom.Identity((5,), dtype="complex128")
    with pytest.raises(spinloom.NotConverged, match="positive"):
        spinloom.cg(-2.0 * one, np.ones(5, "complex128"))


def test_values_that_are_not_finite_are_refused(rng):
    one = spinloom.Identity((5,))
    with pytest.raises(spinloom.ArgumentError, match="finite"):
        spinloom.cg(one, np.full(5, np.nan, "complex64"))


def test_the_largest_eigenvalue_is_found(rng):
    a, e, _ = problem(rng)
    truth = np.linalg.eigvalsh(e.conj().T @ e)[-1]
    found = spinloom.largest_eigenvalue(a.N, iterations=2000, tolerance=1e-9)
    # From below; its error is the square of the vector's.
    assert truth * (1 - 1e-3) < found <= truth * (1 + 1e-9)


def apply_poisson(u, screening=0.0, weights=None, spacing=(1, 1, 1), mask=None):
    """A u with faces that nothing flows through, by the formula."""
    result = screening * u
    for axis in range(u.ndim):
        step = np.diff(u, axis=axis) / spacing[axis] ** 2
        if weights is not None:
            step = step * np.take(weights[axis], range(u.shape[axis] - 1), axis=axis)
        if mask is not None:
            low = np.take(mask, range(u.shape[axis] - 1), axis=axis)
            high = np.take(mask, range(1, u.shape[axis]), axis=axis)
            step = step * (low & high)
        edges = [(0, 0)] * u.ndim
        edges[axis] = (1, 1)
        result = result - np.diff(np.pad(step, edges), axis=axis)
    return result if mask is None else result * mask


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_poisson_inverts_its_operator(rng, dtype):
    truth = rng.standard_normal((7, 12, 20)).astype(dtype)
    if "complex" in dtype:
        truth = (truth + 1j * rng.standard_normal(truth.shape)).astype(dtype)
    spacing = (1.0, 2.0, 0.5)
    f = apply_poisson(truth, 0.5, spacing=spacing).astype(dtype)
    single = dtype in ("float32", "complex64")
    u, info = spinloom.poisson(f, screening=0.5, spacing=spacing, tolerance=1e-5 if single else 1e-11)
    assert info.converged and u.dtype == truth.dtype and info.removed == 0 and info.singular_parts == 0
    # Eigenvalues from 0.5 to 21: fifty times the residual, and of single precision its roundings.
    assert relative_error(u, truth) < (1e-3 if single else 1e-9)
    assert len(info.history) == info.cycles + 1 and info.history[-1] == info.residual


def test_poisson_takes_masks_weights_and_faces(rng):
    truth = rng.standard_normal((15, 24))
    mask = np.ones((15, 24), bool)
    mask[4:9, 7:12] = False
    weights = rng.uniform(0.5, 1.5, (2, 15, 24))
    truth = np.where(mask, truth - truth[mask].mean(), 0)
    f = apply_poisson(truth, weights=weights, mask=mask)
    u, info = spinloom.poisson(f, mask, weights=weights, tolerance=1e-12)
    assert info.converged and info.singular_parts == 1 and info.removed < 1e-12
    assert not u[~mask].any() and relative_error(u, truth) < 1e-8
    again, info = spinloom.poisson(f, mask, weights=weights, start=u, tolerance=1e-10)
    assert info.cycles == 0 and relative_error(again, u) < 1e-14  # its mean was made 0 once more
    # u is x where both faces along x hold it, half a cell beyond the outermost cells, and nothing flows along y.
    ramp, info = spinloom.poisson(np.zeros((5, 8)), boundary=["neumann 0", ("dirichlet 0", "dirichlet 8")], tolerance=1e-10)
    assert info.stop in ("converged", "stagnated") and np.abs(ramp - (np.arange(8) + 0.5)).max() < 1e-6


def test_poisson_is_watched_and_stopped(rng):
    seen = []

    def callback(cycle, residual):
        seen.append(cycle)
        return cycle == 2

    _, info = spinloom.poisson(rng.standard_normal((16, 16)), tolerance=0, callback=callback)
    assert seen == [0, 1, 2] and info.stop == "observer" and info.cycles == 2


def test_poisson_refuses_in_words(rng):
    f = rng.standard_normal((6, 7))
    with pytest.raises(spinloom.ShapeError, match="mask"):
        spinloom.poisson(f, np.ones((6, 8), bool))
    with pytest.raises(TypeError, match="float64"):
        spinloom.poisson(f, np.full((6, 7), np.nan))
    with pytest.raises(spinloom.ArgumentError, match="method"):
        spinloom.poisson(f, method="magic")
    with pytest.raises(spinloom.ArgumentError, match="2 axes"):
        spinloom.poisson(f, boundary=["periodic"])
    with pytest.raises(spinloom.ArgumentError, match="weights and quality"):
        spinloom.poisson(f, weights=np.ones((2, 6, 7)), quality=f)
    with pytest.raises(spinloom.ShapeError):
        spinloom.poisson(f[0])
    with pytest.raises(TypeError, match="int64"):
        spinloom.poisson(np.ones((6, 7), int))
    with pytest.raises(spinloom.ArgumentError):
        spinloom.poisson(f, screening=-1.0)
    with pytest.raises(spinloom.ArgumentError):
        spinloom.poisson(np.full((6, 7), np.nan))
