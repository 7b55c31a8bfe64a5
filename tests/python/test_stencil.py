"""Stencils give NumPy's sums, the same bits by every schedule, and refuse in words."""

import inspect
import os
import signal
import threading

import numpy as np
import pytest
import spinloom
from spinloom import stencil

OFFSETS = [(0, 0, -1), (0, 0, 1), (0, -1, 0), (0, 1, 0), (-1, 0, 0), (1, 0, 0)]
MODES = {"periodic": "wrap", "reflect": "reflect", "clamp": "edge", "neumann 0": "symmetric", "dirichlet 0.5": "constant"}


def padded(u, boundary, reach):
    mode = MODES[boundary]
    return np.pad(u, reach, mode=mode, **({"constant_values": 0.5} if mode == "constant" else {}))


def by_numpy(u, offsets, weights, boundary, reach=2):
    """sum_i w_i u(p + o_i), term by term in u's own type."""
    wide = padded(u, boundary, reach)
    total = np.zeros(u.shape, u.dtype)
    for offset, weight in zip(offsets, weights):
        total += u.dtype.type(weight) * wide[tuple(slice(reach + o, reach + o + n) for o, n in zip(offset, u.shape))]
    return total


def random(rng, shape, dtype):
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if "complex" in dtype else values).astype(dtype)


def close(got, expected):
    # Some twenty terms near 1: roundings of the type.
    return np.abs(got - expected).max() < 50 * np.finfo(expected.dtype).eps


