"""Operators on a GPU take arrays in and out where they lie."""

import numpy as np
import pytest
import spinloom
from conftest import exact, random_complex, random_trajectory, relative_error
from device_arrays import CASES, MATRIX, CuPy, Torch, free_bytes, on_gpu, operator


@on_gpu
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("case", CASES)
def test_arrays_of_a_gpu_give_the_bits_of_numpys_and_the_cpus_values(rng, library, case, dtype):
    a, cpu = operator(case, dtype, "cuda"), operator(case, dtype, "cpu")
    assert a.device == "cuda:0" and a.domain == cpu.domain and a.range == cpu.range
    for apply, reference, shape in ((a.forward, cpu.forward, a.domain), (a.adjoint, cpu.adjoint, a.range)):
        x = random_complex(rng, shape, dtype)
        there = library.send(x)
        y = apply(there)
        assert isinstance(y, library.type) and np.array_equal(library.fetch(there), x)
        of_numpy = apply(x)
        assert type(of_numpy) is np.ndarray and of_numpy.dtype == dtype
        assert np.array_equal(library.fetch(y), of_numpy)
        # Both are within the tolerance that was asked for; the exact sums within a few roundings of the type.
        assert relative_error(of_numpy, reference(x)) < (1e-4 if dtype == "complex64" else 1e-8)


@on_gpu
@pytest.mark.parametrize("case", ["nufft", "encoding", "sum"])
def test_out_on_a_gpu_is_written_where_it_lies(rng, library, case):
    a = operator(case, "complex64", "cuda")
    for apply, into, of in ((a.forward, a.range, a.domain), (a.adjoint, a.domain, a.range)):
        x = library.send(random_complex(rng, of, "complex64"))
        whole = library.empty((3, *into), "complex64")
        out = whole[1]
        where = library.address(out)
        assert apply(x, out=out) is out and library.address(out) == where
        assert np.array_equal(library.fetch(out), library.fetch(apply(x)))
        assert np.isnan(library.fetch(whole)[[0, 2]]).all()


@on_gpu
def test_numpys_out_is_written_from_a_gpu(rng):
    for case in ("nufft", "encoding", "sum"):
        a = operator(case, "complex64", "cuda")
        x = random_complex(rng, a.domain, "complex64")
        out = np.full(a.range, np.nan, "complex64")
        assert a.forward(x, out=out) is out and np.array_equal(out, a.forward(x))
        strided = np.asfortranarray(x)
        assert np.array_equal(a.forward(strided), out)


@on_gpu
def test_results_are_ours_and_shared_without_a_copy(rng):
    cupy, torch = CuPy(), Torch()
    a = operator("nufft", "complex64", "cuda")
    y = a._core.apply(cupy.send(random_complex(rng, a.domain, "complex64")), None, True)
    assert y.__dlpack_device__() == (2, 0)
    one, other = cupy.wrap(y), torch.wrap(y)
    assert cupy.address(one) == torch.address(other)
    one[...] = 3
    cupy.cupy.cuda.Device().synchronize()
    assert (torch.fetch(other) == 3).all()


@on_gpu
def test_inputs_are_read_where_they_lie(library):
    # The identity needs no memory of its own, so a copy of half a gigabyte would show.
    shape = (1 << 26,)
    one = spinloom.Identity(shape)
    x, out = library.empty(shape, "complex64"), library.empty(shape, "complex64")
    x[...] = 2
    one.forward(x, out=out)
    before = free_bytes()
    seen = []
    for _ in range(3):
        one.forward(x, out=out)
        seen.append(free_bytes())
    assert seen == [before] * 3
    assert library.fetch(out[-5:]).tolist() == [2] * 5


@on_gpu
@pytest.mark.parametrize("case", CASES)
def test_arrays_from_an_odd_element_on_give_the_same_bits(rng, library, case):
    # Aligned to their elements and to nothing more, as a slice of many coils may be.
    for dtype in ("complex64", "complex128"):
        a = operator(case, dtype, "cuda")
        for apply, of, into in ((a.forward, a.domain, a.range), (a.adjoint, a.range, a.domain)):
            x = library.send(random_complex(rng, of, dtype))
            expected = library.fetch(apply(x))
            odd = library.empty((int(np.prod(of)) + 1,), dtype)[1:].reshape(of)
            odd[...] = x
            out = library.empty((int(np.prod(into)) + 1,), dtype)[1:].reshape(into)
            apply(odd, out=out)
            assert np.array_equal(library.fetch(out), expected)


@on_gpu
def test_strided_arrays_on_a_gpu_are_refused_in_words(rng, library):
    plan = spinloom.Nufft(random_trajectory(rng, (20,), (6, 6)), (6, 6), device="cuda")
    x = library.send(random_complex(rng, (6, 6), "complex64"))
    text = r"lies on cuda:0 with strides \[1, 6\] \(in elements\) .* expected a packed array in C order"
    with pytest.raises(spinloom.ArgumentError, match="^x " + text + r".*x\.copy\(\) or x\.contiguous\(\)$"):
        plan.forward(x.T)
    with pytest.raises(spinloom.ArgumentError, match="^out " + text):
        plan.N.forward(x, out=library.empty((6, 6), "complex64").T)
    for shape in ((6, 0), (7, 6), (36,)):
        with pytest.raises(spinloom.ShapeError, match=r"input has shape .* expected \[6, 6\]"):
            plan.forward(library.empty(shape, "complex64"))


