"""What is queued on a GPU keeps its order, its memory lives as long as it is used, and threads share it."""

import gc
import threading

import numpy as np
import pytest
import spinloom
from conftest import random_complex, random_trajectory
from device_arrays import MATRIX, free_bytes, on_gpu, operator


@on_gpu
def test_what_is_queued_for_an_input_comes_first(rng):
    torch = pytest.importorskip("torch")
    a = operator("nufft", "complex64", "cuda")
    x = random_complex(rng, a.domain, "complex64")
    source = torch.from_numpy(x).cuda()
    expected = a.forward(x)
    torch.cuda.synchronize()
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        with torch.cuda.stream(stream):
            late = torch.zeros_like(source)
            out = torch.zeros(a.range, dtype=torch.complex64, device="cuda")
            torch.cuda.synchronize()
            torch.cuda._sleep(200_000_000)  # a tenth of a second of the GPU's time
            late.copy_(source)
            out.fill_(float("nan"))
            y = a.forward(late)
            a.forward(late, out=out)
        assert np.array_equal(y.cpu().numpy(), expected) and np.array_equal(out.cpu().numpy(), expected)


@on_gpu
def test_cupys_streams_come_first_too(rng):
    cupy = pytest.importorskip("cupy")
    a = operator("nufft", "complex64", "cuda")
    x = random_complex(rng, a.domain, "complex64")
    expected = a.forward(x)
    spin = cupy.RawKernel("extern \"C\" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n); }",
                          "spin")  # fmt: skip
    source = cupy.asarray(x)
    for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.null):
        with stream:
            late = cupy.zeros_like(source)
            cupy.cuda.Device().synchronize()
            spin((1,), (1,), (np.int64(200_000_000),))
            late[...] = source
            y = a.forward(late)
        assert np.array_equal(y.get(), expected)


@on_gpu
def test_a_call_returns_when_the_gpu_has_done_it(rng):
    # So another stream, that knows of nothing, may read the result and write over the input at once.
    torch = pytest.importorskip("torch")
    a = operator("exact", "complex64", "cuda")
    x = random_complex(rng, a.domain, "complex64")
    expected = a.forward(x)
    other = torch.cuda.Stream()
    for _ in range(20):
        there = torch.from_numpy(x).cuda()
        torch.cuda.synchronize()
        y = a.forward(there)
        with torch.cuda.stream(other):
            there.fill_(float("nan"))
            copy = y.clone()
        other.synchronize()  # .cpu() waits for the current stream alone
        assert np.array_equal(copy.cpu().numpy(), expected)


@on_gpu
def test_memory_that_a_kernel_still_reads_is_not_given_to_another(rng):
    torch = pytest.importorskip("torch")
    a = operator("nufft", "complex64", "cuda")
    x, z = (torch.from_numpy(random_complex(rng, a.domain, "complex64")).cuda() for _ in range(2))
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        y = a.forward(x)
        expected = y.cpu()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            copy = torch.empty_like(y)
            copy.copy_(y)
        del y  # Python has let go of it, and the copy waits behind the pause
        for _ in range(5):
            a.forward(z)
        torch.cuda.synchronize()
        assert torch.equal(copy.cpu(), expected)


@on_gpu
def test_results_outlive_their_operator(rng, library):
    a = operator("nufft", "complex64", "cuda")
    x = library.send(random_complex(rng, a.domain, "complex64"))
    y = a.forward(x)
    expected = library.fetch(y).copy()
    del a, x
    gc.collect()
    other = operator("encoding", "complex64", "cuda", seed=6)
    for _ in range(5):
        other.forward(library.send(random_complex(rng, other.domain, "complex64")))
    assert np.array_equal(library.fetch(y), expected)


@on_gpu
def test_a_thousand_calls_take_no_more_memory(rng, library):
    a = operator("nufft", "complex64", "cuda")
    system = operator("sum", "complex64", "cuda")
    x = library.send(random_complex(rng, a.domain, "complex64"))
    b = library.send(random_complex(rng, system.domain, "complex64"))
    of_numpy = random_complex(rng, a.domain, "complex64")

    def work():
        y = a.forward(x)
        a.adjoint(y)
        a.forward(of_numpy)
        spinloom.cg(system, b, iterations=2)
        for wrong in (b.real, b, b.imag + 0):  # strides, shape, type
            with pytest.raises((TypeError, ValueError)):
                a.forward(wrong)

    for _ in range(20):
        work()
    gc.collect()
    before = free_bytes()
    for _ in range(250):
        work()
    gc.collect()
    assert free_bytes() >= before


@on_gpu
def test_large_results_come_and_go_within_a_cards_memory(rng, library):
    # 64 times 4 GB, of which two live at a time.
    shape = (1 << 29,)
    one = spinloom.Identity(shape)
    x = library.empty(shape, "complex64")
    for _ in range(64):
        y = one.forward(x)
        assert library.address(y) != library.address(x)
    del y


@on_gpu
def test_python_threads_share_a_gpu(rng, library):
    a, system = operator("nufft", "complex64", "cuda"), operator("normal of encoding", "complex64", "cuda")
    xs = [random_complex(rng, a.domain, "complex64") for _ in range(4)]
    bs = [random_complex(rng, system.domain, "complex64") for _ in range(4)]
    expected = [(a.forward(x), spinloom.cg(system, b, iterations=4).x) for x, b in zip(xs, bs)]
    failures = []

    def work(i):
        try:
            x, b = library.send(xs[i]), library.send(bs[i])
            for _ in range(20):
                y, solved = a.forward(x), spinloom.cg(system, b, iterations=4).x
                if not (np.array_equal(library.fetch(y), expected[i][0]) and np.array_equal(library.fetch(solved), expected[i][1])):
                    failures.append(i)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


@on_gpu
def test_lazy_tensors_on_a_gpu_are_refused_in_torchs_words(rng):
    torch = pytest.importorskip("torch")
    plan = spinloom.Nufft(random_trajectory(rng, (20,), MATRIX), MATRIX, device="cuda")
    x = torch.from_numpy(random_complex(rng, MATRIX, "complex64")).cuda()
    for lazy in (x.conj(), x.clone().requires_grad_()):
        with pytest.raises(TypeError, match="x is a Tensor that cannot be shared: "):
            plan.forward(lazy)


@on_gpu
def test_managed_and_locked_memory_is_read_where_it_lies(rng):
    cupy, torch = pytest.importorskip("cupy"), pytest.importorskip("torch")
    plan = spinloom.Nufft(random_trajectory(rng, (20,), MATRIX), MATRIX, device="cuda")
    x = random_complex(rng, MATRIX, "complex64")
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        managed = cupy.asarray(x)
    y = plan.forward(managed)
    assert isinstance(y, cupy.ndarray) and np.array_equal(y.get(), plan.forward(x))
    locked = torch.from_numpy(x).pin_memory()
    y = plan.forward(locked)
    assert y.device.type == "cpu" and np.array_equal(y.numpy(), plan.forward(x))


@on_gpu
def test_jax_arrays_go_in_and_out(rng):
    jax = pytest.importorskip("jax")
    plan = spinloom.Nufft(random_trajectory(rng, (20,), MATRIX), MATRIX, device="cuda")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    x = random_complex(rng, MATRIX, "complex64")
    y = plan.forward(jax.numpy.asarray(x))
    assert isinstance(y, jax.Array) and np.array_equal(np.asarray(y), plan.forward(x))
