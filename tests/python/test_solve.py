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
