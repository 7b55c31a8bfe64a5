"""Stencils on a GPU: fields stay where they lie, and have the bits of the host's."""

import numpy as np
import pytest
import spinloom
from device_arrays import on_gpu


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stencils_run_where_their_fields_lie(rng, library, dtype):
    u, k = rng.random((9, 20, 33)).astype(dtype), rng.random((9, 20, 33)).astype(dtype)
    kinds = [("neumann 0.1", "reflect"), "clamp", ("dirichlet 1", "neumann 0")]
    own = "next(u) = u(0,0,0) + dt * k(0,1,0) * (u(0,0,2) - u(-1,0,0)); sum(u(0,0,0)); max(k(0,0,0))"
    for chosen, fields, params in [
        (spinloom.stencil.expression(own), {"u": u, "k": k}, {"dt": 0.1}),
        (spinloom.stencil.builtin("diffusion"), {"u": u, "k": k}, {}),
        (spinloom.stencil.builtin("wave"), {"u": u, "(speed dt)^2": 0.1 * k}, {}),
        (spinloom.stencil.linear([(0, 0, 0), (0, 1, -2), (1, 0, 0)], [0.5, 0.25, -0.1]), {"u": u}, {}),
    ]:
        said = {"steps": 5, "params": params, "boundary": kinds}
        expected = chosen.run(fields, **said)
        there = chosen.run({name: library.send(f) for name, f in fields.items()}, schedule="cuda", **said)
        of_numpy = chosen.run(fields, device="cuda", **said)
        assert there.reductions == of_numpy.reductions == expected.reductions
        for name, values in expected.fields.items():
            assert isinstance(there[name], library.type) and type(of_numpy[name]) is np.ndarray
            assert np.array_equal(library.fetch(there[name]), values)  # to the last bit
            assert np.array_equal(of_numpy[name], values)
        for name, values in expected.previous.items():
            assert np.array_equal(library.fetch(there.previous[name]), values)


@on_gpu
def test_stencils_refuse_fields_of_two_places_and_schedules_of_the_host(rng, library):
    u = rng.random((5, 6, 7))
    there, diffusion = library.send(u), spinloom.stencil.builtin("diffusion")
    with pytest.raises(spinloom.ArgumentError, match="^k lies on the host, expected cuda:0 as u lies there"):
        diffusion.run({"u": there, "k": u}, boundary="clamp")
    with pytest.raises(spinloom.ArgumentError, match="use a schedule that begins with cuda"):
        diffusion.run({"u": there, "k": there}, boundary="clamp", schedule="sweep rows=2")
    with pytest.raises(spinloom.ArgumentError, match="^u lies on cuda:0, and device is 'cpu'"):
        diffusion.run({"u": there, "k": there}, boundary="clamp", device="cpu")


@on_gpu
def test_halves_run_on_a_gpu_whatever_the_stencil(rng, library):
    u = rng.random((6, 9, 40)).astype("float16")
    heat = spinloom.stencil.builtin("7-point")
    expected = heat.run(u, steps=3, boundary="periodic")["u"]
    assert np.array_equal(heat.run(u, steps=3, boundary="periodic", device="cuda")["u"], expected)
    assert np.array_equal(library.fetch(heat.run(library.send(u), steps=3, boundary="periodic")["u"]), expected)
    own = spinloom.stencil.expression("next(u) = u(0,0,0) + 0.25 * (u(0,0,1) - u(0,1,0))")
    step = own.run(u.astype("float32"), boundary="clamp")["u"].astype("float16")
    assert np.array_equal(own.run(u, boundary="clamp", device="cuda")["u"], step)


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_poisson_is_solved_where_its_right_side_lies(rng, library, dtype):
    f = rng.standard_normal((9, 20, 33)).astype(dtype)
    mask = np.ones(f.shape, bool)
    mask[2:4, 5:9] = False
    expected, info = spinloom.poisson(f, mask, screening=0.1, tolerance=1e-5)
    u, there = spinloom.poisson(library.send(f), mask, screening=0.1, tolerance=1e-5)
    assert isinstance(u, library.type) and np.array_equal(library.fetch(u), expected) and there == info
    u, _ = spinloom.poisson(f, mask, screening=0.1, tolerance=1e-5, device="cuda")
    assert type(u) is np.ndarray and np.array_equal(u, expected)
