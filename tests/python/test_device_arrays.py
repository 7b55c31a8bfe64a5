"""Arrays on a GPU go in and out where they lie; what cannot be is refused in words, also where there is no GPU."""

import gc
import os
import subprocess
import threading

import numpy as np
import pytest
import spinloom
from conftest import exact, random_complex, random_trajectory, relative_error

COMMAND = os.environ.get("SPINLOOM_COMMAND")
STATUS = spinloom.info()["backends"]["cuda"]
HAS_GPU = not STATUS.startswith("not used")
on_gpu = pytest.mark.skipif(not HAS_GPU, reason=f"no GPU is usable: {STATUS}")
without_gpu = pytest.mark.skipif(HAS_GPU, reason="says what is said where no GPU is usable, and here one is")

MATRIX = (6, 7)


class Elsewhere:
    """An array that says it lies on a device, and has no memory there: whoever asks for it has not looked first."""

    shape, dtype = MATRIX, "complex64"

    def __init__(self, kind=2, number=0, **attributes):
        self.device = (kind, number)
        self.exports = 0
        self.__dict__.update(attributes)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.exports += 1
        raise BufferError("there is no memory behind this")


@pytest.fixture
def k(rng):
    return random_trajectory(rng, (20,), MATRIX)


def test_operators_of_the_host_say_how_to_apply_them_to_a_gpus_array(k):
    plan = spinloom.Nufft(k, MATRIX)
    assert plan.device == "cpu"
    x = Elsewhere(number=1)
    with pytest.raises(
        spinloom.ArgumentError,
        match=r"^x lies on cuda:1, expected the host, where the NUFFT works; copy it there, for example with x\.get\(\) "
        r"or x\.cpu\(\), or make the operator with device='cuda:1'$",
    ):
        plan.forward(x)
    with pytest.raises(spinloom.ArgumentError, match=r"^y lies on cuda:1, expected the host"):
        plan.adjoint(x)
    with pytest.raises(spinloom.ArgumentError, match=r"^b lies on cuda:1, expected the host"):
        spinloom.cg(plan.N, x)
    assert x.exports == 0


def calls_of_the_host(k):
    far, x, ones = Elsewhere(), np.ones(MATRIX, "complex64"), np.ones((2, *MATRIX), "complex64")
    y = np.ones((2, 20), "complex64")
    return {
        "trajectory": lambda: spinloom.Nufft(far, MATRIX),
        "weights": lambda: spinloom.NormalOperator(k, MATRIX, far),
        "out": lambda: spinloom.Nufft(k, MATRIX).forward(x, out=far),
        "x0": lambda: spinloom.cg(spinloom.Nufft(k, MATRIX).N, x, far),
        "maps": lambda: spinloom.recon(y, k, MATRIX, far),
        "kspace": lambda: spinloom.recon(far, k, MATRIX),
        "noise": lambda: spinloom.recon(y, k, MATRIX, ones, noise=far),
        "images": lambda: spinloom.root_sum_of_squares(far),
    }


@pytest.mark.parametrize("name", calls_of_the_host(None).keys())
def test_work_of_the_host_refuses_arrays_of_a_gpu(k, name):
    with pytest.raises(spinloom.ArgumentError, match=rf"^{name} lies on cuda:0, expected (memory of )?the host") as caught:
        calls_of_the_host(k)[name]()
    assert "\n" not in str(caught.value)


def test_maps_on_a_gpu_are_refused_by_an_operator_of_the_host(k):
    with pytest.raises(spinloom.ArgumentError, match="^maps lies on cuda:0, expected the host, where the encoding operator"):
        spinloom.Encoding(k, Elsewhere(shape=(2, *MATRIX)), device="cpu")