@pytest.mark.parametrize("boundary", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_lists_of_terms_are_numpys_sums(rng, dtype, boundary):
    for shape in ((5, 6, 7), (9, 40)):
        offsets = rng.integers(-2, 3, (12, len(shape)))
        weights = rng.standard_normal(12)
        u = random(rng, shape, dtype)
        done = stencil.linear(offsets, weights).run(u, boundary=boundary)
        assert done["u"].dtype == u.dtype and done["u"].shape == u.shape
        assert close(done["u"], by_numpy(u, offsets, weights, boundary))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_builtins_expressions_and_terms_agree(rng, dtype):
    u = random(rng, (9, 8, 21), dtype)
    params = {"centre": 0.3, "side": 0.11}
    expected = stencil.builtin("7-point").run({"u": u}, steps=3, params=params, boundary="periodic")["u"]
    terms = stencil.linear([(0, 0, 0), *OFFSETS], [0.3] + [0.11] * 6)
    assert close(terms.run(u, steps=3, boundary="periodic")["u"], expected)
    if dtype == "float32":
        text = "next(u) = fma(centre, u(0,0,0), side * (((u(0,0,-1) + u(0,0,1)) + (u(0,-1,0) + u(0,1,0))) + (u(-1,0,0) + u(1,0,0))))"
        own = stencil.expression(text).run(u, steps=3, params=params, boundary="periodic", schedule="sweep rows=3")
        assert np.array_equal(own["u"], expected)  # to the last bit


@pytest.mark.parametrize("schedule", ["sweep rows=4 planes=4 stream", "overlapped steps=2 rows=6", "diamond width=8", "wavefront steps=2"])
def test_schedules_change_no_bit(rng, schedule):
    u, k = rng.random((9, 20, 33)), rng.random((9, 20, 33))
    kinds = [("neumann 0.1", "reflect"), "clamp", ("dirichlet 1", "neumann 0")]
    for chosen in (stencil.builtin("diffusion"), stencil.expression("next(u) = u(0,0,0) + 0.1 * k(0,1,0) * (u(0,0,2) - u(-1,0,0))")):
        expected = chosen.run({"u": u, "k": k}, steps=5, boundary=kinds)["u"]
        got = chosen.run({"u": u, "k": k}, steps=5, boundary=kinds, schedule=schedule)["u"]
        assert np.array_equal(got, expected) and not np.array_equal(got, u)


def test_boundaries_belong_to_faces_and_fields(rng):
    u, v = rng.random((4, 6)), rng.random((4, 6))
    shift = stencil.expression("next(u) = u(1,0) + v(0,-1)")
    got = shift.run({"u": u, "v": v}, boundary={"u": [("periodic"), None], "v": [None, ("dirichlet 7", "clamp")]})["u"]
    below = np.concatenate([np.full((4, 1), 7.0), v[:, :-1]], axis=1)
    assert np.array_equal(got, np.roll(u, -1, axis=0) + below)


def test_a_wave_goes_on_from_its_two_steps(rng):
    wave = stencil.builtin("wave")
    u, speed = rng.random((8, 9, 20)), np.full((8, 9, 20), 0.1)
    at_rest = {"u": u, wave.fields[1]: speed}
    whole = wave.run(at_rest, steps=5, boundary="periodic")
    half = wave.run(at_rest, steps=2, boundary="periodic", previous={"u": u})
    rest = wave.run({**at_rest, "u": half["u"]}, steps=3, boundary="periodic", previous=half.previous)
    assert np.array_equal(rest["u"], whole["u"]) and np.array_equal(rest.previous["u"], whole.previous["u"])


def test_fields_that_are_only_written_come_back(rng):
    u = rng.random((5, 6, 7))
    done = stencil.builtin("gradient").run(u, boundary="clamp")
    assert sorted(done.fields) == ["gx", "gy", "gz"]
    assert np.array_equal(done["gx"][:, :, :-1], np.diff(u, axis=2)) and not done["gx"][:, :, -1].any()


def test_sums_ride_along(rng):
    u = rng.random((6, 7, 50))
    watched = stencil.expression("next(u) = 0.5 * (u(0,0,1) + u(0,0,-1)); sum(u(0,0,0) * u(0,0,0)); max(abs(u(0,0,1) - u(0,0,0)))")
    energy, step = watched.run(u, boundary="periodic", schedule="sweep planes=2").reductions
    assert np.isclose(energy, (u * u).sum(), rtol=1e-13)
    assert step == np.abs(np.roll(u, -1, axis=2) - u).max()


def test_arrays_given_stay_as_they_are(rng):
    u = rng.random((6, 7, 8))
    kept = u.copy()
    result = stencil.builtin("7-point").run(u, steps=2, boundary="reflect")["u"]
    assert np.array_equal(u, kept) and not np.shares_memory(u, result)
    wide = np.zeros((12, 7, 16))
    wide[::2, :, ::2] = u
    for view in (np.asfortranarray(u), wide[::2, :, ::2], u[::-1].copy()[::-1]):
        assert np.array_equal(stencil.builtin("7-point").run(view, steps=2, boundary="reflect")["u"], result)
    u.flags.writeable = False
    assert np.array_equal(stencil.builtin("7-point").run(u, steps=2, boundary="reflect")["u"], result)
    assert np.array_equal(stencil.builtin("7-point").run(u, steps=0, boundary="reflect")["u"], u)


@pytest.mark.parametrize("name", stencil.names())
def test_every_builtin_runs_and_says_what_it_is(name):
    chosen = stencil.builtin(name)
    assert chosen.name == name and chosen.description and chosen.expressions and name in repr(chosen)
    shape = (12, 14) if chosen.dims == 2 else (8, 10, 12)
    fields = {field: np.full(shape, 0.25) for field in chosen.fields}
    done = chosen.run(fields, steps=2, boundary="clamp")
    assert done.fields and all(np.isfinite(a).all() and a.shape == shape for a in done.fields.values())


def test_results_do_not_depend_on_threads(rng):
    u = rng.random((9, 30, 33)).astype("float32")
    before = spinloom.threads()
    results = []
    try:
        for threads in (1, 2, 3):
            spinloom.set_threads(threads)
            results.append(stencil.builtin("27-point").run(u, steps=4, boundary="clamp", schedule="diamond width=8")["u"])
    finally:
        spinloom.set_threads(before)
    assert all(np.array_equal(r, results[0]) for r in results)


def test_threads_may_share_a_stencil(rng):
    shared = stencil.builtin("7-point")
    us = [rng.random((8, 9, 10)) for _ in range(4)]
    expected = [shared.run(u, steps=3, boundary="clamp")["u"] for u in us]
    got = [None] * 4

    def work(i):
        got[i] = shared.run(us[i], steps=3, boundary="clamp")["u"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(np.array_equal(a, b) for a, b in zip(got, expected))


def test_progress_is_reported_and_may_stop():
    u, seen = np.ones((4, 5, 6)), []
    stencil.builtin("7-point").run(u, steps=4, boundary="clamp", progress=lambda *a: seen.append(a))
    assert seen[-1][:2] == ("stencil", 1.0) and len(seen) == 4

    def stop(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        stencil.builtin("7-point").run(u, steps=4, boundary="clamp", progress=stop)


def test_ctrl_c_stops_a_run():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        stencil.builtin("7-point").run(np.ones((64, 64, 64)), steps=10**5, boundary="clamp")


U = np.ones((4, 5, 6))
SEVEN = {"boundary": "clamp"}


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: stencil.builtin("heat"), ValueError, "stencil 'heat' is not one of 5-point, 7-point"),
        (lambda: stencil.builtin("7-point").run(U), ValueError, "has no boundary there"),
        (lambda: stencil.builtin("7-point").run(U, boundary="wall"), ValueError, "wall"),
        (lambda: stencil.builtin("7-point").run(U, boundary="none"), ValueError, "cannot reach them from Python"),
        (lambda: stencil.builtin("7-point").run(U, boundary=["clamp"]), ValueError, "expected a text, or one entry for each of 3 axes"),
        (lambda: stencil.builtin("7-point").run(U, boundary=[1, 2, 3]), TypeError, "boundary holds 1, expected a text"),
        (lambda: stencil.builtin("7-point").run(U, boundary=[("periodic", "clamp"), "clamp", "clamp"]), ValueError, "periodic"),
        (lambda: stencil.builtin("7-point").run(U, **SEVEN, schedule="fast"), ValueError, "fast"),
        (lambda: stencil.builtin("7-point").run(U, **SEVEN, schedule="diamond width=1"), ValueError, "width=1"),
        (lambda: stencil.builtin("7-point").run(U, **SEVEN, steps=-1), ValueError, "-1 steps, expected 0 or more"),
        (lambda: stencil.builtin("7-point").run(U, **SEVEN, params={"kappa": 1}), ValueError, "no parameter 'kappa', expected centre, side"),
        (lambda: stencil.builtin("7-point").run(U, **SEVEN, params={"side": "a"}), TypeError, "expected numbers"),
        (lambda: stencil.builtin("7-point").run({"v": U}, **SEVEN), ValueError, "no field 'v', expected u"),
        (lambda: stencil.builtin("7-point").run(U[0], **SEVEN), ValueError, "u has shape .5, 6., expected 3 axes"),
        (lambda: stencil.builtin("7-point").run(U.astype("int64"), **SEVEN), TypeError, "u has dtype int64, expected float64"),
        (lambda: stencil.builtin("diffusion").run(U, **SEVEN), ValueError, "reads k, and fields has u"),
        (lambda: stencil.builtin("diffusion").run({"u": U, "k": U[:3]}, **SEVEN), ValueError, "k has shape .3, 5, 6., expected .4, 5, 6."),
        (lambda: stencil.builtin("diffusion").run({"u": U, "k": U.astype("f4")}, **SEVEN), TypeError, "k has dtype float32, expected float64"),
        (lambda: stencil.builtin("27-point").run(U.astype("c8"), **SEVEN), ValueError, "is for real elements"),
        (lambda: stencil.linear([(0, 0, 17)], [1.0]), ValueError, "offsets up to 16"),
        (lambda: stencil.linear([(0.5, 0)], [1.0]), ValueError, "expected whole numbers"),
        (lambda: stencil.linear([(0, 0)], [1.0, 2.0]), ValueError, "expected 1 real numbers"),
        (lambda: stencil.linear([(0, 0)], [np.nan]), ValueError, "a finite weight"),
        (lambda: stencil.expression("next(u) = u(0,0,1 + 2"), ValueError, "column 19, at .* expected '\\)'"),
        (lambda: stencil.expression("next(u) = a" + "é" * 20), ValueError, "column 12, at 'é{8}': expected"),
        (lambda: stencil.expression("next(u) = a * u(0,0)").run(U[0]), ValueError, "needs a value of a in params"),
        (lambda: stencil.expression("next(u) = u(0,0)").run(U[0].astype("c8")), ValueError, "is for real elements"),
    ],
    ids=range(27),
)
def test_what_does_not_fit_is_refused_in_words(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_docstrings_say_what_is_copied():
    assert "There are no other copies" in inspect.getdoc(stencil.Stencil.run)


def test_halves_are_computed_in_single_and_rounded_once_a_step(rng):
    u = rng.random((6, 9, 40)).astype("float16")
    heat = stencil.builtin("7-point")
    for schedule in ("naive", "sweep rows=4 planes=2"):
        done = heat.run(u, steps=3, boundary="periodic", schedule=schedule)["u"]
        expected = u
        for _ in range(3):
            expected = heat.run(expected.astype("float32"), boundary="periodic")["u"].astype("float16")
        assert done.dtype == u.dtype and np.array_equal(done, expected)
    with pytest.raises(spinloom.ArgumentError, match="float16 fields is compiled when"):
        stencil.expression("next(u) = u(0,1)").run(u[0], boundary="clamp")
