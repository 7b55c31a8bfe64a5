"""What cannot be done with an array of a GPU is refused in words, also where there is no GPU."""

import os
import subprocess

import numpy as np
import pytest
import spinloom
from conftest import random_complex, random_trajectory
from device_arrays import MATRIX, STATUS, Elsewhere, without_gpu

COMMAND = os.environ.get("SPINLOOM_COMMAND")


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