@pytest.mark.parametrize("device", ["cpu", "reference", "cuda:7"])
def test_an_image_on_a_gpu_is_filtered_there_or_not_at_all(device):
    with pytest.raises(spinloom.ArgumentError) as caught:
        spinloom.denoise_nl_means(Elsewhere(dtype="float32"), device=device)
    asked = device if device.startswith("cuda") else "the host"
    assert str(caught.value) == (
        f"image lies on cuda:0, expected {asked} as device='{device}' asks for; copy it there, or leave device away"
    )


@pytest.mark.parametrize("name", ["h", "sigma", "guide", "mask"])
def test_maps_lie_where_the_image_does(name):
    with pytest.raises(spinloom.ArgumentError, match=f"^{name} lies on cuda:0, expected the host as the image lies there$"):
        spinloom.denoise_nl_means(np.ones(MATRIX, "float32"), **{name: Elsewhere()})


@pytest.mark.parametrize("channel_axis", [None, -1])
def test_noise_is_estimated_on_the_host(channel_axis):
    x = Elsewhere(dtype="float32")
    with pytest.raises(spinloom.ArgumentError, match="^image lies on cuda:0, expected memory of the host; copy it there"):
        spinloom.estimate_sigma(x, channel_axis=channel_axis)
    assert x.exports == 0


@pytest.mark.parametrize(("kind", "name"), [(8, "Metal"), (10, "ROCm"), (14, "oneAPI")])
def test_other_devices_are_no_gpus_of_ours(k, kind, name):
    with pytest.raises(TypeError, match=rf"x lies on a device \(DLPack type {kind}, number 3\) that is neither the host nor"):
        spinloom.Nufft(k, MATRIX).forward(Elsewhere(kind, 3))


@pytest.mark.parametrize("place", [None, (2,), "cuda", ("gpu", 0)])
def test_an_array_that_cannot_say_where_it_lies_is_refused(k, place):
    x = Elsewhere()
    x.device = place
    with pytest.raises(TypeError, match="x cannot say where it lies: ") as caught:
        spinloom.Nufft(k, MATRIX).forward(x)
    assert "\n" not in str(caught.value)


def test_what_an_array_exports_counts_not_what_it_says(k, rng):
    x = random_complex(rng, MATRIX, "complex64")
    plan = spinloom.Nufft(k, MATRIX)

    class Mistaken(Elsewhere):
        def __dlpack__(self, **options):
            return x.__dlpack__()

    assert np.array_equal(plan.forward(Mistaken(1, 0)), plan.forward(x))
    assert np.array_equal(plan.forward(Mistaken(3, 0)), plan.forward(x))  # locked memory of the host


def operators_on_a_gpu(k):
    maps = np.ones((2, *MATRIX), "complex64")
    return {
        "nufft": lambda device: spinloom.Nufft(k, MATRIX, device=device),
        "exact": lambda device: spinloom.Nufft(k, MATRIX, exact=True, device=device),
        "normal": lambda device: spinloom.NormalOperator(k, MATRIX, device=device),
        "encoding": lambda device: spinloom.Encoding(k, maps, device=device),
    }


@without_gpu
@pytest.mark.skipif(not COMMAND, reason="the command was not built")
@pytest.mark.parametrize("which", operators_on_a_gpu(None).keys())
def test_a_gpu_that_is_not_there_is_missed_in_the_commands_words(k, tmp_path, which):
    np.save(tmp_path / "k.npy", k)
    np.save(tmp_path / "x.npy", np.ones(MATRIX, "complex64"))
    command = [COMMAND, "nufft", "forward", "--traj", "k.npy", "--in", "x.npy", "-o", "y.npy", "--matrix", "6,7"]
    done = subprocess.run([*command, "--device", "cuda"], cwd=tmp_path, capture_output=True, text=True, check=False)
    with pytest.raises(spinloom.BackendUnavailable) as caught:
        operators_on_a_gpu(k)[which]("cuda")
    assert done.returncode == 1 and done.stderr.strip().endswith(": " + str(caught.value))
    assert STATUS.removeprefix("not used: ") in str(caught.value)