@on_gpu
def test_arrays_in_two_places_are_refused_in_words(rng, library):
    k = random_trajectory(rng, (20,), MATRIX)
    cpu, gpu = spinloom.Nufft(k, MATRIX), spinloom.Nufft(k, MATRIX, device="cuda:0")
    x = random_complex(rng, MATRIX, "complex64")
    there = library.send(x)
    for call, text in [
        (lambda: cpu.forward(there), "^x lies on cuda:0, expected the host, where the NUFFT works"),
        (lambda: gpu.forward(there, out=np.zeros(20, "complex64")), "^out lies on the host, expected cuda:0 as x lies there"),
        (lambda: gpu.forward(x, out=library.empty((20,), "complex64")), "^out lies on cuda:0, expected the host as x lies"),
        (lambda: spinloom.cg(gpu.N, there, x), "^x0 lies on the host, expected cuda:0 as b lies there"),
        (lambda: gpu.N.forward(there, out=there), "^out shares memory with x, expected an array of its own"),
        (lambda: spinloom.Encoding(k, library.send(x[None]), device="cpu"), "^maps lies on cuda:0, expected the host"),
        (lambda: spinloom.estimate_sigma(library.send(x.real)), "^image lies on cuda:0, expected memory of the host"),
    ]:
        with pytest.raises(spinloom.ArgumentError, match=text):
            call()
    with pytest.raises(spinloom.BackendUnavailable, match="there is no GPU 99"):
        spinloom.Nufft(k, MATRIX, device="cuda:99")


@on_gpu
def test_element_types_on_a_gpu_are_never_changed(rng, library):
    plan = spinloom.Nufft(random_trajectory(rng, (20,), MATRIX), MATRIX, device="cuda")
    x = random_complex(rng, MATRIX)
    with pytest.raises(TypeError, match="x has dtype complex128, expected complex64"):
        plan.forward(library.send(x))
    with pytest.raises(TypeError, match="x has dtype float32, expected complex64"):
        plan.forward(library.send(x.real.astype("float32")))
    with pytest.raises(TypeError, match="out has dtype complex128, expected complex64"):
        plan.forward(library.send(x.astype("complex64")), out=library.empty((20,), "complex128"))


@on_gpu
def test_functions_and_encodings_go_where_the_array_lies(rng, library):
    k = random_trajectory(rng, (20,), MATRIX)
    x, y = random_complex(rng, (2, *MATRIX), "complex64"), random_complex(rng, (2, 20), "complex64")
    e = exact(k, MATRIX)
    forward = spinloom.nufft.forward(library.send(x), k, tolerance=1e-5)
    adjoint = spinloom.nufft.adjoint(library.send(y), k, MATRIX, tolerance=1e-5)
    assert isinstance(forward, library.type) and isinstance(adjoint, library.type)
    # Few samples scatter around the tolerance.
    assert relative_error(library.fetch(forward), x.reshape(2, -1) @ e.T) < 1e-4
    assert relative_error(library.fetch(adjoint), (y @ e.conj()).reshape(x.shape)) < 1e-4
    a = spinloom.Encoding(k, library.send(x), tolerance=1e-5)
    assert a.device == "cuda:0"
    image = random_complex(rng, MATRIX, "complex64")
    assert np.array_equal(a @ image, spinloom.Encoding(k, x, tolerance=1e-5, device="cuda") @ image)


@on_gpu
def test_cg_stays_on_the_gpu(rng, library):
    matrix = (12, 13)
    k = random_trajectory(rng, (600,), matrix)
    maps = random_complex(rng, (3, *matrix), "complex64")
    truth = random_complex(rng, matrix, "complex64")
    runs = {}
    for device in ("cpu", "cuda"):
        a = spinloom.Encoding(k, maps, device=device, tolerance=1e-5)
        lam = 1e-2 * spinloom.largest_eigenvalue(a.N)
        system = a.N + lam * spinloom.Identity(a.domain)
        runs[device] = (system, a.adjoint(a.forward(truth)))
    (cpu, b), (gpu, b_gpu) = runs["cpu"], runs["cuda"]
    expected, _ = spinloom.cg(cpu, b, tolerance=1e-5)
    x, info = spinloom.cg(gpu, library.send(b_gpu), tolerance=1e-5)
    assert isinstance(x, library.type) and info.converged and len(info.history) == info.iterations + 1
    of_numpy, same = spinloom.cg(gpu, b_gpu, tolerance=1e-5)
    assert type(of_numpy) is np.ndarray and np.array_equal(of_numpy, library.fetch(x)) and same == info
    # A residual of 1e-5 through a condition number of a hundred.
    assert relative_error(of_numpy, expected) < 3e-3
    start = library.send(of_numpy)
    again, info = spinloom.cg(gpu, library.send(b_gpu), start, tolerance=1e-4)
    assert info.iterations == 0 and np.array_equal(library.fetch(again), of_numpy)
    assert np.array_equal(library.fetch(start), of_numpy)

    seen = []
    _, info = spinloom.cg(gpu, library.send(b_gpu), tolerance=0, callback=lambda i, r: seen.append(i) or i == 3)
    assert seen == [0, 1, 2, 3] and info.stop == "observer"
    with pytest.raises(KeyError, match="mine"):
        spinloom.cg(gpu, library.send(b_gpu), callback=lambda i, r: {}["mine"])