@without_gpu
def test_a_gpus_array_chooses_the_gpu_and_misses_it(k):
    x = Elsewhere()
    calls = [
        lambda: spinloom.nufft.forward(x, k),
        lambda: spinloom.nufft.adjoint(Elsewhere(shape=(20,)), k, MATRIX),
        lambda: spinloom.Encoding(k, Elsewhere(shape=(2, *MATRIX))),
        lambda: spinloom.Identity(MATRIX).forward(x),
        lambda: spinloom.denoise_nl_means(x),
        lambda: spinloom.denoise_nl_means(x, device="cuda"),
    ]
    for call in calls:
        with pytest.raises(spinloom.BackendUnavailable, match="cuda"):
            call()
    assert x.exports == 0


@without_gpu
def test_auto_is_the_cpu_where_there_is_no_gpu_and_says_so(k, rng, caplog):
    x = random_complex(rng, MATRIX, "complex64")
    for name, make in operators_on_a_gpu(k).items():
        caplog.clear()
        with caplog.at_level("INFO", logger="spinloom"):
            a = make("auto")
        assert a.device == "cpu", name
        assert any("the CPU is used, no GPU: " in record.message for record in caplog.records), name
        assert np.array_equal(a @ x, make("cpu") @ x)


@pytest.mark.parametrize("which", operators_on_a_gpu(None).keys())
def test_words_for_devices_are_those_of_the_command(k, which):
    for word in ("tpu", "cuda:", "cuda:x", "cuda:-1", ""):
        with pytest.raises(spinloom.ArgumentError, match=f"device '{word}' is unknown, expected auto, cpu, reference, cuda or"):
            operators_on_a_gpu(k)[which](word)


# What follows needs a GPU. Each library's own way to make arrays there and to look at them:


class Torch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.type = self.torch.Tensor

    def send(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def fetch(self, array):
        assert array.device.type == "cuda"
        return array.cpu().numpy()

    def address(self, array):
        return array.data_ptr()

    def empty(self, shape, dtype):
        return self.torch.full(shape, float("nan"), dtype=getattr(self.torch, dtype), device="cuda")

    def wrap(self, speaker):
        return self.torch.from_dlpack(speaker)


class CuPy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        self.type = self.cupy.ndarray

    def send(self, array):
        return self.cupy.asarray(array)

    def fetch(self, array):
        return array.get()

    def address(self, array):
        return array.data.ptr

    def empty(self, shape, dtype):
        return self.cupy.full(shape, np.nan, dtype)

    def wrap(self, speaker):
        return self.cupy.from_dlpack(speaker)


@pytest.fixture(params=[Torch, CuPy], ids=["torch", "cupy"])
def library(request):
    return request.param()


def free_bytes():
    return spinloom.info()["gpus"][0]["memory_free_bytes"]


CASES = ["nufft", "exact", "normal", "normal of nufft", "encoding", "encoding by nufft", "normal of encoding", "sum"]


def operator(case, dtype, device, seed=5):
    rng = np.random.default_rng(seed)
    matrix = (9, 12, 10)
    k = random_trajectory(rng, (31, 7), matrix)
    maps = random_complex(rng, (3, *matrix), dtype)
    tight = {"tolerance": 1e-5 if dtype == "complex64" else 1e-9}
    plan = {
        "nufft": lambda: spinloom.Nufft(k, matrix, 3, dtype=dtype, device=device, **tight),
        "exact": lambda: spinloom.Nufft(k, matrix, 3, exact=True, dtype=dtype, device=device),
        "normal": lambda: spinloom.NormalOperator(k, matrix, rng.random((31, 7)), 3, dtype=dtype, device=device, **tight),
        "normal of nufft": lambda: spinloom.Nufft(k, matrix, dtype=dtype, device=device, **tight).N,
        "encoding": lambda: spinloom.Encoding(k, maps, device=device, **tight),
        "encoding by nufft": lambda: spinloom.Encoding(k, maps, operator="nufft", coil_batch=2, device=device, **tight),
        "normal of encoding": lambda: spinloom.Encoding(k, maps, device=device, **tight).N,
        "sum": lambda: 0.5 * spinloom.NormalOperator(k, matrix, dtype=dtype, device=device, **tight)
        + 2 * spinloom.Identity(matrix, dtype=dtype),
    }
    return plan[case]()


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


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_images_on_a_gpu_are_denoised_there(rng, library, dtype):
    image = rng.random((19, 22, 17)).astype(dtype)
    extras = {
        "h": (0.1 + 0.05 * rng.random(image.shape)).astype(dtype),
        "sigma": (0.02 * rng.random(image.shape)).astype(dtype),
        "guide": rng.random(image.shape).astype(dtype),
        "mask": rng.random(image.shape) > 0.3,
    }
    options = {"patch_size": 3, "patch_distance": 3, "sigma": 0.05, "h": 0.08}
    for chosen in ({}, {"fast_mode": False}, {"rician": True}, *({name: extras[name]} for name in extras), extras):
        given = {**options, **chosen}
        there = {name: library.send(v) if isinstance(v, np.ndarray) else v for name, v in given.items()}
        out = spinloom.denoise_nl_means(library.send(image), **there)
        assert isinstance(out, library.type)
        of_numpy = spinloom.denoise_nl_means(image, **given, device="cuda")
        assert type(of_numpy) is np.ndarray and np.array_equal(library.fetch(out), of_numpy), chosen.keys()
    colours = rng.random((20, 21, 3)).astype(dtype)
    out = spinloom.denoise_nl_means(library.send(colours), 5, 6, channel_axis=-1)
    assert np.array_equal(library.fetch(out), spinloom.denoise_nl_means(colours, 5, 6, channel_axis=-1, device="cuda"))


@on_gpu
def test_images_that_a_gpu_would_have_to_convert_are_refused(rng, library):
    image = library.send(rng.random((3, 8, 9)).astype("float32"))
    for call, kind, text in [
        (lambda: spinloom.denoise_nl_means(library.send(np.ones((8, 9), "int16"))), TypeError,
         "^image has dtype int16, expected float32 or float64; convert it"),
        (lambda: spinloom.denoise_nl_means(image, channel_axis=0), spinloom.ArgumentError,
         "^image lies on cuda:0 with channels along axis 0, expected them along the last"),
        (lambda: spinloom.denoise_nl_means(image, compat="scikit-image"), spinloom.ArgumentError,
         "^image lies on cuda:0, where compat='scikit-image' has no path"),
        (lambda: spinloom.denoise_nl_means(image, sigma=library.send(np.ones((3, 8, 9)))), TypeError,
         "^sigma has dtype float64, expected float32"),
        (lambda: spinloom.denoise_nl_means(image, h=np.ones((3, 8, 9), "float32")), spinloom.ArgumentError,
         "^h lies on the host, expected cuda:0 as the image lies there"),
        (lambda: spinloom.denoise_nl_means(image, device="cpu"), spinloom.ArgumentError,
         "^image lies on cuda:0, expected the host as device='cpu' asks for"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=text):
            call()


@on_gpu
def test_reconstructions_of_the_host_may_use_the_gpu(rng):
    k = spinloom.trajectories.radial2d((24, 24), 40)
    scan = spinloom.simulate("shepp-logan", k, (24, 24), coils=3)
    cpu = spinloom.recon(scan.kspace, k, (24, 24), scan.maps, device="cpu")
    gpu = spinloom.recon(scan.kspace, k, (24, 24), scan.maps, device="cuda", verify=True)
    assert type(gpu.image) is np.ndarray and gpu.verification["relative_error_normal"] < 1e-3
    # Both stop at a residual of 1e-3, on either side of the last digit that it leaves.
    assert relative_error(gpu.image, cpu.image) < 1e-2


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
